"""The plan with the fewest teachers that is nearly as good as the best: found closely, monotone in the budget."""

from __future__ import annotations

import math

import numpy as np

from mapl.planning.planner.outlook import Outlook
from mapl.planning.planner.question import Question
from mapl.planning.planner.search import by_merit, pick_promising
from mapl.planning.rules.fewest_teachers import fewest_teachers
from mapl.planning.votes.learning_curve import LearningCurve


def outlook(n_teachers: int) -> Outlook:
    accuracy = 0.8 + 0.01 * math.log10(n_teachers)
    return Outlook("argmax", n_teachers, None, 10, 10.0, 9.0, 0.0, 0.8, 0.8, accuracy)


def test_it_comes_as_near_as_it_has_to() -> None:
    grid = [outlook(k) for k in (10, 100, 1000)]
    looked: list[int] = []

    def look(k: int) -> list[Outlook]:
        looked.append(k)
        return [outlook(k)]

    found = fewest_teachers(grid, grid[-1], 0.005, look, lambda one: (one.student_accuracy or 0.0,))
    assert found.n_teachers == 317  # 316.2 is exact
    assert len(looked) <= 5
    assert fewest_teachers(grid, grid[-1], 1.0, look, lambda one: (one.student_accuracy or 0.0,)).n_teachers == 10
    assert fewest_teachers(grid, grid[-1], 0.0, lambda k: [], lambda one: (0.0,)) is grid[-1]


def test_a_larger_budget_is_not_forecast_worse() -> None:
    curve, best = LearningCurve.parse("100:0.20,1000:0.16"), []
    for epsilon in np.geomspace(1, 8, 10):
        question = Question(delta=1e-6, epsilon=float(epsilon), rows=20_000, queries=1000, curve=curve)
        best.append(max(pick_promising(question), key=by_merit(question)).student_accuracy or 0.0)
    falls = np.diff(best)
    assert falls.min() > -5e-5  # half a hundredth of a point; on a coarse grid of teachers it was ten times as much
    assert best[-1] > best[0]
