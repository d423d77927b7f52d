"""The rule for a student's accuracy: limits, order, and a student that was really trained."""

from __future__ import annotations

import numpy as np
import pytest

from mapl.errors import InvalidParameter
from mapl.planning.planner.student import student_accuracy
from mapl.planning.votes.learning_curve import LearningCurve

CURVE = LearningCurve.parse("10:0.35,100:0.20,1000:0.16,10000:0.15")


def accuracy(labels: float, label: float = 0.85, plurality: float = 0.85) -> float:
    return student_accuracy(CURVE, labels=labels, label_accuracy=label, plurality_accuracy=plurality)


def test_many_labels_make_it_as_good_as_the_winner() -> None:
    assert accuracy(1e9) == pytest.approx(0.85, abs=0.005)
    assert accuracy(1e9, plurality=0.95) == pytest.approx(0.95, abs=0.005)


def test_no_labels_leave_guessing() -> None:
    assert accuracy(0) == 0.5
    assert student_accuracy(CURVE, labels=0, label_accuracy=0, plurality_accuracy=0.9, n_classes=4) == 0.25


def test_more_and_better_labels_help() -> None:
    by_number = [accuracy(n) for n in (1, 10, 50, 100, 1000, 10_000)]
    assert by_number == sorted(by_number)
    by_quality = [accuracy(300, label) for label in (0.5, 0.55, 0.7, 0.8, 0.85, 0.95)]
    assert by_quality == sorted(by_quality)
    assert by_quality[-1] == by_quality[-2]  # labels of easy questions do not make the winner better


def test_worthless_labels_teach_nothing() -> None:
    assert accuracy(300, 0.5) < 0.7
    assert 0.5 <= accuracy(1000, 0.0) <= 0.85


def test_labels_without_noise_count_for_more_than_rows_of_the_curve() -> None:
    assert 0.85 - accuracy(100) < CURVE.error(100) - CURVE.floor


@pytest.mark.parametrize("given", [{"labels": -1.0}, {"label_accuracy": 1.1}, {"plurality_accuracy": float("nan")}])
def test_senseless_numbers_are_refused(given: dict[str, float]) -> None:
    facts = {"labels": 10.0, "label_accuracy": 0.8, "plurality_accuracy": 0.8} | given
    with pytest.raises(InvalidParameter):
        student_accuracy(CURVE, **facts)


@pytest.mark.parametrize("changed", [0.0, 0.2])
def test_a_linear_student_is_met_within_a_point(changed: float) -> None:
    """Rows with 10% flipped labels; the student gets what the best rule says, of which a share was changed."""
    rng = np.random.default_rng(3)

    def error(n: int, flip: float) -> float:
        found = []
        for _ in range(150):
            X = rng.standard_normal((n, 5))
            y = np.where(rng.random(n) < flip, -1, 1) * np.sign(X[:, 0])
            weights = np.linalg.lstsq(X, y, rcond=None)[0]
            found.append(np.arccos(weights[0] / np.linalg.norm(weights)) / np.pi)
        return 0.1 + 0.8 * float(np.mean(found))  # against labels of which 10% are flipped

    curve = LearningCurve(tuple((float(n), error(n, 0.1)) for n in (40, 160, 640, 2560)))
    label = 0.9 * (1 - changed) + 0.1 * changed
    said = student_accuracy(curve, labels=300, label_accuracy=label, plurality_accuracy=0.9)
    assert said == pytest.approx(1 - error(300, changed), abs=0.01)
