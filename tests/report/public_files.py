"""A real run to report on: votes of made-up teachers, released by a real mechanism."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from mapl.mechanisms import Task, make
from mapl.noise import Coins, SystemCoins
from mapl.planning.plan import Plan, Stage
from mapl.release import Classes, aggregate, statement_of
from mapl.release.error_estimate import ErrorEstimate, estimate_error
from mapl.release.files.labels import labels_table
from mapl.release.ledger.ledger import Entry, Limits
from mapl.release.ledger.memory import MemoryLedger
from mapl.release.statement.promise import promise_of
from mapl.report import Report
from mapl.types import Budget, Tallies

N_QUESTIONS, N_TEACHERS = 200, 120
BUDGET = Budget(1.5, 1e-5)
PROMISE = promise_of("add-remove", "patient")


@dataclass(frozen=True)
class Run:
    """The public files of a run, as plain values."""

    statement: dict[str, Any]
    plan: dict[str, Any] | None
    labels: pa.Table
    classes: Classes
    ledger: list[dict[str, Any]] | None
    cells: pa.Table | None = None
    weights: pa.Table | None = None

    def report(self, **given: Any) -> Report:
        files = {"plan": self.plan, "labels": self.labels, "classes": self.classes, "ledger": self.ledger}
        files |= {"cells": self.cells, "weights": self.weights}
        return Report.of(given.pop("statement", self.statement), **(files | given))


def aggregated(coins: Coins, *, mechanism: str = "ladder", names: tuple[str, ...] = ("no", "yes")) -> Run:
    """Release labels as `mapl aggregate` does: no plan, no ledger, the teacher as unit."""
    classes = Classes(names)
    task = Task(BUDGET, N_TEACHERS, len(names), N_QUESTIONS)
    world = np.random.default_rng(5)  # makes up votes; it protects nobody
    winner = world.integers(len(names), size=N_QUESTIONS)
    loyal = N_TEACHERS - world.geometric(0.08, size=N_QUESTIONS).clip(1, N_TEACHERS // 2) + 1
    counts = np.zeros((N_QUESTIONS, len(names)), dtype=np.int64)
    counts[np.arange(N_QUESTIONS), winner] = loyal
    counts[np.arange(N_QUESTIONS), (winner + 1) % len(names)] += N_TEACHERS - loyal
    settings = {"max_abstentions": 15} if mechanism == "ladder" else {}
    made = make(mechanism, task, **settings)
    released = aggregate(Tallies.checked(counts), made, coins)
    statement = statement_of(made, task, released, coins)
    labels = labels_table(statement, released, classes).append_column(
        "region", pa.array(np.array(["north", "south", "east"])[world.integers(3, size=N_QUESTIONS)])
    )
    return Run(json.loads(statement.to_json()), None, labels, classes, None)


def learned(names: tuple[str, ...] = ("no", "yes")) -> Run:
    """Add what a run from a private table has besides: a plan with two stages, and a ledger."""
    run = aggregated(SystemCoins(), names=names)
    stages = (
        Stage("error", "error-estimate", {}, Budget(0.3, 0.0)),
        Stage("labels", "ladder", {"max_abstentions": 15}, Budget(1.2, 1e-5)),
    )
    plan = Plan(names, N_TEACHERS, "add-remove", "patient", N_QUESTIONS, BUDGET, stages, "120 teachers as asked")
    ledger = MemoryLedger()
    ledger.open(plan.digest, Limits.of_plan(plan))
    estimate = ErrorEstimate.for_task(0.3, N_TEACHERS)
    estimate_error(estimate, np.full(N_TEACHERS, estimate.grain // 5), SystemCoins(), ledger=ledger)
    ledger.append(Entry("start", "labels"))
    ledger.append(Entry("answers", "labels", run.statement["answered"], run.statement["abstained"]))
    statement = run.statement | {
        "unit": PROMISE.unit,
        "adjacency": PROMISE.adjacency,
        "assumptions": list(PROMISE.assumptions),
        "checked": list(PROMISE.checked),
        "plan_digest": plan.digest,
        "ledger_head": ledger.head,
        "stages": [
            {"name": "error", "mechanism": "error-estimate", "epsilon": 0.3, "delta": 0.0},
            {"name": "labels", "mechanism": "ladder", "epsilon": 1.19, "delta": 1e-5},
        ],
    }
    return Run(statement, json.loads(plan.to_json()), run.labels, run.classes, ledger.export())
