"""From released labels back to shares of votes, whatever the budget was."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier

from mapl.data.tables.classes import Classes
from mapl.mechanisms import Task
from mapl.mechanisms.registry import make
from mapl.noise import SeededCoins
from mapl.students import Student, train_student
from mapl.students.probabilities.by_votes import VoteLaw
from mapl.types import Budget, Floats, Tallies

N_TEACHERS, N_ROWS = 60, 1200


def world(n_classes: int) -> tuple[Floats, Floats]:
    """Return public rows, and the share of teachers that vote for each class there."""
    rows = np.random.default_rng(0).normal(size=(N_ROWS, 2))
    scores = np.stack([k * 1.5 * rows[:, 0] - k for k in range(n_classes)], axis=1)
    shares = np.exp(scores)
    return rows, np.asarray(shares / shares.sum(axis=1, keepdims=True))


def mechanism_for(name: str, epsilon: float, n_classes: int) -> Any:
    return make(name, Task(Budget(epsilon, 1e-5), N_TEACHERS, n_classes, N_ROWS))


def student_of(
    name: str, epsilon: float, n_classes: int, learner: Any = "logistic"
) -> tuple[Student, Floats, Floats]:
    rows, shares = world(n_classes)
    mechanism = mechanism_for(name, epsilon, n_classes)
    votes = np.random.default_rng(1).multinomial(N_TEACHERS, shares)
    coins = SeededCoins(2)
    labels = mechanism.release(mechanism.start(coins), Tallies.checked(votes), coins).labels
    law = VoteLaw.of(mechanism, N_TEACHERS, n_classes)
    classes = Classes(tuple("abcd"[:n_classes]))
    return train_student(rows, labels, classes=classes, learner=learner, law=law), rows, shares


@pytest.mark.parametrize(
    ("name", "epsilon", "n_classes"),
    [("link", 4.0, 2), ("link", 20.0, 2), ("noisy-max", 25.0, 4), ("link", 1.5, 3)],
)
def test_probabilities_are_nearer_to_shares_of_votes(name: str, epsilon: float, n_classes: int) -> None:
    student, rows, shares = student_of(name, epsilon, n_classes)
    before, after = replace(student, scale=None).predict_proba(rows), student.predict_proba(rows)
    assert student.scale is not None
    assert np.abs(after - shares).mean() < 0.8 * np.abs(before - shares).mean()
    assert -(shares * np.log(after)).sum() < -(shares * np.log(np.maximum(before, 1e-9))).sum()


def test_the_law_is_turned_round() -> None:
    law = VoteLaw.of(mechanism_for("link", 30.0, 2), N_TEACHERS, 2)
    assert law is not None
    told = (law.chances > 1e-3) & (law.chances < 1 - 1e-3)  # beyond, many shares are released alike
    chances = np.stack([1 - law.chances, law.chances], axis=1)[told]
    np.testing.assert_allclose(law.votes_for(chances)[:, 1], law.shares[told], atol=0.02)


def test_mechanisms_that_leave_questions_out_have_no_such_law() -> None:
    ladder = make("ladder", Task(Budget(2.0, 1e-5), N_TEACHERS, 2, N_ROWS), max_abstentions=9)
    assert VoteLaw.of(ladder, N_TEACHERS, 2) is None


def test_a_learner_that_half_of_the_labels_do_not_do_for_keeps_its_own_probabilities() -> None:
    student, rows, _ = student_of("link", 200.0, 2, KNeighborsClassifier(n_neighbors=N_ROWS - 1))
    assert student.scale is None
    assert student.predict_proba(rows).shape == (N_ROWS, 2)
