"""Locks on files: one process at a time, and words where a system has none."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mapl.errors import InvalidParameter
from mapl.pipeline.runs.file_lock import lock_file
from mapl.pipeline.runs.folder import RunFolder


def test_a_second_holder_is_refused_until_the_first_has_closed(tmp_path: Path) -> None:
    first, second = (os.open(tmp_path / "lock", os.O_RDWR | os.O_CREAT) for _ in range(2))
    lock_file(first, wait=False)
    with pytest.raises(BlockingIOError):
        lock_file(second, wait=False)
    os.close(first)
    lock_file(second, wait=True)
    os.close(second)


def test_a_system_without_locks_is_refused_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "fcntl", None)
    with pytest.raises(InvalidParameter, match="on Windows use WSL"):
        RunFolder(tmp_path / "run").refuse_if_used()
    assert not list(tmp_path.iterdir())


def test_every_module_that_a_newcomer_imports_does_without_what_only_unix_has() -> None:
    modules = (
        "mapl.cli, mapl.estimators, mapl.students, mapl.pipeline.runs.run, mapl.cli.learning.learn, "
        "mapl.service.client"
    )
    code = f"import sys; sys.modules.update(fcntl=None, resource=None, pwd=None, grp=None); import {modules}"
    subprocess.run([sys.executable, "-c", code], check=True)
