"""Public files appear whole or not at all, and never over another one."""

from __future__ import annotations

from pathlib import Path

import pytest

from mapl.release.files.write_once import write_once


def test_a_file_is_written_once(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    write_once(path, b"one")
    assert path.read_bytes() == b"one"
    assert path.stat().st_mode & 0o777 == 0o644
    with pytest.raises(FileExistsError):
        write_once(path, b"two")
    with pytest.raises(FileExistsError):
        write_once(path, b"one")
    assert path.read_bytes() == b"one"
    assert [file.name for file in tmp_path.iterdir()] == ["a.json"]


def test_a_resumed_run_may_find_its_own_file(tmp_path: Path) -> None:
    path = tmp_path / "key"
    for _ in range(2):
        write_once(path, b"same", mode=0o600, same_is_fine=True)
    assert path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(FileExistsError):
        write_once(path, b"other", same_is_fine=True)


def test_without_hard_links_nothing_is_overwritten_either(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(source: Path, target: Path) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr("os.link", refuse)
    write_once(tmp_path / "a", b"one")
    with pytest.raises(FileExistsError):
        write_once(tmp_path / "a", b"two")
    assert [(file.name, file.read_bytes()) for file in tmp_path.iterdir()] == [("a", b"one")]
