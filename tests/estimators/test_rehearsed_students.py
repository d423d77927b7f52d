"""What comes after a release is tried out before it: a student that fails costs nothing."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from crowd import crowd
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from mapl import PrivateClassifier, PrivateMultiLabelClassifier, PrivateSoftClassifier
from mapl.errors import InvalidParameter
from mapl.pipeline.counts import counting as the_cells
from mapl.release.ledger.memory import MemoryLedger
from mapl.students import on_counts
from mapl.students.active import strategy as active_strategy

CHEAP: dict[str, Any] = {"epsilon": 50.0, "classes": ("no", "yes"), "n_jobs": 1}


class Shy(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Learns, and fails to predict probabilities."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Shy:
        self.classes_ = np.unique(y)
        return self

    def predict(self, X: Any) -> Any:
        return np.repeat(self.classes_[:1], len(X))

    def predict_proba(self, X: Any) -> Any:
        raise InvalidParameter("no chances today")


def spent(clf: Any, labels: Any, ledger: MemoryLedger, words: str) -> int:
    people = crowd()
    with pytest.raises((InvalidParameter, RuntimeError), match=words):
        clf.set_params(ledger=ledger).fit(people.X, labels, public=people.public)
    return len(ledger.export())


@pytest.mark.parametrize(
    "settings",
    [
        {"method": "cells", "n_cells": 20},
        {"learner": "ridge", "n_teachers": 20},
        {"learner": "ridge", "n_teachers": 20, "strategy": "active"},
    ],
    ids=["cells", "teachers", "active"],
)
def test_a_student_that_cannot_tell_probabilities(settings: dict[str, Any]) -> None:
    clf = PrivateClassifier(**CHEAP | settings, student=Shy())
    assert spent(clf, crowd().y, MemoryLedger(), "no chances today") == 0


def test_a_student_that_takes_no_weights() -> None:
    clf = PrivateClassifier(**CHEAP, method="cells", n_cells=20, student=KNeighborsClassifier())
    assert spent(clf, crowd().y, MemoryLedger(), "takes no weights") == 0


def test_the_default_student_is_rehearsed_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(self: Any, X: Any, y: Any, sample_weight: Any = None) -> Any:
        raise RuntimeError("a library that changed")

    monkeypatch.setattr(ExtraTreesClassifier, "fit", failing)
    assert [one.name for one in on_counts.CANDIDATES].count(on_counts.TREES) == 1
    clf = PrivateClassifier(**CHEAP, method="cells", n_cells=20)
    assert spent(clf, crowd().y, MemoryLedger(), "a library that changed") == 0
    monkeypatch.setattr(LogisticRegression, "fit", failing)
    clf = PrivateClassifier(**CHEAP, learner="ridge", n_teachers=20)
    assert spent(clf, crowd().y, MemoryLedger(), "a library that changed") == 0
    several = PrivateMultiLabelClassifier(epsilon=50.0, n_teachers=20, n_jobs=1)
    assert spent(several, (crowd().X > 0).astype(int), MemoryLedger(), "a library that changed") == 0


def test_a_student_of_several_labels() -> None:
    several = PrivateMultiLabelClassifier(epsilon=50.0, n_teachers=20, n_jobs=1, student=Shy())
    assert spent(several, (crowd().X > 0).astype(int), MemoryLedger(), "no chances today") == 0


def test_a_student_of_probabilities() -> None:
    clf = PrivateSoftClassifier(**CHEAP, n_teachers=20, student=LinearRegression(positive="maybe"))
    assert spent(clf, crowd().y, MemoryLedger(), "LinearRegression cannot be fitted") == 0


def test_a_choice_of_questions_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*given: Any) -> Any:
        raise RuntimeError("no choice")

    monkeypatch.setattr(active_strategy, "by_batches", failing)
    clf = PrivateClassifier(**CHEAP, learner="ridge", n_teachers=20, strategy="active")
    assert spent(clf, crowd().y, MemoryLedger(), "no choice") == 0


def test_a_warning_about_what_was_released_comes_last(monkeypatch: pytest.MonkeyPatch) -> None:
    people = crowd()
    monkeypatch.setattr(the_cells, "far_away", lambda *given: "far from all public rows")
    clf = PrivateClassifier(**CHEAP, method="cells", n_cells=20)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="far from all"):
            clf.fit(people.X, people.y, public=people.public)
    assert clf.statement_.guaranteed_epsilon <= 50.0
    assert clf.score(people.public, people.truth) > 0.8


class Unlisted(LogisticRegression):  # type: ignore[misc]
    """A learner of somebody's own, which no file that is safe to open may hold."""


@pytest.mark.parametrize("settings", [{"learner": "ridge", "n_teachers": 20}, {"method": "cells", "n_cells": 20}])
def test_a_student_that_cannot_be_stored(settings: dict[str, Any]) -> None:
    clf = PrivateClassifier(**CHEAP | settings, student=Unlisted())
    assert spent(clf, crowd().y, MemoryLedger(), "cannot be stored in a file that is safe to open") == 0
