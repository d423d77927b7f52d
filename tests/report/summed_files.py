"""A real run by moments: made-up sums, released by the real mechanism into a real ledger."""

from __future__ import annotations

import json
import math

import numpy as np
from public_files import Run

from mapl.data.moments.contributions import ExactSums
from mapl.noise import Coins
from mapl.planning.plan import Plan, Stage
from mapl.release import Classes, Released
from mapl.release.files.labels import labels_table
from mapl.release.ledger.ledger import Limits
from mapl.release.ledger.memory import MemoryLedger
from mapl.release.moment_sums import CHANGES, FirstRound, MomentSums, SumsStage
from mapl.release.statement.moment_promise import moments_promise
from mapl.release.statement.moment_statement import state_sums
from mapl.students.moments.strengths import COLUMN, WORD, NoisyCount, Strengths
from mapl.types import Adjacency, Budget, State

N_PUBLIC, N_FEATURES, N_ROUNDS, N_WORDS = 90, 30, 4, 256
BUDGET = Budget(1.0, 1e-6)


def summed(
    coins: Coins,
    *,
    names: tuple[str, ...] = ("no", "yes"),
    words: bool = False,
    adjacency: Adjacency = "add-remove",
) -> Run:
    """Release sums of nobody at all, whose noise is as real as ever."""
    classes, width = Classes(names), N_FEATURES * len(names) + 1
    first = (N_WORDS * (len(names) + 1) + 1,) if words else ()
    entries = (*first, *(width,) * N_ROUNDS)
    about: FirstRound = "words" if words else "features"
    mechanism = MomentSums.for_budget(BUDGET, entries=entries, changes=CHANGES[adjacency], first=about)
    stage = Stage("sums", mechanism.name, {**mechanism.parameters, "features": N_FEATURES}, BUDGET)
    why = f"moments as asked; {N_ROUNDS} rounds of sums of {N_FEATURES} features"
    plan = Plan(names, 0, adjacency, "patient", N_PUBLIC, BUDGET, (stage,), why)
    ledger = MemoryLedger()
    ledger.open(plan.digest, Limits.of_plan(plan))
    sums = SumsStage(mechanism, stage.name, "ab" * 32)
    sums.begin(coins, ledger)
    for n in entries:
        sums.release(ExactSums(n), coins, ledger)
    codes = (np.arange(N_PUBLIC) % len(names)).astype(np.int32)
    released = Released(codes, None, State(N_PUBLIC, 0, True), N_PUBLIC)
    statement = state_sums(
        mechanism,
        stage.name,
        released,
        BUDGET,
        coins,
        n_classes=len(names),
        promise=moments_promise(adjacency, "patient"),
        plan_digest=plan.digest,
        ledger_head=ledger.head,
    )
    return Run(
        json.loads(statement.to_json()),
        json.loads(plan.to_json()),
        labels_table(statement, released, classes),
        classes,
        ledger.export(),
        weights=strengths(len(names), words=words).to_table(classes),
    )


def strengths(n_classes: int, *, words: bool = False) -> Strengths:
    """Make up effects that fall from column to column, every third of them no larger than its noise."""
    n = N_FEATURES + (N_FEATURES if words else 0)
    sizes = 1 / (1 + np.arange(n))
    effects = sizes[:, None] * np.cos(2 * math.pi * (np.arange(n)[:, None] + np.arange(n_classes)) / n_classes)
    noise = np.where(np.arange(n) % 3 == 2, sizes, sizes / 10)
    return Strengths(
        tuple(f"c{i}" if i < N_FEATURES else f"w{i}" for i in range(n)),
        tuple(COLUMN if i < N_FEATURES else WORD for i in range(n)),
        effects,
        noise,
        NoisyCount(9876.5, 43.2),
    )
