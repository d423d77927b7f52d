"""Whatever was fitted before is refused, however deep it sits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.ensemble import StackingClassifier, VotingClassifier
from sklearn.feature_extraction.text import HashingVectorizer, TfidfVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, Normalizer, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from mapl.data.drafts.draft_schema import draft_schema
from mapl.data.encoding.encoder import Encoder
from mapl.data.tables.classes import Classes
from mapl.errors import InvalidParameter
from mapl.teachers import as_learner
from mapl.teachers.learners.unfitted import refuse_fitted

X = np.random.default_rng(0).normal(size=(20, 2))
Y = np.arange(20) % 2
SCALER = StandardScaler().fit(X)

FITTED: dict[str, Any] = {
    "estimator": DecisionTreeClassifier().fit(X, Y),
    "pipeline": make_pipeline(StandardScaler(), LogisticRegression()).fit(X, Y),
    "first step": make_pipeline(SCALER, LogisticRegression()),
    "in a column transformer": make_pipeline(ColumnTransformer([("s", SCALER, [0])]), LogisticRegression()),
    "in a union in a pipeline": Pipeline([("u", FeatureUnion([("s", SCALER)])), ("m", LogisticRegression())]),
    "in a vote": VotingClassifier([("a", DecisionTreeClassifier()), ("b", DecisionTreeClassifier().fit(X, Y))]),
    "stacked": StackingClassifier([("a", DecisionTreeClassifier().fit(X, Y))]),
    "vocabulary": make_pipeline(TfidfVectorizer().fit(["a word"]), LogisticRegression()),
}
UNFITTED: dict[str, Any] = {
    "estimator": DecisionTreeClassifier(),
    "stateless first step": make_pipeline(HashingVectorizer(), LogisticRegression()),
    "function": make_pipeline(FunctionTransformer(np.log1p), Normalizer(), LogisticRegression()),
    "encoder": make_pipeline(Encoder.of(draft_schema(X)), LogisticRegression()),
    "passthrough": Pipeline([("none", "passthrough"), ("model", LogisticRegression())]),
    "vote": VotingClassifier([("a", DecisionTreeClassifier()), ("b", LogisticRegression())]),
    "same part twice": TransformedTargetRegressor(SCALER_FREE := StandardScaler(), transformer=SCALER_FREE),
}


@pytest.mark.parametrize("name", FITTED)
def test_fitted_parts_are_refused(name: str) -> None:
    with pytest.raises(InvalidParameter, match=r"is already fitted; .*sklearn\.base\.clone"):
        refuse_fitted(FITTED[name])


@pytest.mark.parametrize("name", ["estimator", "pipeline", "first step", "in a vote"])
def test_no_learner_is_made_of_what_was_fitted(name: str) -> None:
    with pytest.raises(InvalidParameter, match="is already fitted"):
        as_learner(FITTED[name], Classes(("no", "yes")))


@pytest.mark.parametrize("name", UNFITTED)
def test_unfitted_ones_pass(name: str) -> None:
    refuse_fitted(UNFITTED[name])


def test_frozen_estimators_are_refused_whatever_they_hold() -> None:
    for inside in (SCALER, StandardScaler()):
        with pytest.raises(InvalidParameter, match="FrozenEstimator"):
            refuse_fitted(make_pipeline(FrozenEstimator(inside), LogisticRegression()))


@pytest.mark.parametrize(("library", "name"), [("lightgbm", "LGBMClassifier"), ("xgboost", "XGBClassifier")])
def test_boosters_of_other_libraries(library: str, name: str) -> None:
    booster = getattr(pytest.importorskip(library), name)(n_estimators=2, n_jobs=1)
    refuse_fitted(booster)
    with pytest.raises(InvalidParameter, match=f"{name} is already fitted"):
        refuse_fitted(booster.fit(X, Y))


def test_estimators_of_nobodys_library() -> None:
    class Plain:
        def fit(self, X: Any, y: Any) -> Plain:
            self.seen_ = len(X)
            return self

        def predict(self, X: Any) -> Any:
            return X

    refuse_fitted(Plain())
    with pytest.raises(InvalidParameter, match="Plain is already fitted"):
        refuse_fitted(Plain().fit(X, Y))


def test_other_libraries_may_say_it_themselves() -> None:
    class Says:
        def __init__(self, answer: bool) -> None:
            self.answer = answer

        def fit(self, X: Any, y: Any) -> None: ...

        def is_fitted(self) -> bool:
            return self.answer

    refuse_fitted(Says(False))
    with pytest.raises(InvalidParameter, match="Says is already fitted"):
        refuse_fitted(Says(True))
