"""What may be handed over as a learner, and what becomes of it on a shard."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import BaggingClassifier, RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from mapl.data.drafts.draft_schema import draft_schema
from mapl.data.tables.classes import Classes
from mapl.errors import InvalidParameter
from mapl.teachers import Command, as_learner, rehearse
from mapl.teachers.learners.estimator import EstimatorLearner
from mapl.teachers.learners.function import FunctionLearner

LETTERS = Classes(("a", "b", "c"))
DIGITS = Classes(("3", "5", "8"))
RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 3))
LABELS = (X[:, 0] > 0).astype(np.int32) + (X[:, 1] > 0.7).astype(np.int32)
PUBLIC = RNG.normal(size=(60, 3))


def frame(matrix: Any) -> Any:
    """Two numbers and a word, as a pandas frame."""
    words = np.where(matrix[:, 2] > 0, "up", "down")
    return pd.DataFrame({"a": matrix[:, 0], "b": matrix[:, 1], "word": words})


def codes(learner: Any, rows: Any, labels: Any, questions: Any) -> Any:
    predict = learner.train(rows, labels, n_classes=3, seed=1)
    return predict(learner.prepare(questions))


# What is a learner


@pytest.mark.parametrize("classes", [LETTERS, DIGITS])
@pytest.mark.parametrize(
    "estimator",
    [
        DecisionTreeClassifier(),
        LogisticRegression(),
        make_pipeline(StandardScaler(), RidgeClassifier()),
        BaggingClassifier(DecisionTreeClassifier(), n_estimators=3),
        GridSearchCV(DecisionTreeClassifier(), {"max_depth": [1, 3]}, cv=2),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_estimators_learn_the_declared_classes(estimator: Any, classes: Classes) -> None:
    learner = as_learner(estimator, classes)
    assert learner.name == type(estimator).__name__
    found = codes(learner, X, LABELS, X)
    assert found.dtype == np.int64
    assert (found == LABELS).mean() > 0.7


def test_class_names_are_handed_over_in_their_natural_type() -> None:
    seen: list[Any] = []

    def look(X: Any, y: Any) -> Any:
        seen.append(y[:2])
        return lambda Q: y[:1].repeat(len(Q))

    for classes in (LETTERS, DIGITS):
        assert codes(as_learner(look, classes), X, LABELS, X[:2]).tolist() == [LABELS[0]] * 2
    assert seen[0].dtype.kind == "U"
    assert seen[1].dtype.kind == "i"
    assert seen[1].tolist() == [[3, 5, 8][code] for code in LABELS[:2]]


def test_what_was_handed_over_stays_as_it_was() -> None:
    forest = RandomForestClassifier(n_estimators=2)
    as_learner(forest, LETTERS).train(X, LABELS, n_classes=3, seed=0)
    assert not hasattr(forest, "estimators_")
    assert forest.random_state is None


def test_open_random_states_are_seeded_however_deep() -> None:
    estimator = Pipeline(
        [("bag", BaggingClassifier(DecisionTreeClassifier(max_features=1), n_estimators=2, random_state=None))]
    )
    fitted = as_learner(estimator, LETTERS).train(X, LABELS, n_classes=3, seed=17).estimator
    assert fitted.named_steps["bag"].random_state == 17
    assert fitted.named_steps["bag"].estimator.random_state == 17
    chosen = as_learner(DecisionTreeClassifier(random_state=5), LETTERS)
    assert chosen.train(X, LABELS, n_classes=3, seed=17).estimator.random_state == 5


def test_an_estimator_without_parameters_is_copied() -> None:
    class Plain:
        def fit(self, X: Any, y: Any) -> None:
            self.most = max(set(y.tolist()), key=y.tolist().count)

        def predict(self, X: Any) -> Any:
            return [self.most] * len(X)

    plain = Plain()
    found = codes(as_learner(plain, LETTERS), X, LABELS, X[:3])
    assert found.tolist() == [np.bincount(LABELS).argmax()] * 3
    assert not hasattr(plain, "most")


def test_a_learner_is_a_learner() -> None:
    learner = as_learner("ridge", LETTERS)
    assert as_learner(learner, DIGITS) is learner
    assert learner.name == "ridge"


def test_a_function_needs_no_more_than_a_name() -> None:
    learner = as_learner(lambda X, y: lambda Q: ["a"] * len(Q), LETTERS)
    assert isinstance(learner, FunctionLearner)
    assert codes(learner, X, LABELS, X[:4]).tolist() == [0] * 4


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (DecisionTreeClassifier, r"is the class DecisionTreeClassifier; hand over an instance: DecisionTree"),
        (LinearRegression(), "LinearRegression predicts numbers; teachers vote for classes"),
        (3, "The learner is of type int; hand over the name of a preset"),
        (StandardScaler(), "The learner is of type StandardScaler"),
        ("logistics", "There is no learner 'logistics'; choose one of logistic, ridge, ridge-bins"),
    ],
)
def test_what_is_no_learner_is_refused(given: Any, words: str) -> None:
    with pytest.raises(InvalidParameter, match=words):
        as_learner(given, LETTERS)


def test_fitted_models_keep_silent() -> None:
    for given in (DecisionTreeClassifier(), lambda X, y: lambda Q: ["a"] * len(Q)):
        fitted = as_learner(given, LETTERS).train(X, LABELS, n_classes=3, seed=0)
        assert repr(fitted).endswith("(private)")


# Libraries


def without_class(code: int) -> tuple[Any, Any]:
    kept = code != LABELS
    return X[kept], LABELS[kept]


@pytest.mark.parametrize("missing", [0, 1, 2])
@pytest.mark.parametrize("classes", [LETTERS, DIGITS])
@pytest.mark.parametrize("nested", [False, True])
def test_xgboost_learns_from_shards_that_lack_a_class(missing: int, classes: Classes, nested: bool) -> None:
    xgboost = pytest.importorskip("xgboost")
    booster = xgboost.XGBClassifier(n_estimators=5, max_depth=3, n_jobs=1)
    learner = as_learner(make_pipeline(StandardScaler(), booster) if nested else booster, classes)
    rows, labels = without_class(missing)
    found = codes(learner, rows, labels, rows)
    assert set(found) <= set(labels)
    assert (found == labels).mean() > 0.8


@pytest.mark.parametrize("missing", [0, 1, 2])
def test_lightgbm_learns_from_shards_that_lack_a_class(missing: int) -> None:
    lightgbm = pytest.importorskip("lightgbm")
    learner = as_learner(lightgbm.LGBMClassifier(n_estimators=5, n_jobs=1, verbosity=-1), LETTERS)
    rows, labels = without_class(missing)
    found = codes(learner, pd.DataFrame(rows, columns=list("xyz")), labels, pd.DataFrame(rows, columns=list("xyz")))
    assert set(found) <= set(labels)
    assert (found == labels).mean() > 0.7


def test_skorch_learns_from_shards_that_lack_a_class() -> None:
    skorch = pytest.importorskip("skorch")
    torch = pytest.importorskip("torch")
    net = skorch.NeuralNetClassifier(
        torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Softmax(dim=-1)), max_epochs=3, verbose=0
    )
    rows, labels = without_class(0)
    found = codes(as_learner(net, LETTERS), rows.astype(np.float32), labels, rows.astype(np.float32))
    assert found.shape == labels.shape


def test_codes_outside_the_classes_of_a_shard_are_unknown() -> None:
    class Imitator(DummyClassifier):  # type: ignore[misc]
        """Predicts one class more than it has seen, as a network with an output per declared class may."""

        __module__ = "skorch.imitation"

        def predict(self, X: Any) -> Any:
            return np.arange(len(X)) % 3

    rows, labels = without_class(0)
    assert codes(as_learner(Imitator(), LETTERS), rows, labels, X[:4]).tolist() == [1, 2, -1, 1]


@pytest.mark.parametrize("make", [frame, lambda matrix: pl.from_pandas(frame(matrix))], ids=["pandas", "polars"])
def test_column_transformers_see_frames(make: Any) -> None:
    columns = ColumnTransformer(
        [("scale", StandardScaler(), ["a", "b"]), ("one", OneHotEncoder(handle_unknown="ignore"), ["word"])]
    )
    learner = as_learner(Pipeline([("columns", columns), ("model", LogisticRegression())]), LETTERS)
    assert (codes(learner, make(X), LABELS, make(X)) == LABELS).mean() > 0.8


def test_arrow_tables_become_pandas_frames() -> None:
    import pyarrow as pa

    table = pa.Table.from_pandas(frame(X), preserve_index=False)

    def look(X: Any, y: Any) -> Any:
        assert isinstance(X, pd.DataFrame)
        return lambda Q: y[: len(Q)] if isinstance(Q, pd.DataFrame) else None

    assert codes(as_learner(look, LETTERS), table, LABELS, table).tolist() == LABELS.tolist()


def test_presets_encode_questions_once() -> None:
    public = frame(PUBLIC)
    learner = as_learner("logistic", LETTERS, draft_schema(public))
    assert isinstance(learner, EstimatorLearner)
    prepared = learner.prepare(public)
    assert isinstance(prepared, np.ndarray)
    fitted = learner.train(frame(X), LABELS, n_classes=3, seed=0)
    assert isinstance(fitted.estimator, LogisticRegression)
    whole = learner.estimator.fit(frame(X), np.array(["a", "b", "c"])[LABELS])
    assert fitted(prepared).tolist() == LETTERS.codes(whole.predict(public).astype(str)).tolist()


# The rehearsal


def test_a_rehearsal_passes_in_silence(capfd: pytest.CaptureFixture[str]) -> None:
    rehearse(as_learner(DecisionTreeClassifier(), LETTERS), PUBLIC, 3, n_jobs=1)
    rehearse(as_learner(DecisionTreeClassifier(), LETTERS), PUBLIC[:1], 3, n_jobs=1)
    rehearse(as_learner("logistic", LETTERS, draft_schema(frame(PUBLIC))), frame(PUBLIC), 3, n_jobs=1)
    assert capfd.readouterr() == ("", "")


def test_a_rehearsal_tells_the_learners_own_words() -> None:
    def picky(X: Any, y: Any) -> Any:
        raise TypeError("I want at least 7 columns")

    with pytest.raises(InvalidParameter, match=r"learner picky failed .* TypeError: I want at least 7 columns"):
        rehearse(as_learner(picky, LETTERS), PUBLIC, 3, n_jobs=1)
    with pytest.raises(InvalidParameter, match=r"LogisticRegression failed .* could not convert string to float"):
        rehearse(as_learner(LogisticRegression(), LETTERS), frame(PUBLIC), 3, n_jobs=1)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (lambda X, y: lambda Q: np.zeros((len(Q), 3)), r"have shape \(60, 3\); expected one class per row"),
        (lambda X, y: None, "returned a NoneType; it must return a function"),
        (lambda X, y: lambda Q: ["?"] * len(Q), "none of its predictions is one of the declared classes"),
    ],
)
def test_a_rehearsal_finds_learners_that_would_only_cast_fallback_votes(given: Any, words: str) -> None:
    with pytest.raises(InvalidParameter, match=words):
        rehearse(as_learner(given, LETTERS), PUBLIC, 3, n_jobs=1)


def test_a_rehearsal_survives_a_learner_that_dies() -> None:
    def leaves(X: Any, y: Any) -> Any:
        import os

        os._exit(0)

    with pytest.raises(InvalidParameter, match="ended its process, or computed for longer than its time limit"):
        rehearse(as_learner(leaves, LETTERS), PUBLIC, 3, n_jobs=1)


def test_a_rehearsal_of_a_command_tells_how_it_ended() -> None:
    command = Command("false {shard} {queries} {votes}")
    with pytest.raises(InvalidParameter, match=r"learner false failed .* ended with code 1"):
        rehearse(as_learner(command, LETTERS), PUBLIC, 3, n_jobs=1)


def test_a_rehearsal_asks_every_public_row() -> None:
    rows = np.random.default_rng(0).normal(size=(300, 2))
    rows[250, 0] = np.nan  # beyond the sample that is learned from, and no linear model answers it
    with pytest.raises(InvalidParameter, match="NaN"):
        rehearse(as_learner(LogisticRegression(), Classes(("0", "1"))), rows, 2, n_jobs=1)


SPARING = """
import random, warnings
import numpy as np
import psutil
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier
from mapl.data.tables.classes import Classes
from mapl.teachers import as_learner, rehearse

def state():
    return random.getstate(), np.random.get_state()[1].tolist(), list(warnings.filters)

def rehearse_one(model):
    rows = np.random.default_rng(0).normal(size=(60, 3))
    rehearse(as_learner(model, Classes(("0", "1"))), rows, 2, n_jobs=1)
    return len(psutil.Process().children(recursive=True))

before = state()
print(rehearse_one(LogisticRegression()), state() == before, rehearse_one(DecisionTreeClassifier()) > 0)
"""


def test_a_rehearsal_starts_a_worker_only_for_teachers_that_workers_train() -> None:
    told = subprocess.run([sys.executable, "-c", SPARING], check=True, capture_output=True, text=True)
    assert told.stdout == "0 True True\n"
