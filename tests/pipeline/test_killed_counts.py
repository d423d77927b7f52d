"""A run that counts in cells, killed at any moment, goes on with the same command and spends once."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet
from killable import PATIENCE, ended, started

from mapl.release.ledger.chain import check_export
from mapl.release.ledger.sqlite import SqliteLedger

PUBLIC = {
    *("card.md", "cells.parquet", "labels.parquet", "ledger.jsonl", "plan.json", "report.html", "schema.json"),
    *("settings.json", "statement.json", "student.skops"),
}
STAGES = ("counts", "counts again")


class Run:
    """One run folder, and the counts that were ever seen recorded in it."""

    def __init__(self, folder: Path, arguments: list[Any]) -> None:
        self.folder, self.arguments = folder, arguments
        self.private, self.public = folder / "run" / "private", folder / "run" / "public"
        self.recorded: dict[str, list[int]] = {}

    def struck_after(self, seconds: float) -> int | None:
        """Start the command and kill it after some time, wherever it is."""
        process = started(self.arguments, self.folder)
        process.join(seconds)
        process.kill()
        process.join(PATIENCE)
        self.look()
        return process.exitcode

    def ended(self, dies: Path | int | None = None) -> int | None:
        code = ended(self.arguments, self.folder, dies=dies)
        self.look()
        return code

    def look(self) -> None:
        """What is on record never changes, and nothing is public that is not on record."""
        now: dict[str, list[int]] = {}
        if (self.private / "ledger.sqlite").exists():
            with SqliteLedger(self.private / "ledger.sqlite") as ledger:
                ledger.verify()
                if ledger.entries():
                    now = {stage: ledger.progress(stage).labels.tolist() for stage in STAGES}
        assert all(now[stage] == counts for stage, counts in self.recorded.items())
        self.recorded = {stage: counts for stage, counts in now.items() if counts}
        if (self.public / "cells.parquet").exists():
            assert (self.public / "statement.json").exists()
            table = pyarrow.parquet.read_table(self.public / "cells.parquet")
            for number, stage in enumerate(STAGES, start=1):
                part = table.filter(pyarrow.compute.field("round") == number)
                published = np.column_stack([part["count no"], part["count yes"]])
                assert published.ravel().tolist() == self.recorded[stage]


def test_killed_again_and_again(clinic: Any, tmp_path: Path) -> None:
    more = ("--method", "cells", "--rounds", 2, "--epsilon", 1, "--cells", 30)
    run = Run(tmp_path, clinic.arguments(*more, teachers="auto"))
    published = (run.public / name for name in ("statement.json", "cells.parquet", "student.skops"))
    for moment in (run.private / "lock", 2, 3, 4, 5, *published):
        assert run.ended(dies=moment) == -9
    dice = random.Random(5)
    for _ in range(2):
        assert run.struck_after(dice.uniform(0, 1)) in (-9, 0, 2)
    if not (run.private / "finished").exists():
        assert run.ended() == 0
    assert run.ended() == 2  # a finished run is never reopened
    assert set(run.recorded) == set(STAGES)
    chain = [json.loads(line) for line in (run.public / "ledger.jsonl").read_text().splitlines()]
    assert [(one["stage"], one["kind"]) for one in chain[1:]] == [
        (stage, kind) for stage in STAGES for kind in ("start", "halted")
    ]
    assert check_export(chain) == json.loads((run.public / "statement.json").read_text())["ledger_head"]
    assert {one.name for one in run.public.iterdir()} == PUBLIC
    assert not list(run.private.glob(".*"))
