"""What tests of several packages use: the command line in an empty folder, and a small clinic as files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
from postgres import postgres as postgres
from typer.testing import CliRunner

from mapl.cli import app
from mapl.data.synthetic import LABEL, UNIT, Clinic

collect_ignore_glob = ["*conftest.py"]
"""Files of fixtures have no doctests, and several modules of one name cannot be imported to look for some."""


@dataclass(frozen=True)
class Ran:
    code: int
    stdout: str
    stderr: str


@pytest.fixture
def mapl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ran]:
    """Run ``mapl`` with some arguments in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: Any) -> Ran:
        result = CliRunner().invoke(app, [str(a) for a in arguments])
        return Ran(result.exit_code, result.stdout, result.stderr)

    return run


@dataclass(frozen=True)
class World:
    """The files of a small made-up clinic, and the arguments with which ``mapl learn`` takes them."""

    private: Path
    public: Path
    test: Path

    def arguments(self, *more: Any, private: Path | None = None, teachers: int | str = 30) -> list[Any]:
        """Return a command that answers everything; what comes later on a command line counts."""
        return [
            *("learn", private or self.private, "--public", self.public, "--label", LABEL, "--classes", "no,yes"),
            *("--unit", UNIT, "--epsilon", 20, "--delta", 1e-5, "--teachers", teachers, "--student", "ridge"),
            *("--jobs", 1, "--out", "run", *more),
        ]


@pytest.fixture(scope="session")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Write 1500 private, 150 public and 300 labelled test visits, once for all tests."""
    folder = tmp_path_factory.mktemp("clinic")
    world = World(folder / "private.parquet", folder / "public.parquet", folder / "test.parquet")
    private, _ = Clinic().visits(1500)
    public, _ = Clinic().visits(150, stream=1)
    test, _ = Clinic().visits(300, stream=2)
    pyarrow.parquet.write_table(private, world.private)
    pyarrow.parquet.write_table(public.drop_columns([LABEL]), world.public)
    pyarrow.parquet.write_table(test, world.test)
    return world
