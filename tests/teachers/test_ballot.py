"""Ballots count every teacher once on every question."""

from __future__ import annotations

import stat
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mapl.errors import GuaranteeBroken, InvalidData, InvalidParameter
from mapl.teachers.ballot import FALLBACK, Ballot


def filled(votes: list[list[int] | None], n_questions: int = 3, n_classes: int = 3) -> Ballot:
    ballot = Ballot(n_questions, n_classes, len(votes))
    for k, cast in enumerate(votes):
        ballot.cast(k, None if cast is None else np.array(cast))
    return ballot


def test_votes_become_counts() -> None:
    ballot = filled([[0, 1, 2], [2, 1, 2], [1, 1, 2]])
    assert ballot.tallies().counts.tolist() == [[1, 1, 1], [0, 3, 0], [0, 0, 3]]
    assert ballot.tallies().n_teachers == 3
    assert (ballot.n_questions, ballot.n_classes, ballot.n_teachers, ballot.n_voted) == (3, 3, 3, 3)


def test_what_is_no_class_counts_for_the_fallback() -> None:
    ballot = filled([None, [-1, 3, 2**31 - 1], [-(2**31), 1, -1]])
    assert FALLBACK == 0
    assert ballot.tallies().counts.tolist() == [[3, 0, 0], [2, 1, 0], [3, 0, 0]]


def test_nobody_votes_twice() -> None:
    ballot = filled([[0, 0, 0], [1, 1, 1]])
    with pytest.raises(GuaranteeBroken, match="voted twice"):
        ballot.cast(1, None)
    assert ballot.tallies().n_teachers == 2


def test_a_vote_must_cover_all_questions() -> None:
    ballot = Ballot(3, 2, 1)
    for wrong in (np.zeros(2, int), np.zeros(4, int), np.zeros((3, 1), int)):
        with pytest.raises(GuaranteeBroken, match="exactly once on every question"):
            ballot.cast(0, wrong)
    assert ballot.missing() == [0]


def test_tallies_wait_for_the_last_teacher() -> None:
    ballot = Ballot(2, 2, 3)
    ballot.cast(1, np.array([0, 1]))
    assert ballot.missing() == [0, 2]
    with pytest.raises(GuaranteeBroken, match="Not every teacher has voted"):
        ballot.tallies()


votes = st.none() | st.lists(st.integers(-2, 4), min_size=3, max_size=3)


@given(st.lists(votes, min_size=1, max_size=8), votes, st.integers(0, 7))
@settings(max_examples=60, deadline=None)
def test_one_other_teacher_moves_at_most_one_vote_per_question(
    cast: list[list[int] | None], other: list[int] | None, k: int
) -> None:
    changed = list(cast)
    changed[k % len(cast)] = other
    moved = np.abs(filled(cast).tallies().counts - filled(changed).tallies().counts)
    assert set(moved.sum(axis=1)) <= {0, 2}


def test_many_questions_are_counted_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mapl.teachers.ballot.QUESTIONS_AT_ONCE", 7)
    cast = np.random.default_rng(0).integers(0, 4, size=(3, 100))
    ballot = Ballot(100, 4, 3)
    for k in range(3):
        ballot.cast(k, cast[k].astype(np.int32))
    expected = np.stack([(cast == c).sum(axis=0) for c in range(4)], axis=1)
    np.testing.assert_array_equal(ballot.tallies().counts, expected)


def test_a_checkpoint_goes_on_where_it_stopped(tmp_path: Path) -> None:
    path = tmp_path / "ballot.npz"
    ballot = Ballot(3, 3, 2)
    ballot.cast(1, np.array([2, 2, 1]))
    ballot.save(path)
    ballot.save(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [file.name for file in tmp_path.iterdir()] == ["ballot.npz"]
    loaded = Ballot.load(path)
    assert loaded.missing() == [0]
    with pytest.raises(GuaranteeBroken):
        loaded.cast(1, None)
    loaded.cast(0, np.array([2, 0, 1]))
    assert loaded.tallies().counts.tolist() == [[0, 0, 2], [1, 0, 1], [0, 2, 0]]


def test_a_failed_save_leaves_the_old_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "ballot.npz"
    filled([[0, 0, 0]]).save(path)
    before = path.read_bytes()

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("mapl.teachers.checkpoint.os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        filled([[1, 1, 1]]).save(path)
    assert path.read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 1


def test_damaged_checkpoints_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "ballot.npz"
    with pytest.raises(InvalidData, match="missing or damaged"):
        Ballot.load(path)
    filled([[0, 1, 2]]).save(path)
    whole = path.read_bytes()
    for content in (b"", whole[:100], b"PK" + whole[2:40]):
        path.write_bytes(content)
        with pytest.raises(InvalidData, match="delete it to poll the teachers again"):
            Ballot.load(path)
    np.savez(
        path, counts=np.full((3, 3), 2, np.int32), voted=np.ones(1, np.bool_), own_errors=np.zeros((1, 2), np.int64)
    )
    with pytest.raises(InvalidData, match="does not add up"):
        Ballot.load(path)
    np.savez(path, counts=np.array([object()]), voted=np.ones(1, np.bool_))
    with pytest.raises(InvalidData, match="missing or damaged"):
        Ballot.load(path)


def test_sizes_are_checked_and_votes_not_shown() -> None:
    with pytest.raises(InvalidParameter, match="n_questions is 0"):
        Ballot(0, 2, 5)
    with pytest.raises(InvalidData, match="at most"):
        Ballot(1, 2, 2**31)
    assert repr(filled([[0, 1, 2]])) == "Ballot(3 questions, 3 classes, private)"
