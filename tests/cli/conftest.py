"""Running the command line inside the test process, in an empty folder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from mapl.cli import app


@dataclass(frozen=True)
class Ran:
    code: int
    stdout: str
    stderr: str


Mapl = Callable[..., Ran]


@pytest.fixture
def mapl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Mapl:
    """Run ``mapl`` with some arguments in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: Any) -> Ran:
        result = CliRunner().invoke(app, [str(a) for a in arguments])
        return Ran(result.exit_code, result.stdout, result.stderr)

    return run


@pytest.fixture
def votes(tmp_path: Path) -> Path:
    """Write the counts of 250 teachers on 60 questions of three classes, 50 of them nearly unanimous."""
    rng = np.random.default_rng(5)
    clear = rng.multinomial(250, [0.97, 0.02, 0.01], size=50)
    unclear = rng.multinomial(250, [0.4, 0.35, 0.25], size=10)
    np.save(tmp_path / "votes.npy", np.concatenate([clear, unclear]))
    return tmp_path / "votes.npy"
