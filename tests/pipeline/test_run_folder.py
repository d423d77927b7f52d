"""The folder of a run: begun once, found again, kept from strangers and from other processes."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from mapl.data.units.shards import ShardKey
from mapl.errors import InvalidParameter, PlanMismatch
from mapl.pipeline.runs.folder import RunFolder

REQUEST = {"plan": "d" * 64, "table": "e" * 64}


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return RunFolder(tmp_path / "some" / "run")


def test_the_key_of_a_run_that_began_is_found_again(folder: RunFolder) -> None:
    folder.refuse_if_used()
    key = folder.read_key()
    assert folder.read_key() != key
    assert not folder.path.exists()
    with folder.begun(REQUEST, key):
        pass
    folder.refuse_if_used()
    assert folder.read_key() == key
    with folder.begun(REQUEST, key):
        pass


def test_only_the_owner_enters_the_private_half(folder: RunFolder) -> None:
    with folder.begun(REQUEST, ShardKey.fresh()):
        pass
    folder.finish()
    assert stat.S_IMODE(folder.private.stat().st_mode) == 0o700
    assert {stat.S_IMODE(one.stat().st_mode) for one in folder.private.iterdir()} == {0o600}


def test_a_process_killed_while_it_began_leaves_no_run(folder: RunFolder) -> None:
    """Whatever it wrote of a key, the request comes last and is not there."""
    folder.private.mkdir(parents=True)
    folder.key.write_bytes(b"cut o")
    (folder.private / ".mapl-x1").write_bytes(b"half a requ")
    folder.refuse_if_used()
    key = folder.read_key()
    with folder.begun(REQUEST, key):
        assert ShardKey.read(folder.key) == key
        assert not list(folder.private.glob(".*"))


def test_other_requests_and_other_keys_are_refused(folder: RunFolder) -> None:
    key = ShardKey.fresh()
    with folder.begun(REQUEST, key):
        pass
    with pytest.raises(PlanMismatch, match="other settings"), folder.begun({**REQUEST, "table": "f" * 64}, key):
        pass
    # Another process began the run after this one had looked: its shards would be other ones.
    with pytest.raises(PlanMismatch, match="same command"), folder.begun(REQUEST, ShardKey.fresh()):
        pass
    assert ShardKey.read(folder.key) == key


def test_what_a_killed_process_was_writing_is_swept_up(folder: RunFolder) -> None:
    key = ShardKey.fresh()
    with folder.begun(REQUEST, key):
        pass
    for half in (folder.private / ".ballot.npz.x1", folder.private / ".mapl-x2", folder.public / ".mapl-x3"):
        half.touch()
    (folder.public / ".htaccess").touch()
    with folder.begun(REQUEST, key):
        assert [one.name for one in folder.path.rglob(".*")] == [".htaccess"]


def test_temporary_files_are_private_and_go_when_the_work_ends(folder: RunFolder) -> None:
    key = ShardKey.fresh()
    with folder.begun(REQUEST, key):
        assert folder.scratch.parent == folder.private
        assert stat.S_IMODE(folder.scratch.stat().st_mode) == 0o700
        (folder.scratch / "shard.csv").touch()
    assert not folder.scratch.exists()


def test_temporary_files_of_a_killed_process_are_gone_when_the_run_goes_on(folder: RunFolder) -> None:
    key = ShardKey.fresh()
    with folder.begun(REQUEST, key):
        pass
    left = folder.scratch / "mapl-x" / "tmp-y" / "shard.csv"
    left.parent.mkdir(parents=True)
    left.touch()
    folder.refuse_if_used()
    with pytest.raises(PlanMismatch), folder.begun({**REQUEST, "table": "f" * 64}, key):
        pass
    assert left.exists()  # whoever is refused touches nothing
    with folder.begun(REQUEST, key):
        assert list(folder.scratch.iterdir()) == []


def test_one_process_at_a_time(folder: RunFolder) -> None:
    key = ShardKey.fresh()
    with (
        folder.begun(REQUEST, key),
        pytest.raises(InvalidParameter, match="Another process"),
        folder.begun(REQUEST, key),
    ):
        pass
    with folder.begun(REQUEST, key):
        pass


def test_a_finished_run_is_closed(folder: RunFolder) -> None:
    key = ShardKey.fresh()
    with folder.begun(REQUEST, key):
        pass
    folder.finish()
    with pytest.raises(InvalidParameter, match="finished run"):
        folder.refuse_if_used()
    with pytest.raises(InvalidParameter, match="finished run"), folder.begun(REQUEST, key):
        pass


@pytest.mark.parametrize("foreign", ["notes.txt", "private/diary", "public/index.html", "deep/er/file"])
def test_folders_of_others_are_left_alone(folder: RunFolder, foreign: str) -> None:
    (folder.path / foreign).parent.mkdir(parents=True)
    (folder.path / foreign).touch()
    with pytest.raises(InvalidParameter, match="no run of mapl"):
        folder.refuse_if_used()


def test_an_empty_folder_will_do(folder: RunFolder) -> None:
    folder.path.mkdir(parents=True)
    folder.refuse_if_used()
