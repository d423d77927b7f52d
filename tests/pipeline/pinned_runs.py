"""A program that learns from a private table in every way, with releases that do not look at it.

    python pinned_runs.py PRIVATE PUBLIC TEST

The teachers are trained, vote and are counted, records fall into cells; what is then released is pinned: votes,
scores and counts are replaced by ones that depend on public things alone, and coins have a seed. So whatever
differs between the public halves of two tables tells about the tables. Keys and ids of runs, which are random, are
pinned too.
"""

from __future__ import annotations

import secrets
import sys
import uuid
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
from typer.testing import CliRunner

from mapl.cli import app
from mapl.data.cells.partition import Cells
from mapl.data.moments.contributions import ExactSums
from mapl.data.synthetic import LABEL, UNIT
from mapl.noise import SeededCoins
from mapl.pipeline.choice.judges import Judges
from mapl.release.ledger import run_id
from mapl.release.moment_sums import MomentSums
from mapl.teachers.ballot import Ballot
from mapl.teachers.learners.scores import ScoreBallot, Scores
from mapl.types import Tallies

RUNS: dict[str, tuple[Any, ...]] = {
    "teachers": ("--teachers", 30, "--student", "auto"),
    "error": ("--teachers", 30, "--student", "forest", "--error-share", 0.2),
    "cells": ("--method", "cells", "--student", "auto"),
    "rounds": ("--method", "cells", "--rounds", 2, "--student", "hgb"),
    "moments": ("--method", "moments"),
    "moments taught": ("--method", "moments", "--student", "ridge"),
    "regression": ("--regression", "50,150"),
    "soft": ("--teachers", 30, "--strategy", "soft"),
    "active": ("--teachers", 30, "--strategy", "active", "--queries", 40, "--student", "logistic"),
    "selection": ("--method", "select:teachers,cells", "--student", "ridge"),
}


def pin() -> None:
    """Replace what a release looks at, after the real thing was computed."""
    votes, scores, counts, right = Ballot.tallies, ScoreBallot.scores, Cells.counts, Judges.right
    release = MomentSums.release

    def pinned_votes(self: Ballot) -> Tallies:
        votes(self)
        ones = np.random.default_rng(1).integers(self.n_teachers + 1, size=self.n_questions)
        return Tallies(np.stack([self.n_teachers - ones, ones], axis=1))

    def pinned_scores(self: ScoreBallot) -> Scores:
        return Scores(np.random.default_rng(2).integers(1001, size=scores(self).marks.shape).astype(np.int16))

    def pinned_counts(self: Cells, *given: Any) -> Any:
        return np.random.default_rng(3).integers(30, size=counts(self, *given).shape)

    def pinned_right(self: Judges, student: Any, *given: Any) -> int:
        return min(right(self, student, *given), 0) + 7

    def pinned_sums(self: MomentSums, round_number: int, sums: ExactSums, coins: Any) -> Any:
        sums.high[:], sums.low[:] = np.random.default_rng(4).integers(-50, 50, len(sums.low)), 0
        return release(self, round_number, sums, coins)

    run_id.SystemCoins = lambda: SeededCoins(1)  # type: ignore[assignment, misc]
    Ballot.tallies, ScoreBallot.scores = pinned_votes, pinned_scores  # type: ignore[method-assign]
    Cells.counts, Judges.right = pinned_counts, pinned_right  # type: ignore[method-assign]
    MomentSums.release = pinned_sums  # type: ignore[method-assign]
    Ballot.own_errors = lambda self: [(2, 9)] * self.n_teachers  # type: ignore[method-assign, assignment, return-value]
    secrets.token_bytes = lambda n=32: bytes(n or 32)
    secrets.token_hex = lambda n=32: "0" * 2 * (n or 32)
    uuid.uuid4 = lambda: uuid.UUID(int=0)


def main(private: str, public: str, test: str) -> None:
    pin()
    Path("said").mkdir()
    usual = ("--unit", UNIT, "--epsilon", 20, "--delta", 1e-5, "--jobs", 1, "--seed", 5)
    common = (private, "--public", public, "--label", LABEL, "--classes", "no,yes", *usual)
    without = Path(private).with_name("numbers.parquet")  # the class would be a column that is not declared
    pa.parquet.write_table(pa.parquet.read_table(private).drop_columns([LABEL]), without)
    numbers = (without, "--public", public, "--label", "glucose", *usual)
    commands = {
        name: (
            *("learn", *(numbers if "--regression" in more else common)),
            *("--test", test, "--out", name, "--json", *more),
        )
        for name, more in RUNS.items()
    }
    commands["teach"] = ("teach", *common, "--teachers", 20, "--queries", 60, "--out", "teach")
    commands["report"] = ("report", "teachers", "--test", test, "--out", "said/report.html")
    commands["predict"] = ("predict", "teachers/public/student.skops", test, "--out", "said/predicted.parquet")
    for name, command in commands.items():
        ran = CliRunner().invoke(app, [str(part) for part in command])
        Path("said", name).write_text(f"{ran.exit_code}\n{ran.stdout}\n{ran.stderr}", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
