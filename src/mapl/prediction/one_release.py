"""The semi-private release within a plan and a ledger: drawn once, recorded, and only then told.

What is recorded is how the drawn hypothesis labels the public points. It is a function of these labels and of the
points, so this is all that was released.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapl.errors import InvalidParameter
from mapl.noise import Coins
from mapl.planning.plan import Plan, Stage
from mapl.prediction.candidates import Cover
from mapl.prediction.hypotheses import HypothesisClass
from mapl.prediction.predictor import RECORDS, Adjacency
from mapl.prediction.semi_private import SemiPrivate, scored
from mapl.release import Answers, Entry, Ledger
from mapl.release.chain import HALTED, START
from mapl.release.ledger import begin
from mapl.types import Budget, State, finite_positive

NAME, STAGE = "semi-private", "hypothesis"
MOST_EPSILON = 1000.0


def plan_of_release(
    budget: Budget, hypotheses: HypothesisClass, adjacency: Adjacency, classes: tuple[str, ...], n_public: int
) -> Plan:
    """Fix the one draw: from how many public points, at which epsilon; refuse points too many to list patterns."""
    finite_positive(epsilon=budget.epsilon)
    if budget.epsilon > MOST_EPSILON:
        raise InvalidParameter(
            f"epsilon is {budget.epsilon:g}; it must be at most {MOST_EPSILON:g}, and near 1 to promise anything."
        )
    Cover(hypotheses).refuse_beyond(n_public)
    records, unit = RECORDS[adjacency].split("; unit: ")
    stage = Stage(STAGE, NAME, {"hypotheses": hypotheses.name, "entries": n_public}, budget)
    why = "one release, then every prediction is free"
    return Plan(classes, 0, records, unit, n_public, budget, (stage,), why)


def drawn_once(
    X: NDArray[Any],
    y: NDArray[Any],
    hypotheses: HypothesisClass,
    *,
    public: NDArray[Any],
    plan: Plan,
    adjacency: Adjacency,
    ledger: Ledger,
    coins: Coins,
) -> SemiPrivate:
    """Draw a hypothesis at the plan's epsilon; it is in the ledger, which was opened with the plan, on return."""
    stage = plan.stage(STAGE)
    payload = {"mechanism": NAME, "parameters": dict(stage.parameters), "private": coins.private}
    # Whatever is refused is refused before a start is on record.
    errors = scored(X, y, hypotheses, public=public)
    begin(ledger, Entry(START, STAGE, payload=payload), State)
    drawn = SemiPrivate.drawn(
        errors,
        hypotheses.n_patterns(len(public)),
        epsilon=stage.budget.epsilon,
        adjacency=adjacency,
        coins=coins,
    )
    labels = drawn.predict(public).astype(np.int8)
    ledger.append(Entry(HALTED, STAGE, answered=len(labels)), answers=Answers(labels, None, len(labels)))
    return drawn
