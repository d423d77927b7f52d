"""Ranked plans for a question: many are estimated in a moment, the best are calibrated and forecast exactly."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

import numpy as np

from mapl.errors import CannotCalibrate, MaplError
from mapl.mechanisms import Task, make
from mapl.mechanisms.tables.argmax_price import MOST_SIGMA_EXACT
from mapl.planning.planner.estimated_prices import EstimatedPrices, affordable_prices
from mapl.planning.planner.outlook import (
    MechanismFamily,
    Outlook,
    TeacherCrowd,
    limits_for,
    outlooks,
)
from mapl.planning.planner.proposal import Proposal, answers_nearly_all, forecast_of, keeps_floor, propose_estimate
from mapl.planning.planner.question import Question, Wish
from mapl.planning.rules.fewest_teachers import fewest_teachers

__all__ = ["Merit", "Proposal", "Question", "Wish", "by_merit", "estimates", "search"]

NEAR = 0.001
"""A tenth of a point of accuracy is no reason to split the rows among more teachers: forecasts are surest where
each of them learns from many rows."""
OPTIMISM = 0.0015
"""Estimates say about this much too much accuracy of noisy labels, at worst."""
LEAST_SIGNAL = 0.1
"""Where this much of the way from chance to certainty is not left of a label, averages over them are a hope."""
TEACHERS_TRIED, TEACHERS_REFINED = 12, 4
FEW_ABSTENTIONS = 20
MOST_THRESHOLD_ABSTENTIONS = 7
LEAST_ANSWERS = 1.0
"""A plan that is expected to answer less than one question is none."""

Merit = Callable[[Any], tuple[float, ...]]


def search(question: Question, wish: Wish | None = None, *, near: float = NEAR) -> list[Proposal]:
    """Return the best plan of every kind, best first. Nothing private is read.

    With a learning curve that falls the expected accuracy of the student decides, without one the expected answers
    among plans that lose at most a point of accuracy to noise; a wish for answers is served first.

    Parameters
    ----------
    near
        How much accuracy of the student is given for fewer teachers.
    """
    merit = by_merit(question, wish)
    if question.delta == 0:
        proposals = _pure(question)
    else:
        best = pick_promising(question, wish, near=near)
        proposals = best_of_each(
            [proposal for one in best for proposal in calibrate_estimate(one, question)], merit
        )
    return sorted(_useful(proposals, question), key=merit, reverse=True)


def pick_promising(question: Question, wish: Wish | None = None, *, near: float = NEAR) -> list[Outlook]:
    """Return the estimates that are worth calibrating, best first."""
    merit = by_merit(question, wish)
    found = estimates(question)
    best = best_by_family(found, merit)
    if merit is not by_floor:
        look = partial(_look, question)
        few = [fewest_teachers(found, one, near, look, merit) for one in best]
        return sorted(few, key=merit, reverse=True)
    return best + [one for one in best_by_family(found, _by_floor_surely) if one not in best]


def _useful(proposals: list[Proposal], question: Question) -> list[Proposal]:
    """Leave out plans that answer nothing, at random, or not all that must be; say so where none is left."""
    terms = (
        f"within epsilon {question.epsilon:g} at delta {question.delta:g}, adjacency: {question.adjacency}, unit: "
        f"{question.unit}"
    )
    answering = [one for one in proposals if one.answered >= LEAST_ANSWERS]
    telling = [one for one in answering if _tells(one, question)]
    kept = [one for one in telling if answers_nearly_all(one)] if question.must_answer else telling
    if kept:
        return kept
    if telling or (question.must_answer and question.max_abstentions is not None):
        raise CannotCalibrate(
            f"No plan is expected to answer every question that it asks {terms}. Allow abstentions, or "
            "leave the limit on abstentions open."
        )
    if answering:
        raise CannotCalibrate(
            f"The labels of every plan would say hardly more than chance {terms}: the budget is too small."
        )
    raise CannotCalibrate(
        f"No plan is expected to answer a single question {terms}, with labels that say more than chance: the "
        "budget is too small."
    )


def _tells(plan: Proposal | Outlook, question: Question) -> bool:
    """Say whether labels say more than chance; those that hardly do teach in theory only."""
    chance = 1 / question.n_classes
    return plan.winners >= (chance + LEAST_SIGNAL * (1 - chance)) * plan.answered and plan.label_accuracy > chance


def _pure(question: Question) -> list[Proposal]:
    """Return the plan for delta 0, where every answer must be pure by itself."""
    assert question.queries is not None
    made = []
    for n_teachers in numbers_between(*question.range_of_teachers(), TEACHERS_REFINED):
        task = Task(question.budget, n_teachers, question.n_classes, question.queries)
        made.append(forecast_of(make("permute-and-flip", task), task, crowd_of(question, n_teachers), question))
    return [max(made, key=by_merit(question))]


def by_merit(question: Question, wish: Wish | None = None) -> Merit:
    """Return what makes one plan better than another."""
    if wish is not None and wish.answered is not None:
        return by_floor
    if question.student_curve is not None:
        # A hundredth of a point more accuracy is no reason to prefer anything.
        return lambda plan: (round(plan.student_accuracy, 4), plan.winners)
    return by_floor


def by_floor(plan: Any) -> tuple[float, ...]:
    """Prefer plans that keep the floor, by their answers; others by their answers that give the winner."""
    return (1.0, plan.answered) if keeps_floor(plan) else (0.0, plan.winners)


def _by_floor_surely(found: Any) -> tuple[float, ...]:
    """Prefer the same of estimates, so that they still keep the floor when they are calibrated."""
    return (1.0, found.answered) if keeps_floor(found, optimism=OPTIMISM) else (0.0, found.winners)


def estimates(question: Question, *, coarse: bool = False) -> list[Outlook]:
    """Estimate plans of every kind for many numbers of teachers, more of them around the best unless it is coarse.

    Plans whose labels say hardly more than chance are left out: they teach in theory only.
    """
    assert question.queries is not None
    limits = limits_for(question.queries, question.max_abstentions)
    prices = affordable_prices(question.budget, limits) if question.delta > 0 else None
    if prices is None:
        return []
    merit = by_merit(question)
    found: dict[int, list[Outlook]] = {}

    def look(numbers: Iterable[int]) -> None:
        for n_teachers in numbers:
            if n_teachers not in found:
                found[n_teachers] = _estimated(question, n_teachers, prices)

    fewest, most = question.range_of_teachers()
    few = coarse or question.n_classes > 2
    look(numbers_between(fewest, most, TEACHERS_TRIED // 2 if few else TEACHERS_TRIED))
    if not coarse:
        tried = sorted(found)
        place = tried.index(max(tried, key=lambda k: max(map(merit, found[k]))))
        near = tried[max(place - 1, 0)], tried[min(place + 1, len(tried) - 1)]
        look(numbers_between(*near, 2 + (TEACHERS_REFINED // 2 if few else TEACHERS_REFINED)))
    return [one for several in found.values() for one in several if _is_worth_a_look(one, question)]


def _estimated(question: Question, n_teachers: int, prices: EstimatedPrices) -> list[Outlook]:
    return outlooks(
        crowd_of(question, n_teachers),
        prices,
        question.queries or 1,
        must_answer=question.must_answer,
        curve=question.student_curve,
        only_limits=question.max_abstentions is not None,
    )


def _look(question: Question, n_teachers: int) -> list[Outlook]:
    """Estimate the plans of one more number of teachers."""
    prices = affordable_prices(question.budget, limits_for(question.queries or 1, question.max_abstentions))
    found = [] if prices is None else _estimated(question, n_teachers, prices)
    return [one for one in found if _is_worth_a_look(one, question)]


def _is_worth_a_look(found: Outlook, question: Question) -> bool:
    return _tells(found, question) and (not question.must_answer or answers_nearly_all(found))


def crowd_of(question: Question, n_teachers: int) -> TeacherCrowd:
    """Return the crowd that so many teachers are, which does not depend on the budget or the questions."""
    return _crowd(replace(question, epsilon=1.0, queries=1, max_abstentions=None), n_teachers)


@lru_cache(maxsize=1024)
def _crowd(question: Question, n_teachers: int) -> TeacherCrowd:
    return TeacherCrowd.of(question.votes(n_teachers), n_teachers, question.n_classes)


def numbers_between(fewest: int, most: int, n: int) -> list[int]:
    """Return round numbers, evenly spaced on a logarithmic scale.

    >>> numbers_between(10, 1234, 5)
    [10, 33, 110, 370, 1234]
    """
    spaced = [round_number(x) for x in np.geomspace(fewest, most, n)[1:-1]]
    return sorted({fewest, most, *(k for k in spaced if fewest < k < most)})


def round_number(value: float) -> int:
    """Round to two digits, as people would choose a number of teachers."""
    scale = int(10 ** max(0, math.floor(math.log10(max(value, 1))) - 1))
    return max(1, round(value / scale) * scale)


def best_by_family(found: list[Outlook], merit: Merit) -> list[Outlook]:
    """Return the best estimate of every kind, best first."""
    best: dict[MechanismFamily, Outlook] = {}
    for one in found:
        if one.family not in best or merit(one) > merit(best[one.family]):
            best[one.family] = one
    return sorted(best.values(), key=merit, reverse=True)


def best_of_each(proposals: list[Proposal], merit: Merit) -> list[Proposal]:
    """Return the best proposal of every mechanism."""
    best: dict[str, Proposal] = {}
    for one in proposals:
        if one.mechanism not in best or merit(one) > merit(best[one.mechanism]):
            best[one.mechanism] = one
    return list(best.values())


def calibrate_estimate(found: Outlook, question: Question, *, only: str | None = None) -> list[Proposal]:
    """Calibrate what an estimate stands for and forecast it exactly; where that takes long, keep the estimate.

    Parameters
    ----------
    only
        The one mechanism to calibrate, of those that the estimate stands for.
    """
    names = [name for name, _ in _mechanisms(found, question.n_classes) if only in (None, name)]
    return [made for name in names if (made := _made(found, question, name)) is not None]


@lru_cache(maxsize=256)
def _made(found: Outlook, question: Question, name: str) -> Proposal | None:
    task = Task(question.budget, found.n_teachers, question.n_classes, found.asked)
    settings = dict(_mechanisms(found, question.n_classes))[name]
    if _is_slow(name, found, question.n_classes):
        return propose_estimate(found, name, settings, question)
    try:
        mechanism = make(name, task, **settings)
    except MaplError:
        return None
    return forecast_of(mechanism, task, crowd_of(question, task.n_teachers), question)


def _mechanisms(found: Outlook, n_classes: int) -> list[tuple[str, dict[str, Any]]]:
    """Name the mechanisms that an estimate stands for, and the settings it found."""
    if found.family == "ladder":
        ladder: list[tuple[str, dict[str, Any]]] = [("ladder", {"max_abstentions": found.limit})]
        if found.limit is not None and found.limit <= FEW_ABSTENTIONS:
            few = min(found.limit, MOST_THRESHOLD_ABSTENTIONS)
            ladder.append(("threshold-ladder", {"max_abstentions": few}))
        return ladder
    if found.family == "ladder-then-argmax":
        name = "ladder-then-link" if n_classes == 2 else "ladder-then-max"
        return [(name, {"max_abstentions": found.limit})]
    if found.test is not None:
        bar, testing = found.test
        return [("confident-max", {"threshold": bar, "sigma_test": testing, "sigma": found.sigma})]
    return [("link" if n_classes <= 3 else "noisy-max", {})]


def _is_slow(name: str, found: Outlook, n_classes: int) -> bool:
    """Say whether the exact price of three or more noisy counts would have to be found, which can take seconds."""
    narrow = found.sigma is None or found.sigma <= MOST_SIGMA_EXACT
    return n_classes > 2 and narrow and name in ("ladder-then-max", "confident-max", "noisy-max")
