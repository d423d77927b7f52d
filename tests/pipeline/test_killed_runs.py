"""A run that is killed at any moment goes on with the same command: it spends once, and publishes one result."""

from __future__ import annotations

import json
import random
import stat
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from killable import PATIENCE, ended, started

from mapl.data.synthetic import CLASSES
from mapl.release.ledger.sqlite import SqliteLedger
from mapl.teachers import Ballot

PUBLIC = {
    *("card.md", "labels.parquet", "ledger.jsonl", "plan.json", "report.html", "schema.json", "settings.json"),
    *("statement.json", "student.skops"),
}
SLOW = """
import time

def train(X, y):
    time.sleep(0.02)
    limit = X["glucose"].mean()
    return lambda rows: ["yes" if value > limit else "no" for value in rows["glucose"]]
"""
HANGING = """
import os, sys, time

shard, queries, votes = sys.argv[1:]
os.chdir(os.path.dirname(__file__))
if os.path.exists("hang") and os.path.exists("run/private/request.json"):  # no rehearsal
    with open("pid", "w") as note:
        note.write(str(os.getpid()))
    os.rename("pid", "hanging")
    time.sleep(600)
open(votes, "w").write("no\\n" * (len(open(queries).read().splitlines()) - 1))
"""


class Run:
    """One run folder, and what was ever seen recorded in it."""

    def __init__(self, folder: Path, arguments: list[Any]) -> None:
        self.folder, self.arguments = folder, arguments
        self.private, self.public = folder / "run" / "private", folder / "run" / "public"
        self.recorded: list[list[int]] = []
        self.voted = [0]

    def struck_when(self, ripe: Callable[[], bool], seconds: float) -> int | None:
        """Start the command and kill it as soon as something has happened, or after some seconds."""
        process, deadline = started(self.arguments, self.folder), time.monotonic() + seconds
        while process.exitcode is None and time.monotonic() < deadline and not ripe():
            time.sleep(0.001)
        process.kill()
        process.join(PATIENCE)
        self.look()
        return process.exitcode

    def ended(self, dies: Path | int | None = None) -> int | None:
        code = ended(self.arguments, self.folder, dies=dies)
        self.look()
        return code

    def look(self) -> None:
        """Whatever is public is on record, and what is on record never changes."""
        ballot = self.private / "ballot.npz"
        if ballot.exists():
            self.voted.append(Ballot.load(ballot).n_voted)
        if (self.private / "ledger.sqlite").exists():
            with SqliteLedger(self.private / "ledger.sqlite") as ledger:
                ledger.verify()
                labels = ledger.progress("labels").labels.tolist() if ledger.entries() else []
            if labels or self.recorded:
                self.recorded.append(labels)
                assert labels == self.recorded[0]
        if (self.public / "labels.parquet").exists():
            assert (self.public / "statement.json").exists()
            published = pa.parquet.read_table(self.public / "labels.parquet")["label"].to_pylist()
            assert sorted(published) == sorted(CLASSES[code] for code in self.recorded[0])


@pytest.fixture
def run(clinic: Any, tmp_path: Path) -> Run:
    (tmp_path / "slow.py").write_text(SLOW)
    return Run(tmp_path, clinic.arguments("--learner", "slow:train", "--error-share", 0.1))


def test_killed_again_and_again(run: Run) -> None:
    """Killed right after each thing a run leaves behind, and at random moments."""
    dice = random.Random(4)
    private, public = run.private, run.public
    for moment in (private / "lock", private / "ballot.npz"):
        assert run.ended(dies=moment) == -9
    assert run.voted[-1] > 0  # some teachers had voted when it was killed
    run.struck_when(lambda: False, dice.uniform(0.5, 3))
    if not (private / "finished").exists():
        for name in ("statement.json", "labels.parquet", "student.skops", "report.html"):
            assert run.ended(dies=public / name) == -9
    assert run.voted == sorted(run.voted)  # and kept their votes
    if not (private / "finished").exists():
        assert run.ended() == 0
    assert run.ended() == 2  # a finished run is never reopened
    chain = [json.loads(line) for line in (public / "ledger.jsonl").read_text().splitlines()]
    with SqliteLedger(private / "ledger.sqlite") as ledger:
        assert [(one.kind, one.stage) for one in ledger.entries()] == [(one["kind"], one["stage"]) for one in chain]
        assert ledger.head == json.loads((public / "statement.json").read_text())["ledger_head"]
    assert sorted(one["kind"] for one in chain if one["stage"] == "labels") == ["halted", "start"]
    assert sorted(one["kind"] for one in chain if one["stage"] == "error") == ["halted", "start"]
    assert {one.name for one in public.iterdir()} == PUBLIC
    assert not list(private.glob(".*"))
    assert len(run.recorded[0]) == 150
    assert np.isin(run.recorded[0], (0, 1)).all()


def test_the_files_of_a_killed_program_wait_in_the_private_half(clinic: Any, tmp_path: Path) -> None:
    """A program reads its shard from a file; killed with its run, it leaves it where private things belong."""
    (tmp_path / "fit.py").write_text(HANGING)
    (tmp_path / "hang").touch()
    command = f"{sys.executable} -S {tmp_path / 'fit.py'} {{shard}} {{queries}} {{votes}}"
    run = Run(tmp_path, clinic.arguments("--learner-command", command, teachers=3))
    assert run.struck_when((tmp_path / "hanging").exists, PATIENCE) == -9
    program = Path("/proc") / (tmp_path / "hanging").read_text()
    left = list(tmp_path.rglob("shard.csv"))
    assert left
    assert all(run.private in one.parents for one in left)
    assert stat.S_IMODE(run.private.stat().st_mode) == 0o700
    assert not list(tmp_path.glob("mapl-*"))  # this is its TMPDIR
    deadline = time.monotonic() + PATIENCE
    while program.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not program.exists()  # on systems without /proc this cannot fail
    (tmp_path / "hang").unlink()
    assert run.ended() == 0
    assert not list(tmp_path.rglob("shard.csv"))
    assert not (run.private / "scratch").exists()
    assert not list(tmp_path.glob("mapl-*"))
