"""kill -9 at random times while clients ask: every answer that a client received is in the ledger."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from killing import CLIENTS, killed
from typer.testing import CliRunner

from mapl.cli import app


@pytest.fixture(scope="module")
def taught(clinic: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Teach a run whose budget outlasts every test."""
    run = tmp_path_factory.mktemp("taught") / "run"
    command = [
        *("teach", clinic.private, "--public", clinic.public, "--label", "diabetes", "--classes", "no,yes"),
        *("--unit", "patient_id", "--epsilon", 900, "--delta", 1e-5, "--queries", 1_000_000, "--teachers", 50),
        *("--mechanism", "ladder", "--max-abstentions", 20_000, "--jobs", 1, "--out", run),
    ]
    result = CliRunner().invoke(app, [str(word) for word in command])
    assert result.exit_code == 0, result.stderr
    return run


@pytest.mark.parametrize("seed", range(6))
def test_every_answer_that_left_is_in_the_ledger(taught: Path, tmp_path: Path, seed: int) -> None:
    """300 servers in all."""
    kills = killed(taught, f"sqlite:///{tmp_path}/ledger.sqlite", rounds=50, seed=seed)
    assert kills.rounds == 50
    assert kills.rounds_with_answers >= 25  # servers were killed while they answered, not only before
    assert kills.unrecorded == 0
    assert 0 <= kills.over_count <= kills.cut_off <= kills.rounds * CLIENTS
    assert kills.refused == 0


def test_every_answer_that_left_is_in_the_database(taught: Path, postgres: str) -> None:
    kills = killed(taught, postgres, rounds=40, seed=7)
    assert kills.rounds_with_answers >= 10
    assert kills.unrecorded == 0
    assert 0 <= kills.over_count <= kills.cut_off


def test_the_unsafe_order_is_caught(taught: Path, tmp_path: Path) -> None:
    kills = killed(taught, f"sqlite:///{tmp_path}/ledger.sqlite", rounds=30, seed=8, releases_first=True)
    assert kills.rounds_with_answers >= 5
    assert kills.unrecorded > 0
