"""Fits that add up are told of, and clones refuse to spend; neither looks at what is in a row."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from crowd import Crowd, crowd
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score

import mapl
from mapl import (
    GuaranteeBroken,
    PrivacyWarning,
    PrivateClassifier,
    PrivateOracle,
    PrivatePredictor,
    SemiPrivateClassifier,
    SqliteLedger,
    StableClassifier,
)
from mapl.estimators.guard import guarded
from mapl.estimators.guard.earlier_fits import EarlierFits
from mapl.estimators.guard.people import named_people
from mapl.release.ledger.memory import MemoryLedger

TWO: dict[str, Any] = {"epsilon": 20.0, "classes": ("no", "yes")}


def classifier(**settings: Any) -> PrivateClassifier:
    cheap = {"n_teachers": 20, "learner": "ridge", "student": "logistic", "n_jobs": 1}
    return PrivateClassifier(**TWO | cheap | settings)


def fitted(people: Crowd, **settings: Any) -> PrivateClassifier:
    return classifier(**settings).fit(people.X, people.y, public=people.public)


def test_a_second_fit_on_the_same_rows_says_what_both_cost() -> None:
    people = crowd()
    fitted(people, delta=1e-6)
    with pytest.warns(PrivacyWarning) as told:
        fitted(people, epsilon=10.0, delta=1e-6)
    (said,) = (str(one.message) for one in told)
    assert "This is fit 2 in this process" in said
    assert "if they are about the same people" in said
    assert "with mapl.people('clinic A'): fit(...)" in said
    assert "epsilon 30 at delta 2e-06 (adjacency add-remove, unit record)" in said
    assert "ledger=mapl.SqliteLedger(path)" in said
    assert told[0].filename == __file__


def test_other_promises_are_added_up_by_themselves() -> None:
    people = crowd()
    fitted(people)
    with pytest.warns(PrivacyWarning, match=r"unit record\) and epsilon 20 at delta 1e-05 \(adjacency labels"):
        classifier(adjacency="labels").fit(people.X, people.y)
    oracle = PrivateOracle(**TWO, n_teachers=20, n_queries=5, n_jobs=1)
    with pytest.warns(PrivacyWarning, match=r"fit 3 .* epsilon 40 at delta 2e-05 \(adjacency add-remove"):
        oracle.fit(people.X, people.y, public=people.public)


AGAIN: dict[str, Callable[[Any], tuple[Any, Any]]] = {
    "the same": lambda rows: (rows, rows),
    "columns of a frame": lambda rows: tuple(frame(rows)[["a", "b"]] for _ in range(2)),
    "a frame without a column": lambda rows: tuple(frame(rows).assign(c=1).drop(columns="c") for _ in range(2)),
    "slices": lambda rows: (rows[:], rows[:]),
    "folds": lambda rows: (rows[np.arange(len(rows))], rows[np.arange(len(rows))]),
    "copies": lambda rows: (rows.copy(), rows.copy()),
    "lists": lambda rows: (rows.tolist(), rows.tolist()),
    "arrays of a frame": lambda rows: tuple(frame(rows).to_numpy() for _ in range(2)),
    "selected by polars": lambda rows: tuple(pl.DataFrame(frame(rows)).select("a", "b") for _ in range(2)),
    "a frame and an array": lambda rows: (frame(rows), rows),
}
"""How the same rows are handed over twice from day to day, without being the same object."""


def frame(rows: Any) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["a", "b"])


@pytest.mark.parametrize("idiom", AGAIN)
def test_however_the_same_rows_are_handed_over_again_it_is_told(idiom: str) -> None:
    people = crowd()
    made = AGAIN[idiom]
    (one, again), (public, public_again) = made(people.X), made(people.public)
    classifier().fit(one, people.y.copy(), public=public)
    with pytest.warns(PrivacyWarning, match="fit 2 in this process"):
        classifier().fit(again, people.y.tolist(), public=public_again)


def test_what_is_in_the_rows_changes_no_word() -> None:
    """Other people are told of as the same ones would be: rows are private, and are not compared."""
    said = []
    for other in (crowd(), crowd(seed=1)):
        guarded.FITS = EarlierFits()
        fitted(crowd())
        with pytest.warns(PrivacyWarning) as told:
            fitted(other)
        said.append([str(one.message) for one in told])
    assert said[0] == said[1]


def test_other_people_are_told_apart_by_name() -> None:
    one, other = crowd(), crowd(seed=1)
    fitted(one)
    with mapl.people("clinic A"):
        fitted(other)  # a warning would be an error here
        with mapl.people("clinic B"):
            fitted(one)
        with pytest.warns(PrivacyWarning, match=r"fit 2 in this process on 'clinic A', .* epsilon 40 at"):
            fitted(other)
    with pytest.warns(PrivacyWarning, match="fit 2 in this process, "):
        fitted(one)


@pytest.mark.parametrize("name", ["", "  ", None, 7])
def test_people_have_a_name(name: Any) -> None:
    with pytest.raises(mapl.InvalidParameter, match="give a name in words"), mapl.people(name):
        pass


def test_a_name_ends_with_its_block_and_in_its_thread() -> None:
    with mapl.people("clinic A"):
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(named_people).result() is None
        assert named_people() == "clinic A"
    assert named_people() is None


@pytest.mark.parametrize("face", [PrivatePredictor, SemiPrivateClassifier])
def test_single_answers_add_up_too(face: Any) -> None:
    people = crowd()
    more = {"public": people.public} if face is SemiPrivateClassifier else {}
    face(**TWO).fit(people.X, people.y, **more)
    with pytest.warns(PrivacyWarning, match=r"epsilon 40 at delta 0 \(adjacency replace-one, unit record\)"):
        face(**TWO).fit(people.X, people.y, **more)


def test_ledgers_keep_books_and_seeds_spend_nothing() -> None:
    people = crowd()
    for _ in range(2):
        fitted(people, ledger=MemoryLedger())
        fitted(people, seed=0)
    with pytest.warns(PrivacyWarning, match="fit 3"):
        fitted(people)


def test_where_warnings_are_errors_nothing_is_spent(monkeypatch: pytest.MonkeyPatch) -> None:
    people = crowd()
    fitted(people)
    opened: list[str] = []
    real = MemoryLedger.open
    monkeypatch.setattr(MemoryLedger, "open", lambda *given, **named: opened.append("yes") or real(*given, **named))
    for _ in range(2):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(PrivacyWarning, match="fit 2"):  # the one before was not carried out
                fitted(people)
    assert opened == []


@pytest.mark.parametrize("adjacency", ["labels", "add-remove"])
def test_cross_validation_and_grid_search_are_refused_before_they_spend(
    adjacency: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    people, clf = crowd(), classifier(adjacency=adjacency)
    more = {"public": people.public} if adjacency == "add-remove" else {}
    monkeypatch.setattr(MemoryLedger, "open", lambda *given, **named: pytest.fail("spent"))
    strict: dict[str, Any] = {"cv": 2, "error_score": "raise"}
    for attempt in (
        lambda: cross_val_score(clf, people.X, people.y, params=more, **strict),
        lambda: GridSearchCV(clf, {"epsilon": [1.0]}, **strict).fit(people.X, people.y, **more),
        lambda: pickle.loads(pickle.dumps(clone(clf))).fit(people.X, people.y, **more),
    ):
        with pytest.raises(GuaranteeBroken, match=r"is a clone.*Nothing was spent.*Tune on public rows"):
            attempt()
    with pytest.raises(ValueError, match=r"is a clone"):  # scikit-learn's own words about fits that all failed
        cross_val_score(clf, people.X, people.y, params=more, cv=2)


@pytest.mark.parametrize("face", [PrivateOracle, PrivatePredictor, SemiPrivateClassifier])
def test_every_face_that_spends_refuses_its_clones(face: Any) -> None:
    people = crowd()
    more = {} if face is PrivatePredictor else {"public": people.public}
    with pytest.raises(GuaranteeBroken, match=f"This {face.__name__} is a clone"):
        clone(face(**TWO)).fit(people.X, people.y, **more)


def test_stable_answers_have_no_budget_and_may_be_cloned() -> None:
    people = crowd()
    stable = clone(StableClassifier(classes=("no", "yes")).fit(people.X, people.y)).fit(people.X, people.y)
    assert stable.stability_ <= 0.1


def test_a_clone_with_a_ledger_of_its_own_may_spend() -> None:
    people, ledger = crowd(), MemoryLedger()
    clone(classifier()).set_params(ledger=ledger).fit(people.X, people.y, public=people.public)
    assert ledger.export()


def test_grid_search_over_seeds_works() -> None:
    people = crowd()
    search = GridSearchCV(classifier(seed=0), {"epsilon": [10.0, 20.0]}, cv=2)
    assert search.fit(people.X, people.y, public=people.public).best_score_ > 0.9


def test_memory_is_of_one_process() -> None:
    assert isinstance(guarded.FITS, EarlierFits)
    code = "from mapl.estimators.guard.guarded import FITS; print(FITS._known)"
    shown = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, env=os.environ)
    assert shown.stdout == "{}\n"


def test_the_warning_can_be_caught_by_its_public_name() -> None:
    assert issubclass(mapl.PrivacyWarning, UserWarning)
    assert SqliteLedger is mapl.SqliteLedger
