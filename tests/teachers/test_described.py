"""A learner is described the same in every process, and differently where its settings differ."""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import BaggingClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from mapl.teachers import PRESETS, Command, Preset
from mapl.teachers.learners.description import describe_learner


def train(X: Any, y: Any) -> Any:
    raise NotImplementedError


def other(X: Any, y: Any) -> Any:
    raise NotImplementedError


class Plain:
    """An estimator without get_params, known by its class and its own words."""

    def __init__(self, depth: int) -> None:
        self.depth = depth

    def fit(self, X: Any, y: Any) -> None: ...

    def predict(self, X: Any) -> None: ...

    def __repr__(self) -> str:
        return f"Plain({self.depth})"


class Silent(Plain):
    __repr__ = object.__repr__


LEARNERS = {
    "auto": (lambda: None),
    "ridge": (lambda: "ridge"),
    "logistic": (lambda: "logistic"),
    "short": (lambda: Command("true {shard} {queries} {votes}")),
    "long": (lambda: Command("true --deep {shard} {queries} {votes}")),
    "timed": (lambda: Command("true {shard} {queries} {votes}", time_limit=3.0)),
    "alpha 1": (lambda: RidgeClassifier(alpha=1.0)),
    "alpha 2": (lambda: RidgeClassifier(alpha=2.0)),
    "pipeline": (lambda: make_pipeline(StandardScaler(), LogisticRegression(C=1.0))),
    "strict pipeline": (lambda: make_pipeline(StandardScaler(), LogisticRegression(C=0.1))),
    "function inside": (lambda: make_pipeline(FunctionTransformer(train), GaussianNB())),
    "other inside": (lambda: make_pipeline(FunctionTransformer(other), GaussianNB())),
    "deep": (lambda: BaggingClassifier(RidgeClassifier(alpha=3.0))),
    "deeper": (lambda: BaggingClassifier(RidgeClassifier(alpha=4.0))),
    "generator": (lambda: LogisticRegression(random_state=np.random.RandomState(0))),
    "function": (lambda: train),
    "other function": (lambda: other),
    "partial": (lambda: partial(train, y=1)),
    "other partial": (lambda: partial(train, y=2)),
    "plain": (lambda: Plain(1)),
    "plainer": (lambda: Plain(2)),
    "silent": (lambda: Silent(1)),
}


def test_what_differs_is_described_differently() -> None:
    texts = {name: describe_learner(make()) for name, make in LEARNERS.items()}
    assert len(set(texts.values())) == len(texts)


@pytest.mark.parametrize("name", LEARNERS)
def test_what_is_built_again_is_described_the_same(name: str) -> None:
    first, second = LEARNERS[name](), LEARNERS[name]()
    assert describe_learner(first) == describe_learner(second)
    assert "0x" not in describe_learner(first)


def test_other_settings_of_a_preset_are_another_learner(monkeypatch: pytest.MonkeyPatch) -> None:
    """A preset may change with mapl, or with the defaults of scikit-learn."""
    before = describe_learner("ridge")
    monkeypatch.setitem(PRESETS, "ridge", Preset("another", lambda: RidgeClassifier(alpha=9.0)))
    assert describe_learner("ridge") != before


def test_another_process_describes_alike() -> None:
    """Above all sets: their order differs from process to process."""
    code = (
        "from sklearn.preprocessing import FunctionTransformer as F\n"
        "from mapl.teachers.learners.description import describe_learner as described\n"
        "print(described(F(kw_args={'a': 1}, inv_kw_args=frozenset('abcdefgh'))), described('forest'))"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", code],
            check=True,
            capture_output=True,
            text=True,
            env={"PYTHONHASHSEED": str(seed)},
        ).stdout
        for seed in (1, 2)
    }
    assert len(said) == 1
