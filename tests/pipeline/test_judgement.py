"""What units set aside think of students: never more points than the choice is priced for."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from mapl import PrivateClassifier
from mapl.audit.counts.tables import below_exp
from mapl.data.tables.classes import Classes
from mapl.pipeline.choice.judgement import MOST_POINTS, Judgement
from mapl.release.best_of import BestOf

TWO = Classes(("no", "yes"))


@dataclass
class Told:
    """A student that says what it was told to."""

    chances: Any
    classes: Classes = TWO

    def predict_proba(self, rows: Any) -> Any:
        return np.asarray(self.chances, np.float64)

    def predict_codes(self, rows: Any) -> Any:
        return self.predict_proba(rows).argmax(axis=1)


ROWS = np.zeros((4, 1))
LABELS = np.array([0, 0, 1, 1], np.int32)
SOME = Told([[0.9, 0.1], [0.2, 0.8], [0.7, 0.3], [0.0, 1.0]])


def points(metric: str, student: Any = SOME) -> list[int]:
    judgement = Judgement.among(metric, [student, None], ROWS)
    return judgement.points(student, ROWS, LABELS).tolist()


def test_accuracy_counts_who_is_right() -> None:
    assert points("accuracy") == [1, 0, 0, 1]


def test_balanced_gives_a_rare_class_the_most_points() -> None:
    rare = Told([[0.95, 0.05], [0.9, 0.1], [0.6, 0.4], [0.4, 0.6]])  # mean probabilities 0.7125 and 0.2875
    assert points("balanced", rare) == [6, 6, 0, 16]


def test_auc_goes_by_how_near_probabilities_are() -> None:
    assert points("auc") == [int(64 * 0.99), int(64 * 0.36), int(64 * 0.51), 64]


@pytest.mark.parametrize("metric", MOST_POINTS)
def test_whatever_a_student_does_points_have_bounds(metric: str) -> None:
    wild = Told([[np.nan, 1.0], [1e300, -1e300], [np.inf, 0.0], [-5.0, 9.0]])
    with np.errstate(all="ignore"):
        given = Judgement(metric, np.array([99, -3])).points(wild, ROWS, LABELS)  # type: ignore[arg-type]
    assert given.min() >= 0
    assert given.max() <= MOST_POINTS[metric]


@pytest.mark.parametrize("changes", [1, 2])
def test_the_choice_is_private_where_a_unit_has_several_points(changes: int) -> None:
    """All scores of two candidates up to 8, and a unit of up to 3 points that comes or changes, as fractions."""
    most, epsilon = 3, 0.7
    best = BestOf(epsilon, 2, most * changes)
    steps = range(most + 1) if changes == 1 else range(-most, most + 1)
    worst = Fraction(1)
    for scores in product(range(8), repeat=2):
        law = best.law(np.array(scores))
        for step in product(steps, repeat=2):
            other = best.law(np.array(scores) + step)
            worst = max(worst, *(max(p / q, q / p) for p, q in zip(law, other, strict=True)))
    assert worst <= below_exp(epsilon)
    careless = BestOf(epsilon, 2, changes)  # as if every unit had one point
    before, after = ([8, 8], [8, 8 + most]) if changes == 1 else ([8, 8], [8 - most, 8 + most])
    assert careless.law(np.array(before))[0] / careless.law(np.array(after))[0] > below_exp(epsilon)


@pytest.mark.parametrize(("metric", "sensitivity"), [("accuracy", 1), ("balanced", 16), ("auc", 64)])
def test_the_plan_pays_for_all_points(metric: str, sensitivity: int) -> None:
    draws = np.random.default_rng(0)
    rows, public = draws.normal(size=(300, 2)), draws.normal(size=(80, 2))
    made = PrivateClassifier(
        method="select:moments,cells/leaves", metric=metric, student="logistic", classes=("no", "yes"), seed=1
    ).fit(rows, np.where(rows[:, 0] > 0.8, "yes", "no"), public=public)
    assert made.plan_.stage("selection").parameters["sensitivity"] == sensitivity
    found = (made.predict(public) == "yes").mean()
    assert (made.student_.class_weights is None) == (metric != "balanced")
    assert found > 0
