"""How results change with epsilon, teachers and questions, for mapl and for the constants of two papers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from mapl.errors import MaplError
from mapl.mechanisms import Task, make
from mapl.planning.planner.estimated_prices import affordable_prices
from mapl.planning.planner.outlook import (
    Outlook,
    estimate_abstaining,
    limits_for,
    numbers_asked,
    outlooks,
    with_noise,
)
from mapl.planning.planner.proposal import Proposal, keeps_floor
from mapl.planning.planner.question import MOST_EPSILON, Question
from mapl.planning.planner.search import crowd_of, numbers_between, round_number
from mapl.types import State

Quantity = Literal["epsilon", "teachers", "queries"]

OURS = "mapl"
PAPERS = {
    "btt18": "BTT18, sparse vector",
    "lzcw21-sparse": "LZCW21, sparse vector",
    "lzcw21-gaussian": "LZCW21, Gaussian",
}
PAPER_LIMITS = (1, 3, 10, 30, 100)
POINTS = 15
NUMBERS_ASKED = 40
WIDE = 10.0
"""Epsilon and questions are shown from a tenth to ten times what was asked."""


@dataclass(frozen=True, slots=True)
class SweepPoint:
    """The best that can be had: answers without losing a point of accuracy to noise, and the student's accuracy."""

    x: float
    answered: float
    student: float | None


@dataclass(frozen=True, slots=True)
class SweepLine:
    """The plans of one kind along a quantity."""

    name: str
    points: tuple[SweepPoint, ...]


@dataclass(frozen=True, slots=True)
class Sweep:
    """What becomes of a plan along one quantity, the others being as they are; `chosen` is where it stands."""

    quantity: Quantity
    chosen: float
    lines: tuple[SweepLine, ...]


def sweeps(question: Question, plan: Proposal) -> tuple[Sweep, ...]:
    """Vary epsilon, teachers and questions around a plan, one at a time.

    The limit on abstentions is chosen anew everywhere, for the papers too. Lines of mapl are estimates without
    certificate, within a few percent of what calibration gives.
    """
    assert question.epsilon is not None
    assert question.queries is not None
    fixed = question.having("teachers", plan.n_teachers)
    epsilons = np.geomspace(
        max(question.epsilon / WIDE, 0.01), min(question.epsilon * WIDE, MOST_EPSILON), POINTS
    ).tolist()
    numbers = sorted(
        {question.queries, *(round_number(m) for m in question.queries * np.geomspace(1 / WIDE, WIDE, POINTS))}
    )
    return (
        _sweep("epsilon", question.epsilon, [(e, fixed.having("epsilon", e)) for e in epsilons]),
        _sweep(
            "teachers",
            plan.n_teachers,
            [(k, question.having("teachers", k)) for k in _teachers(question, plan.n_teachers)],
        ),
        _sweep(
            "queries",
            question.queries,
            [(m, _with_queries(fixed, m)) for m in numbers if m >= 1],
        ),
    )


def _teachers(question: Question, chosen: int) -> list[int]:
    free = question.having("teachers", None)
    fewest, most = free.range_of_teachers()
    if fewest == most:
        fewest, most = max(1, chosen // 10), min(question.rows or chosen * 10, chosen * 10)
    return sorted({chosen, *numbers_between(fewest, most, POINTS)})


def _with_queries(question: Question, queries: int) -> Question:
    limit = question.max_abstentions
    free = question.having("max_abstentions", None).having("queries", queries)
    return free if limit is None else free.having("max_abstentions", min(limit, queries))


def _sweep(quantity: Quantity, chosen: float, questions: Iterable[tuple[float, Question]]) -> Sweep:
    several = list(questions)
    ours = SweepLine(OURS, tuple(_ours(x, question) for x, question in several))
    papers = [SweepLine(said, tuple(_paper(name, x, q) for x, q in several)) for name, said in PAPERS.items()]
    return Sweep(quantity, chosen, (ours, *papers))


def _ours(x: float, question: Question) -> SweepPoint:
    assert question.teachers is not None
    assert question.queries is not None
    prices = affordable_prices(question.budget, limits_for(question.queries, question.max_abstentions))
    found: list[Outlook] = []
    if prices is not None:
        found = outlooks(
            crowd_of(question, question.teachers),
            prices,
            question.queries,
            must_answer=question.must_answer,
            curve=question.student_curve,
            only_limits=question.max_abstentions is not None,
            n_asked=NUMBERS_ASKED,
        )
    return _best(x, found)


def _paper(name: str, x: float, question: Question) -> SweepPoint:
    """Return what the printed constants of a paper give, with the best of several limits on abstentions."""
    assert question.teachers is not None
    assert question.queries is not None
    if name == "lzcw21-gaussian":
        return _gaussian(x, question)
    task = Task(question.budget, question.teachers, question.n_classes, question.queries)
    crowd = crowd_of(question, question.teachers)
    block = crowd.votes.agreement.tallies(task.n_teachers, task.n_classes)
    limits, rows = [], []
    for limit in PAPER_LIMITS:
        if limit <= question.queries:
            try:
                mechanism = make(name, task, max_abstentions=limit)
                rows.append(mechanism.chances(block, State())[:, task.n_classes])
            except MaplError:
                continue
            limits.append(mechanism.max_abstentions)  # type: ignore[attr-defined]
    if not limits:
        return SweepPoint(x, 0.0, None)
    curve = question.student_curve
    return _best(x, estimate_abstaining(crowd, np.array(rows), np.array(limits), question.queries, curve))


def _gaussian(x: float, question: Question) -> SweepPoint:
    """Return what LZCW21's Gaussian noise gives, asked as many questions as suit it: its sigma is printed."""
    assert question.epsilon is not None
    assert question.queries is not None
    assert question.teachers is not None
    asked, log = numbers_asked(question.queries, 2 * NUMBERS_ASKED), math.log(1 / question.delta)
    sigma = np.sqrt(asked / 2) * (math.sqrt(log + question.epsilon) + math.sqrt(log)) / question.epsilon
    # One noisy count decides of two classes, and with more classes every count has noise wider by the root of 2.
    crowd = crowd_of(question, question.teachers)
    return _best(x, with_noise(crowd, asked, math.sqrt(2) * sigma, question.student_curve))


def _best(x: float, plans: Sequence[Outlook]) -> SweepPoint:
    answered = max((plan.answered for plan in plans if keeps_floor(plan)), default=0.0)
    students = [plan.student_accuracy for plan in plans if plan.student_accuracy is not None]
    return SweepPoint(x, answered, max(students, default=None))
