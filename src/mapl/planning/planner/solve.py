"""Solving a question for the one quantity that was left open: the least of it that reaches a wish."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from mapl.errors import CannotCalibrate, InvalidParameter
from mapl.planning.planner.boundary import boundary, first_that
from mapl.planning.planner.outlook import Outlook
from mapl.planning.planner.proposal import Proposal, keeps_floor
from mapl.planning.planner.quantity import (
    LEAST_EPSILON,
    as_said,
    as_whole,
    candidates_for,
    is_allowed,
    is_most_wanted,
    range_of,
    round_up,
    spoken_name,
    start_of,
    step_further,
)
from mapl.planning.planner.question import Question, Unknown, Wish
from mapl.planning.planner.search import (
    NEAR,
    by_merit,
    calibrate_estimate,
    estimates,
    pick_promising,
    search,
)

STEP, GROWTH = 0.012, 1.7
"""Where exact calibration falls short of the estimate, a little more is tried, and then ever more."""
MOST_STEPS = 14
STEPS_BACK = (1.03, 1.1, 1.3, 2.0, 4.0)
"""Where it reaches more than was estimated, less is tried."""
CLOSE = 1.03
"""How far apart, at most, the answer and what was seen to fail are."""
NEARLY, NEARLY_AS_ACCURATE = 0.9, 0.995
"""An estimate further below a wish does not reach it when it is calibrated."""
ADVISED, THRESHOLDS = (1.0, 1.07, 1.15, 1.3, 1.8, 3.0), 1.3
"""How much more than was estimated is tried for an advice, and how much less a ladder of thresholds might need."""


@dataclass(frozen=True, slots=True)
class Solution:
    """The quantity that was open, what it has to be, and the plans with it; the first one reaches the wish.

    ``is_most`` says that more of it would miss the wish: that is so for questions of which a share is wanted.
    """

    unknown: Unknown
    value: float
    wish: Wish
    question: Question
    proposals: list[Proposal]
    is_most: bool = False


def solve(question: Question, wish: Wish) -> Solution:
    """Return the least of the open quantity that reaches the wish; of questions, for a share of them, the most.

    Open is whichever of epsilon, rows and queries was left out; with all of them given, the number of teachers, or
    the limit on abstentions if the teachers are given too. Raises CannotCalibrate where nothing reaches the wish,
    saying what would have to grow to what.
    """
    if wish.accuracy is not None and question.learning_curve is None:
        raise InvalidParameter(
            "A wished accuracy of the student needs a learning curve; give error rates by number of rows or a "
            "public sample, or wish for answered questions."
        )
    if question.delta == 0:
        raise InvalidParameter("delta is 0; solving for a quantity needs a positive delta, for example 1e-6.")
    if wish.accuracy is not None and question.student_curve is None:
        raise InvalidParameter(
            "The learning curve has one size, or does not fall, and so says nothing about a student; for a wished "
            "accuracy give the error at a second number of rows, or wish for answered questions."
        )
    unknown = open_quantity(question)
    value = _estimated_value(question, unknown, wish)
    if value is None:
        raise CannotCalibrate(impossible(question, unknown, wish))
    found = _solved(question, unknown, value, wish, NEAR)
    if found is None and wish.accuracy is not None:
        found = _solved(question, unknown, value, wish, 0.0)  # only as many teachers as there can be reach it
    if found is None:
        raise CannotCalibrate(impossible(question, unknown, wish))
    return found


def _solved(question: Question, unknown: Unknown, value: float, wish: Wish, near: float) -> Solution | None:
    """Begin at an estimate and find where calibrated plans begin to reach the wish; None if they never do."""
    is_most = is_most_wanted(unknown, wish)
    shown, failed = None, None
    is_least = unknown == "epsilon" and value <= LEAST_EPSILON
    for step in range(MOST_STEPS):
        shown = _shown(question, unknown, value, wish, near)
        if shown is not None:
            break
        # Where the estimate is the least that is considered, it says little about what will do.
        factor = 2.0 if is_least else 1 + STEP * GROWTH**step
        failed, value = value, step_further(unknown, value, factor, is_most=is_most)
        if not is_allowed(question, unknown, value):
            break
    if shown is None:
        return None
    for factor in STEPS_BACK if failed is None else ():
        nearer = as_said(unknown, value * factor if is_most else value / factor)
        if nearer == value or not is_allowed(question, unknown, nearer):
            break
        found = _shown(question, unknown, nearer, wish, near)
        if found is None:
            failed = nearer
            break
        value, shown = nearer, found
    while failed is not None and max(value / failed, failed / value) > CLOSE:
        middle = as_said(unknown, math.sqrt(value * failed))
        if middle in (value, failed):
            break
        found = _shown(question, unknown, middle, wish, near)
        value, failed, shown = (value, middle, shown) if found is None else (middle, failed, found)
    value = as_whole(unknown, value)
    return Solution(unknown, value, wish, question.having(unknown, value), shown, is_most)


def open_quantity(question: Question) -> Unknown:
    """Return what is to be solved for, refusing two open quantities and none."""
    missing = question.unknown()
    if missing is not None:
        return missing
    if question.teachers is None:
        return "teachers"
    if question.max_abstentions is None and not question.must_answer:
        return "max_abstentions"
    raise InvalidParameter(
        "Nothing is left to solve for: epsilon, rows, queries, teachers and max_abstentions are all given. Leave "
        "one of them out, or leave the wish out to see what this plan gives."
    )


def result(plan: Proposal | Outlook, question: Question, wish: Wish) -> float:
    """Return what a plan reaches, in the terms of the wish."""
    if wish.accuracy is not None:
        return plan.student_accuracy or 0.0
    assert question.queries is not None
    answered = plan.answered if keeps_floor(plan) else 0.0
    return answered / question.queries if wish.is_share else answered


def goal_of(wish: Wish) -> float:
    """Return what has to be reached, with room for rounding."""
    goal = wish.accuracy if wish.accuracy is not None else wish.answered
    assert goal is not None
    return goal * (1 - 1e-9)


def _reaches(question: Question, wish: Wish, *, roughly: bool = False) -> bool:
    """Say whether some plan is estimated to reach the wish; ladders of thresholds are calibrated, at few limits."""
    merit = by_merit(question, wish)
    found = estimates(question, coarse=True)
    if not found:
        return False
    if result(max(found, key=merit), question, wish) >= goal_of(wish):
        return True
    if roughly:
        return False
    ladders = [one for one in found if one.family == "ladder"]
    made = calibrate_estimate(max(ladders, key=merit), question, only="threshold-ladder") if ladders else []
    return any(result(plan, question, wish) >= goal_of(wish) for plan in made)


def _shown(
    question: Question, unknown: Unknown, value: float, wish: Wish, near: float = NEAR
) -> list[Proposal] | None:
    """Return the very plans that are shown with this value if the first reaches the wish, None otherwise."""
    asked = question.having(unknown, as_whole(unknown, value))
    try:
        if not any(_may_reach(found, asked, wish) for found in pick_promising(asked, wish, near=near)):
            return None
        found = search(asked, wish, near=near)
    except (CannotCalibrate, InvalidParameter):
        return None
    return found if result(found[0], asked, wish) >= goal_of(wish) else None


def _may_reach(found: Outlook, question: Question, wish: Wish) -> bool:
    """Say whether an estimate, or the ladder of thresholds it may stand for, reaches the wish when calibrated."""
    near = result(found, question, wish) >= (NEARLY if wish.accuracy is None else NEARLY_AS_ACCURATE) * goal_of(
        wish
    )
    only = None if near else "threshold-ladder"
    return any(
        result(plan, question, wish) >= goal_of(wish) for plan in calibrate_estimate(found, question, only=only)
    )


def _estimated_value(question: Question, unknown: Unknown, wish: Wish, *, roughly: bool = False) -> float | None:
    """Return the least (or most) value that is estimated to reach the wish, None if there is none.

    Parameters
    ----------
    roughly
        Calibrate nothing, as is enough to say in a refusal about what would do.
    """

    def reaches(value: float) -> bool:
        try:
            return _reaches(question.having(unknown, as_whole(unknown, value)), wish, roughly=roughly)
        except (CannotCalibrate, InvalidParameter):
            return False

    if unknown in ("teachers", "max_abstentions"):
        return first_that(reaches, candidates_for(question, unknown))
    low, high = range_of(question, unknown)
    if is_most_wanted(unknown, wish):
        missed = boundary(lambda value: not reaches(value), low, high, start=start_of(question, unknown))
        return high if missed is None else missed[0]
    found = boundary(reaches, low, high, start=start_of(question, unknown))
    return None if found is None else round_up(unknown, found[1])


def impossible(question: Question, unknown: Unknown, wish: Wish) -> str:
    """Say that a wish cannot be met, and which quantity would have to become what."""
    terms = f"(epsilon at delta {question.delta:g}; adjacency: {question.adjacency}; unit: {question.unit})"
    return (
        f"No {spoken_name(unknown)} reaches {wish} {terms}. {ways_out(_filled(question, unknown), unknown, wish)}"
    )


def ways_out(question: Question, unknown: Unknown | None, wish: Wish) -> str:
    """Say which single quantity would have to become what for a wish, besides the one that was tried."""
    ways = []
    quantities: tuple[Unknown, ...] = ("epsilon", "rows", "queries")
    free = replace(question, teachers=None, max_abstentions=None)
    if free != question and _reaches(free, wish):
        fixed = [name for name in ("teachers", "max_abstentions") if getattr(question, name) is not None]
        return f"It would do to leave the {' and the '.join(map(spoken_name, fixed))} open."
    for name in quantities:
        if name == unknown or (name == "rows" and question.rows_are_spare):
            continue
        value, given = _advised_value(free, name, wish), getattr(question, name)
        if value is None or (value >= given if is_most_wanted(name, wish) else value <= given):
            continue
        number = f"{value:.3g}" if name == "epsilon" else f"{value:,.0f}"
        ways.append(f"{spoken_name(name)} would have to {'grow' if value > given else 'shrink'} to about {number}")
    if ways:
        joined = ", or ".join(way if way.startswith("epsilon") else f"the {way}" for way in ways)
        return f"{joined[0].upper()}{joined[1:]}, the others staying as they are and the teachers being left open."
    return _no_way(question, wish)


def _advised_value(question: Question, name: Unknown, wish: Wish) -> float | None:
    """Return about the least (or most) value that is seen to do, by exact plans, ladders of thresholds among them.

    It starts from an estimate without calibration. A few values are tried, since a refusal should not take long.
    """
    value, is_most = _estimated_value(question, name, wish, roughly=True), is_most_wanted(name, wish)
    if value is None:
        return None
    tried = [as_whole(name, value / factor) if is_most else round_up(name, value * factor) for factor in ADVISED]
    better = as_said(name, value * THRESHOLDS if is_most else value / THRESHOLDS)
    if is_allowed(question, name, better) and _reaches(question.having(name, as_whole(name, better)), wish):
        tried.insert(0, better)  # by a ladder of thresholds, which the estimate leaves out
    allowed = [one for one in tried if is_allowed(question, name, one)]
    return next((one for one in allowed if _shown(question, name, one, wish) is not None), None)


def _filled(question: Question, unknown: Unknown) -> Question:
    """Set the open quantity to the most that is considered."""
    if getattr(question, unknown) is not None or unknown in ("teachers", "max_abstentions"):
        return question
    usual: dict[str, float] = {"epsilon": 10.0, "rows": 10**8, "queries": 10**5}
    return question.having(unknown, usual[unknown])


def _no_way(question: Question, wish: Wish) -> str:
    curve = question.learning_curve
    if wish.accuracy is not None and curve is not None:
        return (
            f"By the learning curve the learner itself comes to an accuracy of {1 - curve.floor:.3f} at most, "
            "however many rows it has: wish for less, or take a better learner."
        )
    return "No single quantity is enough to change: wish for less, or change several of them."
