"""Moments, cells and teachers beside each other: the model of what noise costs, ranks and plain words."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mapl.planning import Agreement
from mapl.planning.planner.cells_offer import cells_offer
from mapl.planning.planner.question import Question
from mapl.planning.planner.ways import (
    NOISE_SHARE,
    USUAL_COLUMNS,
    LearningWay,
    cautions,
    gaussian_parameter,
    moments_way,
    other_ways,
    rank_ways,
)
from mapl.planning.votes.learning_curve import LearningCurve

CURVE = LearningCurve.parse("100:0.20,1000:0.16")
QUESTION = Question(delta=1e-6, epsilon=1.0, rows=20_000, queries=1000, curve=CURVE)


def way(method: str, accuracy: float | None, forecast: str | None, error: float | None = None) -> LearningWay:
    return LearningWay(method, "", 1e-6, accuracy, forecast, (), error)  # type: ignore[arg-type]


def accuracies(question: Question) -> list[float]:
    return [one.student_accuracy or 0.0 for one in other_ways(question, cells_offer(question))]


def test_the_model_is_the_curve_at_fewer_rows() -> None:
    mu = gaussian_parameter(1.0, 1e-6)
    fewer = 20_000 / (1 + NOISE_SHARE * 2 * USUAL_COLUMNS / (mu**2 * 20_000))
    assert moments_way(QUESTION).student_accuracy == pytest.approx(1 - CURVE.error(fewer))
    assert moments_way(QUESTION).forecast == "model"


@pytest.mark.parametrize("name", ["epsilon", "rows"])
def test_more_budget_and_more_rows_never_hurt(name: str) -> None:
    values = [0.05, 0.2, 1.0, 5.0] if name == "epsilon" else [2000, 10_000, 100_000, 10**7]
    found = [accuracies(replace(QUESTION, **{name: value})) for value in values]  # type: ignore[arg-type]
    for one in zip(*found, strict=True):
        assert list(one) == sorted(one)
        assert one[0] < one[-1]
        assert all(0.5 <= accuracy <= 1 - CURVE.floor for accuracy in one)


def test_units_that_may_change_cost_more() -> None:
    changed = replace(QUESTION, adjacency="replace-one", unit="patient_id", epsilon=0.1)
    assert all(a < b for a, b in zip(accuracies(changed), accuracies(replace(QUESTION, epsilon=0.1)), strict=True))


def test_without_a_curve_no_accuracy_is_said() -> None:
    for one in other_ways(replace(QUESTION, curve=None), cells_offer(replace(QUESTION, curve=None))):
        assert one.student_accuracy is one.forecast is None
        assert "nothing is said about the student" in one.assumes[0]


def test_pure_privacy_leaves_cells_and_settings_of_teachers_leave_teachers() -> None:
    pure = replace(QUESTION, delta=0.0)
    assert [one.method for one in other_ways(pure, cells_offer(pure))] == ["cells"]
    for asked in (replace(QUESTION, teachers=50), replace(QUESTION, curve=None, agreement=Agreement.default())):
        assert other_ways(asked, cells_offer(asked)) == ()


def test_rehearsed_forecasts_come_before_hopes_and_hopes_before_nothing() -> None:
    played, hoped = way("cells", 0.80, "rehearsed", 0.01), way("teachers", 0.95, "rule")
    silent = way("moments", None, None)
    assert rank_ways([silent, hoped, played]) == (played, hoped, silent)
    level = [way("teachers", 0.8302, "rule"), way("moments", 0.8299, "model"), way("cells", 0.85, "model")]
    assert [one.method for one in rank_ways(level)] == ["cells", "moments", "teachers"]


def test_little_is_said_to_be_little() -> None:
    enough = (way("moments", 0.90, "rehearsed", 0.01),)
    assert cautions(QUESTION, enough, 0.75) == ()
    (few,) = cautions(replace(QUESTION, rows=400, epsilon=0.5), enough, 0.75)
    assert few.startswith("Too few rows: about 400 units")
    assert "always naming that one: 75.0% of the public sample" in few
    (no_better,) = cautions(QUESTION, (way("moments", 0.755, "rehearsed", 0.01),), 0.75)
    assert "clearly better than always naming the commonest class, which is right on 75.0%" in no_better
    (pure,) = cautions(replace(QUESTION, delta=0.0), (way("cells", 0.90, "model"),), 0.75)
    assert pure.startswith("Moments are left out: they need some delta")
    (other,) = cautions(replace(QUESTION, rows=2000, epsilon=2.0), enough, 0.75)
    assert "DP-SGD may do better" in other
    assert "delta 1e-05; adjacency: one record is added or removed; unit: one record" in other
