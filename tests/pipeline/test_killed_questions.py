"""A run that asks actively and is killed goes on: recorded answers are told again, none is bought twice."""

from __future__ import annotations

import json
import random
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
from killable import started

from mapl.release.label_service import ROWS
from mapl.release.sqlite_ledger import SqliteLedger

QUESTIONS, PATIENCE = 40, 90.0


def answers(path: Path) -> list[tuple[int, int]]:
    """Return the rows on record with their labels, in order; nothing while there is no ledger yet."""
    if not path.exists():
        return []
    with SqliteLedger(path) as ledger:
        # The run may go on meanwhile, so entries may be newer than the labels that were read before them.
        labels = ledger.progress("labels").labels.tolist()
        rows = [row for one in ledger.entries() if one.stage == "labels" for row in one.told().get(ROWS, ())]
        assert len(labels) <= len(rows)
        return list(zip(rows, labels, strict=False))


@pytest.mark.parametrize("service", ["link", "hybrid"])
def test_killed_between_questions(clinic: Any, tmp_path: Path, service: str) -> None:
    more = ("--strategy", "active", "--queries", QUESTIONS, "--active", "robust-cal", "--label-service", service)
    command = clinic.arguments(*more)
    ledger, public = tmp_path / "run" / "private" / "ledger.sqlite", tmp_path / "run" / "public"
    dice = random.Random(1)
    recorded: list[tuple[int, int]] = []
    for _ in range(2):
        process, deadline = started(command, tmp_path), time.monotonic() + PATIENCE
        wanted = len(recorded) + dice.randint(1, 12)
        while process.exitcode is None and time.monotonic() < deadline and len(answers(ledger)) < wanted:
            time.sleep(0.01)
        process.kill()
        process.join(PATIENCE)
        now = answers(ledger)
        assert now[: len(recorded)] == recorded  # what is on record stays
        recorded = now
        if process.exitcode == 0:  # it was faster than the blow
            break
    assert recorded
    if not (tmp_path / "run" / "private" / "finished").exists():
        process = started(command, tmp_path)
        process.join(PATIENCE)
        assert process.exitcode == 0
    final = answers(ledger)
    with SqliteLedger(ledger) as whole:
        whole.verify()
    assert final[: len(recorded)] == recorded
    assert len({row for row, _ in final}) == len(final) <= QUESTIONS
    assert json.loads((public / "statement.json").read_text())["usage"]["answered"] == len(final)
    names = pyarrow.parquet.read_table(public / "labels.parquet")["label"].to_pylist()
    assert all(names[row] == ("no", "yes")[label] for row, label in final)
