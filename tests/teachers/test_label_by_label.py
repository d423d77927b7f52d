"""One teacher for several labels: a vote for every question and label, whatever becomes of one of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from mapl.data.tables.classes import Classes
from mapl.teachers import as_learner
from mapl.teachers.learners.label_by_label import LabelByLabel, repeat_questions

CLASSES = Classes(("0", "1"))
ROWS = np.random.default_rng(0).normal(size=(80, 2))
LABELS = np.stack([ROWS[:, 0] > 0, ROWS[:, 1] > 0, np.ones(80), np.zeros(80)], axis=1).astype(np.int32)


def votes(learner: Any, labels: Any = LABELS) -> Any:
    many = LabelByLabel(as_learner(learner, CLASSES), labels.shape[1])
    prepared = many.prepare(repeat_questions(ROWS, labels.shape[1]))
    assert len(prepared) == len(ROWS)
    return many.train(ROWS, labels, n_classes=2, seed=0)(prepared).reshape(labels.shape[1], len(ROWS)).T


def nearest(X: Any, y: Any) -> Any:
    return lambda rows: y[np.argmin(abs(rows[:, None] - X[None]).sum(axis=2), axis=1)]


def test_every_label_is_learned_and_a_label_of_one_class_is_that_class() -> None:
    np.testing.assert_array_equal(votes(nearest), LABELS)


def test_a_label_that_fails_does_not_silence_the_others() -> None:
    def picky(X: Any, y: Any) -> Any:
        if np.array_equal(y, LABELS[:, 1]):
            raise RuntimeError("cannot learn this")
        if np.array_equal(y, LABELS[:, 0] ^ 1):
            return lambda rows: [0]
        return nearest(X, y)

    labels = np.stack([LABELS[:, 0], LABELS[:, 1], LABELS[:, 0] ^ 1], axis=1)
    found = votes(picky, labels)
    np.testing.assert_array_equal(found[:, 0], labels[:, 0])
    assert (found[:, 1:] == -1).all()  # counted for the fallback class


def test_it_is_silent() -> None:
    many = LabelByLabel(as_learner(nearest, CLASSES), 4)
    assert many.name == "nearest, label by label"
    assert repr(many.train(ROWS, LABELS, n_classes=2, seed=0)) == "FittedLabels(private)"
