"""A Pipeline that fits its steps on all private rows is refused before its last step spends."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from crowd import crowd
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, Normalizer, StandardScaler

from mapl import GuaranteeBroken, PrivateClassifier, PrivatePredictor, StableClassifier
from mapl.release.ledger.memory import MemoryLedger

TWO: dict[str, Any] = {"epsilon": 20.0, "classes": ("no", "yes")}


def classifier(**settings: Any) -> PrivateClassifier:
    return PrivateClassifier(**TWO | {"n_teachers": 20, "student": "logistic", "n_jobs": 1} | settings)


class Untold:
    """A step that says nothing about itself."""

    def fit(self, X: Any, y: Any = None) -> Untold:
        return self

    def transform(self, X: Any) -> Any:
        return X


@pytest.mark.parametrize(
    "steps",
    [
        [("scale", StandardScaler())],
        [("same", "passthrough"), ("scale", StandardScaler()), ("norm", Normalizer())],
        [("untold", Untold())],
        [("inner", make_pipeline(StandardScaler()))],
    ],
    ids=["scaler", "among others", "untold", "nested"],
)
def test_scalers_before_a_private_classifier(steps: list[Any]) -> None:
    people, ledger = crowd(), MemoryLedger()
    pipe = Pipeline([*steps, ("clf", classifier(ledger=ledger))])
    with pytest.raises(
        GuaranteeBroken, match=r"fitted on all private rows together .*Nothing was spent. Put it in"
    ):
        pipe.fit(people.X, people.y, clf__public=people.public)
    assert ledger.export() == []


def test_a_pipeline_around_a_pipeline() -> None:
    people = crowd()
    inner = make_pipeline(FunctionTransformer(), classifier())
    with pytest.raises(GuaranteeBroken, match=r"PrivateClassifier\(make_pipeline\(StandardScaler\(\), Logistic"):
        make_pipeline(StandardScaler(), inner).fit(
            people.X, people.y, pipeline__privateclassifier__public=people.public
        )


@pytest.mark.parametrize("face", [PrivatePredictor(**TWO), StableClassifier(classes=("no", "yes"))])
def test_single_answers_notice_it_too(face: Any) -> None:
    people = crowd()
    with pytest.raises(GuaranteeBroken, match="StandardScaler was fitted on all private rows"):
        make_pipeline(StandardScaler(), face).fit(people.X, people.y)


def test_what_learns_nothing_may_stand_before_it() -> None:
    people = crowd()
    pipe = make_pipeline(FunctionTransformer(np.tanh), classifier())
    pipe.fit(people.X, people.y, privateclassifier__public=np.tanh(people.public))
    assert pipe.score(people.public, people.truth) > 0.9


def test_where_features_are_public_only_steps_that_see_labels_are_refused() -> None:
    people = crowd()
    pipe = make_pipeline(StandardScaler(), classifier(adjacency="labels")).fit(people.X, people.y)
    assert pipe.score(people.public, people.truth) > 0.9
    for step in (SelectKBest(k=1), make_pipeline(StandardScaler(), SelectKBest(k=1))):
        with pytest.raises(GuaranteeBroken, match=f"{type(step).__name__} was fitted"):
            make_pipeline(step, classifier(adjacency="labels")).fit(people.X, people.y)


def test_the_right_way_round() -> None:
    people = crowd()
    clf = classifier(learner=make_pipeline(StandardScaler(), LogisticRegression()))
    assert clf.fit(people.X, people.y, public=people.public).score(people.public, people.truth) > 0.9


def test_a_seed_promises_nothing_that_could_be_broken() -> None:
    people = crowd()
    pipe = make_pipeline(StandardScaler(), classifier(seed=0))
    pipe.fit(people.X, people.y, privateclassifier__public=people.public)
    assert not pipe[-1].statement_.private
