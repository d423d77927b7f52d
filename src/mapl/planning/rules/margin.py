"""How many abstentions and teachers follow from a measured margin curve, for sparse voting that finishes.

Proposition 11 of Liu et al. (AISTATS 2021) with the factor 2 that it lacks (`mapl.bounds.lzcw21.margin`), and the
same argument with mapl's ladder instead of Laplace noise: docs/margin.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

from mapl.bounds.lzcw21.margin import crowd
from mapl.errors import CannotCalibrate, InvalidParameter
from mapl.mechanisms import Task
from mapl.mechanisms.votes.ladder import Ladder
from mapl.planning.votes.noise_conditions import MarginCurve
from mapl.types import Budget, finite_positive, positive_integer

FAILURE = 0.05
MARGINS = (0.1, 0.2, 0.3, 0.4)
"""The margins for which plans are made."""

MOST_QUERIES = 10**8
PLENTY = 100_000
"""Teachers for whom a ladder is designed, so that its table is not cut off."""


@dataclass(frozen=True, slots=True)
class MarginPlan:
    """What makes a ladder answer all but T of the questions as infinitely many teachers would.

    Parameters
    ----------
    size
        Rows per teacher.
    margin, nu
        Delta, and the share of rows with a smaller one, at the upper end of its interval.
    abstentions
        T: with room for the luck of drawing questions.
    teachers
        K for mapl's ladder, None where no ladder can be made for so many abstentions, or none that reaches so far.
    paper_teachers
        K for Algorithm 2 of the paper, with its constants corrected.
    """

    size: int
    margin: float
    nu: float
    abstentions: int
    teachers: int | None
    paper_teachers: int

    @property
    def rows(self) -> int | None:
        """How many private rows that makes, for the ladder."""
        return None if self.teachers is None else self.teachers * self.size


def refuse_senseless(budget: Budget, n_queries: int, failure: float) -> None:
    """Refuse, before any work, a budget or figures for which no plan can be made."""
    positive_integer(queries=n_queries)
    if n_queries > MOST_QUERIES:
        raise InvalidParameter(f"queries is {n_queries}; give at most {MOST_QUERIES}.")
    if not 0 < failure < 1:
        raise InvalidParameter(f"failure is {failure}; it is a probability above 0 and below 1, such as 0.05.")
    finite_positive(epsilon=budget.epsilon)
    if budget.delta == 0:
        raise InvalidParameter("delta is 0; sparse voting needs a positive delta, for example 1e-6.")


def margin_plans(
    curve: MarginCurve, size: int, n_queries: int, budget: Budget, *, failure: float = FAILURE
) -> tuple[MarginPlan, ...]:
    """Return T and K for several margins: a smaller one abstains on fewer questions and takes more teachers.

    Parameters
    ----------
    size
        On how many rows each of the measured teachers was trained.
    """
    positive_integer(size=size)
    refuse_senseless(budget, n_queries, failure)
    plans = []
    for margin in MARGINS:
        nu = curve.interval(margin)[1]
        proved = crowd(
            n_queries,
            nu,
            margin,
            epsilon=budget.epsilon,
            delta=budget.delta,
            beta=failure,
            classes=curve.n_classes,
        )
        distance = _clear_distance(budget, proved.cutoff, n_queries, failure)
        teachers = None if distance is None else math.ceil(max(proved.for_votes, 2 * (distance + 1) / margin))
        plans.append(MarginPlan(size, margin, nu, proved.cutoff, teachers, proved.teachers))
    return tuple(plans)


@lru_cache(maxsize=64)
def _clear_distance(budget: Budget, abstentions: int, n_queries: int, failure: float) -> int | None:
    """Return the distance from which on a ladder passes all questions but for luck, None if its table ends before.

    Clear questions keep half of their margin among K teachers, which leaves a distance of K Delta / 2 - 1; each may
    fail to pass with probability gamma / (3m). A ladder knows distances only, so it is the same for all numbers of
    classes.
    """
    try:
        ladder = Ladder.for_task(Task(budget, PLENTY, 2, n_queries), max_abstentions=abstentions)
    except CannotCalibrate:
        return None
    return ladder.required_distance(1 - failure / (3 * n_queries))
