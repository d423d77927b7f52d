"""A run of soft labels that is killed goes on with the same command: it spends once, and publishes one result."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
from killable import ended

from mapl.release.ledger.sqlite import SqliteLedger
from mapl.teachers.learners.scores import ScoreBallot

SLOW = """
import time

def train(X, y):
    time.sleep(0.02)
    limit = X["glucose"].mean()
    return lambda rows: [0.8 if value > limit else 0.2 for value in rows["glucose"]]
"""


def recorded(private: Path) -> dict[str, list[int]]:
    with SqliteLedger(private / "ledger.sqlite") as ledger:
        ledger.verify()
        return {stage: ledger.progress(stage).labels.tolist() for stage in ("medians", "means")}


def test_killed_again_and_again(clinic: Any, tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(SLOW)
    arguments = clinic.arguments(
        *("--learner", "slow:train", "--student", "auto", "--strategy", "soft-both", "--max-abstentions", 30)
    )
    private, public = tmp_path / "run" / "private", tmp_path / "run" / "public"
    assert ended(arguments, tmp_path, dies=private / "ballot.npz") == -9
    heard = ScoreBallot.load(private / "ballot.npz").n_voted
    assert heard > 0
    assert ended(arguments, tmp_path, dies=public / "statement.json") == -9
    assert ScoreBallot.load(private / "ballot.npz").n_voted == 30
    first = recorded(private)
    assert first["medians"]
    assert len(first["means"]) == first["medians"].count(-1)
    assert ended(arguments, tmp_path) in (0, 3)
    assert recorded(private) == first  # nothing was asked again
    table = pa.parquet.read_table(public / "soft_labels.parquet")
    told = np.array([np.nan if one is None else one for one in table["probability"].to_pylist()])
    assert np.isfinite(told).sum() == len(first["medians"])
    chain = [json.loads(line) for line in (public / "ledger.jsonl").read_text().splitlines()]
    assert next(one["kind"] for one in chain if one["stage"] == "means") == "start"
    assert sum(one["stage"] == "means" for one in chain) == 2  # one block, recorded once
    assert json.loads((public / "statement.json").read_text())["ledger_head"] == chain[-1]["hash"]
    assert ended(arguments, tmp_path) == 2  # a finished run is never reopened
