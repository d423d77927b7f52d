"""A run by moments, killed in the middle of its rounds, goes on with the same command and spends once."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from killable import PATIENCE, ended, started

from mapl.pipeline.sums import summing
from mapl.release.ledger.chain import check_export
from mapl.release.ledger.sqlite import SqliteLedger
from mapl.release.moment_sums import MomentSums

MORE = ("--method", "moments", "--epsilon", 1, "--student", "auto")


def rounds_of(folder: Path) -> list[int]:
    """Return all numbers on record."""
    path = folder / "run" / "private" / "ledger.sqlite"
    if not path.exists():
        return []
    with SqliteLedger(path) as ledger:
        ledger.verify()
        return ledger.progress("sums").labels.tolist() if ledger.entries() else []


@pytest.mark.parametrize("more", [(), ("--rows", 9_000_000)], ids=["all in every round", "all in one round"])
@pytest.mark.parametrize("where", ["before it is drawn", "before it is recorded"])
def test_a_run_that_dies_in_a_round_repeats_no_other(
    where: str,
    more: tuple[Any, ...],
    mapl: Callable[..., Any],
    clinic: Any,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    command = clinic.arguments(*MORE, *more, teachers="auto")
    drawn: list[int] = []
    real_sums, real_release = summing.sum_contributions, MomentSums.release

    def dying_sums(*given: Any) -> Any:
        if where == "before it is drawn" and len(drawn) == 2:
            raise RuntimeError("killed")
        return real_sums(*given)

    def dying_release(self: MomentSums, round_number: int, *given: Any) -> Any:
        told = real_release(self, round_number, *given)
        if where == "before it is recorded" and len(drawn) == 2:
            raise RuntimeError("killed")
        drawn.append(round_number)
        return told

    with monkeypatch.context() as patch:
        patch.setattr(summing, "sum_contributions", dying_sums)
        patch.setattr(MomentSums, "release", dying_release)
        assert mapl(*command).code != 0
    before = rounds_of(tmp_path)
    assert drawn == [0, 1]
    with monkeypatch.context() as patch:
        where = ""
        patch.setattr(MomentSums, "release", dying_release)
        assert mapl(*command).code == 0
    stage = json.loads(Path("run/public/plan.json").read_text("utf-8"))["stages"][0]
    n_rounds, n_entries = stage["parameters"]["rounds"], stage["parameters"]["entries"]
    assert ("rounds of a unit" in stage["parameters"]) == bool(more)
    assert drawn == list(range(n_rounds))
    after = rounds_of(tmp_path)
    assert len(before) == 2 * n_entries // n_rounds
    assert after[: len(before)] == before
    assert len(after) == n_entries
    assert mapl(*command).code == 2  # a finished run is never reopened


def test_killed_again_and_again(clinic: Any, tmp_path: Path) -> None:
    """After the start, each of two rounds, the first public file, and whenever a blow happens to fall."""
    arguments, dice = clinic.arguments(*MORE, teachers="auto"), random.Random(6)
    private, public = tmp_path / "run" / "private", tmp_path / "run" / "public"
    recorded: list[int] = []

    def look() -> int:
        """Return how many numbers are on record; those that were there before have stayed."""
        nonlocal recorded
        now = rounds_of(tmp_path)
        assert now[: len(recorded)] == recorded
        recorded = now
        return len(now)

    seen = []
    for moment in (2, 3, 4, public / "statement.json"):
        assert ended(arguments, tmp_path, dies=moment) == -9
        seen.append(look())
    assert 0 == seen[0] < seen[1] < seen[2] < seen[3]
    for _ in range(3):
        process = started(arguments, tmp_path)
        process.join(dice.uniform(0, 1))
        process.kill()
        process.join(PATIENCE)
        assert look() == seen[3]
    if not (private / "finished").exists():
        assert ended(arguments, tmp_path) == 0
    assert look() == seen[3]
    chain = [json.loads(line) for line in (tmp_path / "run" / "public" / "ledger.jsonl").read_text().splitlines()]
    statement = json.loads((tmp_path / "run" / "public" / "statement.json").read_text())
    assert check_export(chain) == statement["ledger_head"]
    assert chain[1]["kind"] == "start"
    assert (
        len(chain[2:])
        == json.loads((tmp_path / "run/public/plan.json").read_text())["stages"][0]["parameters"]["rounds"]
    )
