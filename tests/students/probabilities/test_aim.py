"""What a student is to be good at: how it decides then, and what is refused in words."""

from __future__ import annotations

import numpy as np
import pytest

from mapl.data.tables.classes import Classes
from mapl.errors import InvalidParameter
from mapl.students import Student, train_student
from mapl.students.probabilities.aim import Aim, class_shares, parse_class_weight, write_class_weight
from mapl.types import Floats

TWO = Classes(("no", "yes"))


def rare() -> tuple[Floats, Student]:
    """Return rows of which few are of the second class, and a student that hardly ever says so."""
    draws = np.random.default_rng(0)
    labels = (draws.random(2000) < 0.08).astype(np.int64)
    rows = draws.normal(size=(2000, 2)) + labels[:, None]
    return rows, train_student(rows, labels, classes=TWO, learner="logistic")


def test_balanced_finds_the_rare_class_and_keeps_probabilities() -> None:
    rows, student = rare()
    balanced = Aim("balanced").decided(student, rows)
    assert (student.predict_codes(rows) == 1).mean() < 0.05
    assert 0.15 < (balanced.predict_codes(rows) == 1).mean() < 0.5
    np.testing.assert_array_equal(balanced.predict_proba(rows), student.predict_proba(rows))
    border = balanced.predict_proba(rows)[:, 1] > class_shares(student, rows)[1]
    np.testing.assert_array_equal(balanced.predict_codes(rows) == 1, border)


@pytest.mark.parametrize("metric", ["accuracy", "auc"])
def test_other_metrics_leave_a_student_as_it_is(metric: str) -> None:
    rows, student = rare()
    assert Aim(metric).decided(student, rows) is student


def test_weights_are_thresholds() -> None:
    rows, student = rare()
    leaning = Aim(class_weight={"yes": 4.0}).decided(student, rows)
    np.testing.assert_array_equal(leaning.predict_codes(rows) == 1, student.predict_proba(rows)[:, 1] > 0.2)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"metric": "f1"}, "The metric is 'f1'; choose one of accuracy, balanced, auc"),
        ({"class_weight": {"yes": 0.0}}, "weight of class 'yes' is 0.0; it must be a finite number above 0"),
        ({"class_weight": {"yes": float("nan")}}, "weight of class 'yes' is nan"),
        ({"metric": "balanced", "class_weight": {"yes": 2.0}}, "leave one of them away"),
    ],
)
def test_what_makes_no_sense_is_refused(given: dict[str, object], words: str) -> None:
    with pytest.raises(InvalidParameter, match=words):
        Aim(**given)  # type: ignore[arg-type]


def test_weights_of_unknown_classes_are_refused() -> None:
    Aim(class_weight={"yes": 2.0}).check(TWO)
    with pytest.raises(InvalidParameter, match="weight for class 'maybe'; the declared classes are no, yes"):
        Aim(class_weight={"maybe": 2.0}).check(TWO)


@pytest.mark.parametrize("text", ["yes", "=3", "yes=much", ""])
def test_illegible_weights_are_refused(text: str) -> None:
    with pytest.raises(InvalidParameter, match="write them as yes=5,no=1"):
        parse_class_weight(text)


def test_weights_are_read_as_they_are_written() -> None:
    weights = {"a=b": 0.1, "no": 3.0}
    assert parse_class_weight(write_class_weight(weights) or "") == weights
    assert write_class_weight({}) is None
