"""A run that asks actively and is killed goes on: recorded answers are told again, none is bought twice."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
from killable import ended

from mapl.release.label_service import ROWS
from mapl.release.ledger.sqlite import SqliteLedger

QUESTIONS = 40


def answers(path: Path) -> list[tuple[int, int]]:
    """Return the rows on record with their labels, in order; nothing while there is no ledger yet."""
    if not path.exists():
        return []
    with SqliteLedger(path) as ledger:
        labels = ledger.progress("labels").labels.tolist()
        rows = [row for one in ledger.entries() if one.stage == "labels" for row in one.told().get(ROWS, ())]
        assert len(labels) <= len(rows)
        return list(zip(rows, labels, strict=False))


@pytest.mark.parametrize("service", ["link", "hybrid"])
def test_killed_between_questions(clinic: Any, tmp_path: Path, service: str) -> None:
    more = ("--strategy", "active", "--queries", QUESTIONS, "--active", "robust-cal", "--label-service", service)
    command = clinic.arguments(*more)
    ledger, public = tmp_path / "run" / "private" / "ledger.sqlite", tmp_path / "run" / "public"
    dice, n_entries = random.Random(1), 2
    recorded: list[tuple[int, int]] = []
    for _ in range(2):
        n_entries += dice.randint(2, 6)
        code = ended(command, tmp_path, dies=n_entries)
        assert code in (-9, 0)
        now = answers(ledger)
        assert now[: len(recorded)] == recorded  # what is on record stays
        recorded = now
        if code == 0:  # it had asked all its questions in fewer entries
            break
    assert recorded
    if not (tmp_path / "run" / "private" / "finished").exists():
        assert ended(command, tmp_path) == 0
    final = answers(ledger)
    with SqliteLedger(ledger) as whole:
        whole.verify()
    assert final[: len(recorded)] == recorded
    assert len({row for row, _ in final}) == len(final) <= QUESTIONS
    assert json.loads((public / "statement.json").read_text())["usage"]["answered"] == len(final)
    names = pyarrow.parquet.read_table(public / "labels.parquet")["label"].to_pylist()
    assert all(names[row] == ("no", "yes")[label] for row, label in final)
