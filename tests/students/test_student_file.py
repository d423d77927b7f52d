"""Student files come back bit for bit, and what would not be read again is never written."""

from __future__ import annotations

import json
import os
from hashlib import sha256
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from forger import of_numbers
from lightgbm import LGBMClassifier
from released_table import public_table
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    BaggingClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from xgboost import XGBClassifier

from mapl.data.tables.classes import Classes
from mapl.errors import InvalidParameter
from mapl.students import STRATEGIES, Student, Voting, check_storable, load, save, train_student
from mapl.students.contest import CANDIDATES
from mapl.students.file.student_file import dumps, loads
from mapl.teachers.learners.presets import PRESETS

TWO = Classes(("no", "yes"))


def some_student(learner: Any = "logistic", strategy: Any = "plain") -> Student:
    public = public_table(120)
    return train_student(public.rows, public.labels, classes=TWO, learner=learner, strategy=strategy)


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_comes_back_bit_for_bit(tmp_path: Path, preset: str) -> None:
    public = public_table(120)
    student = some_student(preset)
    save(student, tmp_path / "student.skops")
    again = load(tmp_path / "student.skops")
    np.testing.assert_array_equal(again.predict(public.rows), student.predict(public.rows))
    np.testing.assert_array_equal(again.predict(public.rows.to_pandas()), student.predict(public.rows))
    if hasattr(student.model, "predict_proba"):
        np.testing.assert_array_equal(again.predict_proba(public.rows), student.predict_proba(public.rows))


@pytest.mark.parametrize("preset", ["logistic", "hgb", "lgbm", "forest"])
def test_ensembles_come_back_bit_for_bit(preset: str) -> None:
    public, student = public_table(120), some_student(preset, Voting(3))
    again = loads(dumps(student))
    np.testing.assert_array_equal(again.predict_proba(public.rows), student.predict_proba(public.rows))


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_default_comes_back_bit_for_bit(strategy: str) -> None:
    public = public_table(400)
    student = train_student(
        public.rows, public.labels, classes=TWO, strategy=Voting(3) if strategy == "voting" else strategy
    )
    again = loads(dumps(student))
    np.testing.assert_array_equal(again.predict_proba(public.rows), student.predict_proba(public.rows))


@pytest.mark.parametrize("candidate", CANDIDATES, ids=lambda candidate: candidate.name)
def test_every_candidate_comes_back_bit_for_bit(candidate: Any) -> None:
    student, rows = of_numbers(candidate.build(150))
    np.testing.assert_array_equal(loads(dumps(student)).predict(rows), student.predict(rows))


@pytest.mark.parametrize(
    "learner",
    [
        BaggingClassifier(n_estimators=2, max_features=0.5),
        CalibratedClassifierCV(LinearSVC()),
        DecisionTreeClassifier(ccp_alpha=0.01),
        GradientBoostingClassifier(n_estimators=2),
        GridSearchCV(GaussianNB(), {"var_smoothing": [1e-9, 1e-2]}),
        HistGradientBoostingClassifier(max_iter=2, categorical_features=[0]),
        KNeighborsClassifier(algorithm="brute"),
        LGBMClassifier(n_estimators=2, min_child_samples=5, categorical_feature=[1], n_jobs=1, verbose=-1),
        VotingClassifier([("a", GaussianNB()), ("b", RandomForestClassifier(2))]),
        make_pipeline(FunctionTransformer(np.log1p), LogisticRegression()),
    ],
    ids=lambda learner: type(learner).__name__,
)
def test_estimators_of_known_libraries_come_back(learner: Any) -> None:
    student, rows = of_numbers(learner)
    again = loads(dumps(student))
    np.testing.assert_array_equal(again.predict(rows), student.predict(rows))
    assert again.predict(rows).dtype == np.int64


def test_what_a_file_says_about_a_student(tmp_path: Path) -> None:
    statement = '{"epsilon": 1}'
    student = train_student(
        pa.table({"ä": [0.0, 1.0, 2.0]}), np.zeros(3, dtype=int), classes=TWO, learner="ridge", strategy="voting"
    )
    save(student, tmp_path / "s.skops", statement=statement)
    again = load(tmp_path / "s.skops")
    digest = sha256(statement.encode()).hexdigest()
    assert again.statement_sha256 == digest
    assert loads(dumps(again)).statement_sha256 == digest
    for name in ("classes", "schema", "learner", "strategy", "n_labels", "on_matrix", "warnings"):
        assert getattr(again, name) == getattr(student, name), name
    with ZipFile(tmp_path / "s.skops") as archive:
        about = json.loads(archive.read("mapl.json"))
    assert about["classes"] == ["no", "yes"]
    assert about["schema"]["columns"][0]["name"] == "ä"
    assert about["statement_sha256"] == digest


def test_a_place_may_be_given_as_text(tmp_path: Path) -> None:
    student = some_student()
    save(student, str(tmp_path / "student.skops"))
    assert dumps(load(str(tmp_path / "student.skops"))) == dumps(student)
    with pytest.raises(InvalidParameter, match=r"student\.skops exists already"):
        save(student, str(tmp_path / "student.skops"))


def test_a_file_is_written_once(tmp_path: Path) -> None:
    path = tmp_path / "student.skops"
    save(some_student(), path)
    content = path.read_bytes()
    with pytest.raises(InvalidParameter, match="exists already; choose another file"):
        save(some_student(), path)
    assert path.read_bytes() == content
    with pytest.raises(InvalidParameter, match="cannot be written"):
        save(some_student(), tmp_path / "missing" / "student.skops")


class Mine(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A user's own classifier."""

    def fit(self, rows: Any, labels: Any) -> Mine:
        self.classes_ = np.unique(labels)
        return self

    def predict(self, rows: Any) -> Any:
        return np.full(len(rows), self.classes_[0])


@pytest.mark.parametrize(
    ("learner", "types"),
    [
        (XGBClassifier(n_estimators=1), "xgboost.core.Booster, xgboost.sklearn.XGBClassifier"),
        (Mine(), "Mine"),
        (KNeighborsClassifier(algorithm="kd_tree"), "sklearn.neighbors._kd_tree.KDTree"),
        (make_pipeline(FunctionTransformer(os.path.basename), Mine()), "posixpath.basename"),
        (
            LGBMClassifier(n_estimators=1, objective="cross_entropy", n_jobs=1, verbose=-1),
            "would not be read again",
        ),
    ],
    ids=["xgboost", "own class", "kd tree", "function", "objective"],
)
def test_what_would_not_be_read_again_is_not_written(tmp_path: Path, learner: Any, types: str) -> None:
    if types == "posixpath.basename":
        student = Student(learner, TWO, some_student().schema, "function", "plain", 1, on_matrix=False)
    else:
        draws = np.random.default_rng(0)
        student = train_student(draws.normal(size=(50, 2)), np.arange(50) % 2, classes=TWO, learner=learner)
    with pytest.raises(InvalidParameter, match=r"safe to open.*Nothing was written. Choose a preset") as refusal:
        save(student, tmp_path / "student.skops")
    assert types in str(refusal.value)
    assert list(tmp_path.iterdir()) == []


def test_storable_is_checked_before_anything_is_spent() -> None:
    public = public_table(300)
    check_storable(None, public.rows, TWO)
    check_storable("forest", public.rows, TWO, strategy=Voting(2))
    check_storable("logistic", public.rows.slice(0, 1), TWO)
    with pytest.raises(InvalidParameter, match=r"it holds xgboost.core.Booster"):
        check_storable(XGBClassifier(n_estimators=1), public.rows.select(["age"]), TWO)
    with pytest.raises(InvalidParameter, match="cannot be fitted"):
        check_storable(LogisticRegression(), public.rows, TWO)
    with pytest.raises(InvalidParameter, match="There is no learner"):
        check_storable("forrest", public.rows, TWO)


def test_native_categories_of_a_frame_come_back() -> None:
    draws = np.random.default_rng(0)
    town = pd.Categorical(draws.choice(["Bonn", "Ulm", "Jena"], 200))
    rows = pd.DataFrame({"town": town, "age": draws.normal(size=200)})
    labels = (np.asarray(town) == "Ulm").astype(np.int32)
    for learner in (
        HistGradientBoostingClassifier(max_iter=5),
        LGBMClassifier(n_estimators=5, verbose=-1),
    ):
        student = train_student(rows, labels, classes=TWO, learner=learner)
        assert (student.predict_codes(rows) == labels).all()
        again = loads(dumps(student))
        np.testing.assert_array_equal(again.predict_proba(rows), student.predict_proba(rows))
        fewer = pd.DataFrame({"town": pd.Categorical(["Ulm", "Bonn"]), "age": [0.0, 0.0]})
        assert again.predict(fewer).tolist() == ["yes", "no"]
