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
from mapl.planning.plan_maker import Terms, make_plan
from mapl.prediction.candidates.candidates import Cover
from mapl.prediction.hypotheses import HypothesisClass
from mapl.prediction.predictors.predictor import NEIGHBOURS, ONE_RECORD
from mapl.prediction.predictors.semi_private import SemiPrivate, score_patterns
from mapl.release import Answers, Ledger
from mapl.release.spend import Decision, begin, first_entry, spend
from mapl.types import Budget, RecordAdjacency, finite_positive

NAME, STAGE = "semi-private", "hypothesis"
MOST_EPSILON = 1000.0


def plan_of_release(
    budget: Budget, hypotheses: HypothesisClass, adjacency: RecordAdjacency, classes: tuple[str, ...], n_public: int
) -> Plan:
    """Fix the one draw: from how many public points, at which epsilon; refuse points too many to list patterns."""
    finite_positive(epsilon=budget.epsilon)
    if budget.epsilon > MOST_EPSILON:
        raise InvalidParameter(
            f"epsilon is {budget.epsilon:g}; it must be at most {MOST_EPSILON:g}, and near 1 to promise anything."
        )
    Cover(hypotheses).refuse_beyond(n_public)
    return make_plan(
        Terms(budget, NEIGHBOURS[adjacency], ONE_RECORD),
        [Stage(STAGE, NAME, {"hypotheses": hypotheses.name, "entries": n_public}, budget)],
        ["one release, then every prediction is free"],
        classes=classes,
        n_queries=n_public,
    )


def draw_once(
    X: NDArray[Any],
    y: NDArray[Any],
    hypotheses: HypothesisClass,
    *,
    public: NDArray[Any],
    plan: Plan,
    adjacency: RecordAdjacency,
    ledger: Ledger,
    coins: Coins,
) -> SemiPrivate:
    """Draw a hypothesis at the plan's epsilon; it is in the ledger, which was opened with the plan, on return."""
    stage = plan.stage(STAGE)
    # Whatever is refused is refused before a start is on record.
    errors = score_patterns(X, y, hypotheses, public=public)
    begin(ledger, first_entry(STAGE, NAME, stage.parameters, coins))
    drawn = SemiPrivate.drawn(
        errors,
        hypotheses.n_patterns(len(public)),
        epsilon=stage.budget.epsilon,
        adjacency=adjacency,
        coins=coins,
    )
    labels = drawn.predict(public).astype(np.int8)
    spend(ledger, STAGE, Decision(len(labels), ended=True, answers=Answers(labels, None, len(labels))))
    return drawn
