"""A run of several labels that is killed goes on with the same command: every label is spent on once."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
from killable import ended

from mapl.release.ledger.sqlite import SqliteLedger

LABELS = ("sport", "music")


def recorded(private: Path) -> dict[str, list[int]]:
    with SqliteLedger(private / "ledger.sqlite") as ledger:
        ledger.verify()
        return {stage: ledger.progress(stage).labels.tolist() for stage in LABELS}


def test_killed_again_and_again(tmp_path: Path) -> None:
    world = np.random.default_rng(0)
    for name, n in (("private", 900), ("public", 60)):
        rows = {letter: world.normal(size=n) for letter in "abc"}
        labels = {label: np.where(rows[x] > 0, "yes", "no") for label, x in zip(LABELS, "ab", strict=True)}
        pa.parquet.write_table(pa.table(rows | (labels if name == "private" else {})), tmp_path / f"{name}.parquet")
    asked = [
        *("learn", "private.parquet", "--public", "public.parquet", "--label", "sport", "--label", "music"),
        *("--classes", "no,yes", "--unit", "none", "--epsilon", 8, "--delta", 1e-6, "--teachers", 30),
        *("--student", "ridge", "--jobs", 1, "--out", "run"),
    ]
    private, public = tmp_path / "run" / "private", tmp_path / "run" / "public"
    assert ended(asked, tmp_path, dies=private / "ballot.npz") == -9
    assert ended(asked, tmp_path, dies=public / "statement.json") == -9
    first = recorded(private)
    assert all(len(labels) == 60 for labels in first.values())
    assert ended(asked, tmp_path, dies=public / "student-1.skops") == -9
    assert not (public / "student-2.skops").exists()
    assert ended(asked, tmp_path) == 0
    assert recorded(private) == first  # nothing was asked again
    labels = pa.parquet.read_table(public / "labels.parquet")
    told = [None if code < 0 else ("no", "yes")[code] for name in LABELS for code in first[name]]
    assert sorted(map(str, labels["label"].to_pylist())) == sorted(map(str, told))
    chain = [json.loads(line) for line in (public / "ledger.jsonl").read_text().splitlines()]
    assert json.loads((public / "statement.json").read_text())["ledger_head"] == chain[-1]["hash"]
    assert (public / "student-2.skops").exists()
    assert ended(asked, tmp_path) == 2  # a finished run is never reopened
