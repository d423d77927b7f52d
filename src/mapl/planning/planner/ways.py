"""Moments, cells and teachers beside each other: what students are expected to reach, and how that is known."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from mapl.accounting.calibration import largest_integer
from mapl.accounting.hockey_stick import gaussian_delta
from mapl.parameters import spell
from mapl.planning.planner.cells_offer import CellsOffer
from mapl.planning.planner.proposal import Proposal
from mapl.planning.planner.question import Question
from mapl.planning.rules.method import TOO_FEW
from mapl.planning.rules.moments import rounds_for
from mapl.planning.votes.learning_curve import LearningCurve

Forecast = Literal["rehearsed", "model", "rule"]

HOW_KNOWN: dict[Forecast | None, str] = {
    "rehearsed": "rehearsed on the sample",
    "model": "model, from the curve",
    "rule": "rule, from the curve",
    None: "nothing tells",
}

PREFERENCE = ("moments", "cells", "teachers")
"""Who comes first where forecasts do not tell: the order of our benchmarks on most tables."""

NEAR = 0.001
"""Forecasts that are as near as this are the same."""

USUAL_COLUMNS = 30
"""How many encoded columns rows are taken to have, a category of ten values being ten of them."""

NOISE_SHARE = 0.15
"""What noise costs beside what even directions would: the map gives length where it is worth while, later rounds
have shorter contributions, the prior shrinks the rest. Found on the first list of benchmarks/plan_moments.py."""

LARGE_EPSILON, SMALL_TABLE = 1.0, 5_000
"""Where plain DP-SGD may be ahead of moments: few rows and a large epsilon."""

FINE = 1 << 20


@dataclass(frozen=True, slots=True)
class LearningWay:
    """A way to learn, and the accuracy to expect of its student on fresh rows.

    Parameters
    ----------
    what
        What it takes, in a few words.
    delta
        What of the budget's delta it takes.
    forecast
        Where the accuracy comes from: runs rehearsed on a public sample, a model of what noise costs, or the rule
        for students of teachers, both by the learning curve; None where nothing tells.
    error
        By how much a rehearsed accuracy may be off: twice its standard error.
    plan
        The plan, where teachers are meant.
    """

    method: str
    what: str
    delta: float
    student_accuracy: float | None
    forecast: Forecast | None
    assumes: tuple[str, ...]
    error: float | None = None
    plan: Proposal | None = None


def other_ways(question: Question, cells: CellsOffer | None) -> tuple[LearningWay, ...]:
    """Return what moments and cells would give by the learning curve; none where only teachers were asked about."""
    asked = question.teachers, question.max_abstentions, question.agreement, question.public_votes
    if question.epsilon is None or question.rows is None or any(one is not None for one in asked):
        return ()
    by_sums = moments_way(question) if question.delta > 0 else None
    by_counts = None if cells is None else cells_way(question, cells)
    return tuple(way for way in (by_sums, by_counts) if way is not None)


def moments_way(question: Question) -> LearningWay:
    """Say what to expect of moments.

    *Model.* A linear student errs by two kinds of luck: which n units there are, and the noise of the sums. In each
    of the d directions of rows of length 1 the first has variance n (1 - 1/C) / (C d), the second (1 - 1/C) / mu^2
    times a share of 0.15. So it errs like the learner of the curve on fewer rows, n / (1 + 0.15 C d / (mu^2 n)).
    """
    mu = gaussian_parameter(question.epsilon or 0.0, question.delta) / _change(question)
    rows = question.rows or 0
    noise = NOISE_SHARE * question.n_classes * USUAL_COLUMNS / (mu**2 * rows)
    accuracy, assumes = _by_curve(question.student_curve, rows / (1 + noise), question.n_classes)
    columns = () if accuracy is None else (f"Rows have about {USUAL_COLUMNS} encoded columns.",)
    return LearningWay(
        "moments",
        f"{rounds_for(mu)} rounds of noisy sums",
        question.delta,
        accuracy,
        None if accuracy is None else "model",
        (*assumes, *columns, "Every unit counts, with the mean of its records."),
    )


def cells_way(question: Question, cells: CellsOffer) -> LearningWay:
    """Say what to expect of cells.

    *Model.* A cell of n / m records has noise of variance 2 / epsilon^2 in each of its C counts, beside the luck of
    who is in it, of variance n / m. So a student errs like the learner of the curve on n / (1 + 2 C m / (n
    epsilon^2)) rows, if records of a cell are alike.
    """
    rows = question.rows or 0
    noise = 2 * question.n_classes * cells.n_cells * (_change(question) / cells.epsilon) ** 2 / rows
    accuracy, assumes = _by_curve(question.student_curve, rows / (1 + noise), question.n_classes)
    return LearningWay(
        "cells",
        f"{cells.n_cells:,} cells",
        0.0,
        accuracy,
        None if accuracy is None else "model",
        (*assumes, *cells.assumes),
    )


def teachers_way(plan: Proposal, delta: float) -> LearningWay:
    """Return a plan for teachers as one way among others."""
    return LearningWay(
        "teachers",
        f"{plan.n_teachers:,} teachers, {plan.mechanism}",
        delta,
        plan.student_accuracy,
        plan.student_forecast,
        plan.assumes,
        plan=plan,
    )


def rank_ways(ways: Iterable[LearningWay]) -> tuple[LearningWay, ...]:
    """Return ways best first: rehearsed forecasts before those by curve, which are hopes, and those before none."""

    def merit(way: LearningWay) -> tuple[int, float, int]:
        known = 0 if way.student_accuracy is None else 2 if way.forecast == "rehearsed" else 1
        reached = round((way.student_accuracy or 0.0) / NEAR)
        return known, reached, -PREFERENCE.index(way.method)

    return tuple(sorted(ways, key=merit, reverse=True))


def cautions(question: Question, ways: tuple[LearningWay, ...], commonest: float | None) -> tuple[str, ...]:
    """Say plainly where little is to be expected, and where something else than mapl is likely to do better.

    Parameters
    ----------
    commonest
        The share of the commonest class in the public sample, where there is one.
    """
    epsilon, rows = question.epsilon or 0.0, question.rows
    share = "" if commonest is None else f": {commonest:.1%} of the public sample"
    said = []
    if rows is not None and rows * epsilon < TOO_FEW:
        said.append(
            f"Too few rows: about {rows:,} units at this budget tell hardly more than which class is the "
            f"commonest. Expect the accuracy of always naming that one{share}. More people or a larger epsilon are "
            "what helps."
        )
    if question.delta == 0 and any(way.method == "cells" for way in ways):
        said.append(
            "Moments are left out: they need some delta, and of it nothing is given, or nothing is left beside "
            f"earlier runs. With a larger {spell('delta')} they are mostly the best way."
        )
    best = ways[0] if ways else None
    if commonest is not None and best is not None and best.student_accuracy is not None:
        least = best.student_accuracy - (best.error or 0.0)
        if least <= commonest:
            said.append(
                "No way is forecast to do clearly better than always naming the commonest class, which is right on "
                f"{commonest:.1%} of the public sample and needs no private row."
            )
    if rows is not None and rows <= SMALL_TABLE and epsilon >= LARGE_EPSILON:
        said.append(
            "With so few rows at so large a budget, logistic regression by DP-SGD may do better: on parts of 34 "
            "tables it was up to 3.4 points ahead of moments with about 2,000 rows at epsilon 2 (delta 1e-05; "
            "adjacency: one record is added or removed; unit: one record), elsewhere by 0.7 points at most."
        )
    return tuple(said)


def gaussian_parameter(epsilon: float, delta: float) -> float:
    """Return the mu for which mu-Gaussian differential privacy is just (epsilon, delta); for forecasts only.

    >>> round(gaussian_parameter(1.0, 1e-5), 3)
    0.268
    """
    return largest_integer(lambda part: gaussian_delta(part / FINE, epsilon) <= delta, most=64 * FINE) / FINE


def _change(question: Question) -> int:
    """Return how many contributions a changed unit moves: one that may change leaves and enters."""
    return 1 if question.adjacency == "add-remove" else 2


def _by_curve(curve: LearningCurve | None, rows: float, n_classes: int) -> tuple[float | None, tuple[str, ...]]:
    """Return what the learner of the curve reaches on so many rows, and what is assumed by that."""
    if curve is None:
        return None, ("Without a learning curve or a public sample nothing is said about the student.",)
    guessing = 1 / n_classes
    if rows < 1:
        return guessing, ("Noise drowns everything.",)
    return max(1 - curve.error(rows), guessing), (
        f"The student errs like the learner of the curve on {math.floor(rows):,} rows, which the noise leaves.",
    )
