"""A run of soft labels that is killed goes on with the same command: it spends once, and publishes one result."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
from killable import started

from mapl.release.sqlite_ledger import SqliteLedger
from mapl.teachers.scores import ScoreBallot

SLOW = """
import time

def train(X, y):
    time.sleep(0.02)
    limit = X["glucose"].mean()
    return lambda rows: [0.8 if value > limit else 0.2 for value in rows["glucose"]]
"""
PATIENCE = 90.0


def killed_when(ripe: Callable[[], bool], arguments: list[Any], folder: Path) -> int | None:
    process, deadline = started(arguments, folder), time.monotonic() + PATIENCE
    while process.exitcode is None and time.monotonic() < deadline and not ripe():
        time.sleep(0.001)
    process.kill()
    process.join(PATIENCE)
    return process.exitcode


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
    assert killed_when((private / "ballot.npz").exists, arguments, tmp_path) == -9
    heard = ScoreBallot.load(private / "ballot.npz").n_voted
    assert heard > 0
    assert killed_when((public / "statement.json").exists, arguments, tmp_path) == -9
    assert ScoreBallot.load(private / "ballot.npz").n_voted == 30
    first = recorded(private)
    assert first["medians"]
    assert len(first["means"]) == first["medians"].count(-1)
    process = started(arguments, tmp_path)
    process.join(PATIENCE)
    assert process.exitcode in (0, 3)
    assert recorded(private) == first  # nothing was asked again
    table = pa.parquet.read_table(public / "soft_labels.parquet")
    told = np.array([np.nan if one is None else one for one in table["probability"].to_pylist()])
    assert np.isfinite(told).sum() == len(first["medians"])
    chain = [json.loads(line) for line in (public / "ledger.jsonl").read_text().splitlines()]
    assert next(one["kind"] for one in chain if one["stage"] == "means") == "start"
    assert sum(one["stage"] == "means" for one in chain) == 2  # one block, recorded once
    assert json.loads((public / "statement.json").read_text())["ledger_head"] == chain[-1]["hash"]
    again = started(arguments, tmp_path)
    again.join(PATIENCE)
    assert again.exitcode == 2  # a finished run is never reopened
