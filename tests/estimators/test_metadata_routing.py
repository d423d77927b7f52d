"""With scikit-learn's metadata routing switched on every face is fitted as ever, and nothing is spent in vain."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import sklearn
from crowd import crowd
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestClassifier

from mapl import (
    PrivateClassifier,
    PrivateMultiLabelClassifier,
    PrivateOracle,
    PrivatePredictor,
    PrivateSoftClassifier,
    SemiPrivateClassifier,
    StableClassifier,
)

SEVERAL_FITS = pytest.mark.filterwarnings("ignore:This is fit")
"""What several fits add up to is told elsewhere (`test_earlier_fits`)."""

PEOPLE = crowd()
TWO: dict[str, Any] = {"epsilon": 20.0, "classes": ("no", "yes")}
CHEAP = TWO | {"n_jobs": 1}


@pytest.fixture(autouse=True)
def routing() -> Iterator[None]:
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"n_cells": 20},
        {"method": "cells", "n_cells": 20, "student": RandomForestClassifier(5)},
        {"learner": "ridge", "n_teachers": 20},
        {"learner": "ridge", "n_teachers": 20, "strategy": "voting"},
        {"learner": "ridge", "n_teachers": 20, "strategy": "active"},
        {"method": "select:teachers,cells", "n_teachers": 20, "n_cells": 20},
    ],
    ids=["default", "cells", "own student", "teachers", "voting", "active", "select"],
)
def test_classifier(settings: dict[str, Any]) -> None:
    clf = PrivateClassifier(**CHEAP | settings).fit(PEOPLE.X, PEOPLE.y, public=PEOPLE.public)
    assert clf.predict_proba(PEOPLE.public).shape == (60, 2)
    assert clf.statement_.guaranteed_epsilon <= 20.0


@pytest.mark.parametrize("student", [None, HistGradientBoostingRegressor(max_iter=5)])
def test_soft_classifier(student: Any) -> None:
    clf = PrivateSoftClassifier(**CHEAP, n_teachers=20, student=student)
    assert clf.fit(PEOPLE.X, PEOPLE.y, public=PEOPLE.public).predict_proba(PEOPLE.public).shape == (60, 2)


@SEVERAL_FITS
def test_oracle_and_several_labels() -> None:
    oracle = PrivateOracle(**CHEAP, n_teachers=20, n_queries=5).fit(PEOPLE.X, PEOPLE.y, public=PEOPLE.public)
    assert oracle.answer(PEOPLE.public[:2]).shape == (2,)
    several = PrivateMultiLabelClassifier(epsilon=50.0, n_teachers=20, n_jobs=1)
    several.fit(PEOPLE.X.copy(), (PEOPLE.X > 0).astype(int), public=PEOPLE.public)
    assert several.predict(PEOPLE.public).shape == (60, 2)


@SEVERAL_FITS
def test_single_answers() -> None:
    X, y = PEOPLE.X, np.asarray(PEOPLE.y)
    assert PrivatePredictor(**TWO).fit(X, y).answer(PEOPLE.public[:1]).shape == (1,)
    assert StableClassifier(classes=("no", "yes")).fit(X[:90], y[:90]).answer(PEOPLE.public[:1]).shape == (1,)
    semi = SemiPrivateClassifier(**TWO).fit(X.copy(), y.copy(), public=PEOPLE.public)
    assert semi.predict(PEOPLE.public).shape == (60,)
