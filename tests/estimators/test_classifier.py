"""The classifier: any form of rows, declared classes, one ledger per fit, and nothing private in what it keeps."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
import skops.io
from crowd import N_PRIVATE, Crowd, crowd
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import GridSearchCV, cross_val_score

import mapl.pipeline.votes.labelling as the_label
from mapl import PrivateClassifier, SqliteLedger
from mapl.data.units.shards import ShardKey
from mapl.errors import GuaranteeBroken, InvalidData, InvalidParameter, PlanMismatch
from mapl.planning.rules.teachers import teachers_for
from mapl.release.ledger.ledger import Ledger
from mapl.release.ledger.memory import MemoryLedger
from mapl.students import load, save
from mapl.types import Budget

SEVERAL_FITS = pytest.mark.filterwarnings("ignore:This is fit")
"""What several fits add up to is told elsewhere (`test_earlier_fits`)."""

ENOUGH = {"epsilon": 20.0, "delta": 1e-3, "n_teachers": 20, "mechanism": "link", "student": "logistic", "n_jobs": 1}
"""A budget with which these tests do not fail by chance, and a mechanism that needs no time to be chosen."""


def classifier(**settings: Any) -> PrivateClassifier:
    return PrivateClassifier(**{"classes": ("no", "yes"), **ENOUGH, **settings})


def fitted(people: Crowd | None = None, **settings: Any) -> PrivateClassifier:
    people = crowd() if people is None else people
    return classifier(**settings).fit(people.X, people.y, public=people.public)


# Rows


def as_columns(rows: Any) -> dict[str, Any]:
    """Three columns; the third is a text that says nothing about the label."""
    return {
        "size": rows[:, 0],
        "weight": rows[:, 1],
        "town": np.array(["oslo", "rome"], object)[(rows[:, 1] > 0) * 1],
    }


MATRICES: dict[str, Callable[[Any], Any]] = {
    "numpy": lambda rows: rows,
    "float32": lambda rows: rows.astype(np.float32),
    "lists": lambda rows: rows.tolist(),
    "objects": lambda rows: rows.astype(object),
    "csr": sp.csr_array,
    "coordinates": sp.coo_matrix,
}
TABLES: dict[str, Callable[[Any], Any]] = {
    "pandas": lambda rows: pd.DataFrame(as_columns(rows)),
    "pandas with categories": lambda rows: pd.DataFrame(as_columns(rows)).astype({"town": "category"}),
    "polars": lambda rows: pl.DataFrame(as_columns(rows)),
    "arrow": lambda rows: pa.table(as_columns(rows)),
    "record batch": lambda rows: pa.RecordBatch.from_pydict(as_columns(rows)),
}


@pytest.mark.parametrize("form", [*MATRICES, *TABLES])
def test_rows_may_have_any_form(form: str) -> None:
    people = crowd()
    made = (MATRICES | TABLES)[form]
    clf = classifier().fit(made(people.X), people.y, public=made(people.public))
    assert clf.score(made(people.public), people.truth) > 0.9
    assert clf.predict_proba(made(people.public)).shape == (len(people.truth), 2)
    if form in TABLES:
        assert clf.feature_names_in_.tolist() == ["size", "weight", "town"]
    else:
        assert not hasattr(clf, "feature_names_in_")
    assert clf.n_features_in_ == (3 if form in TABLES else 2)


def test_public_and_private_rows_have_one_form() -> None:
    people = crowd()
    with pytest.raises(
        InvalidData, match="public rows are a polars DataFrame and the private ones a pandas DataFrame"
    ):
        classifier().fit(TABLES["pandas"](people.X), people.y, public=TABLES["polars"](people.public))
    with pytest.raises(InvalidData, match="public rows are a sparse matrix and the private ones a numpy ndarray"):
        classifier().fit(people.X, people.y, public=sp.csr_array(people.public))


def test_public_columns_may_stand_in_another_order_but_not_be_others() -> None:
    people = crowd()
    frame, public = TABLES["pandas"](people.X), TABLES["pandas"](people.public)
    clf = classifier().fit(frame, people.y, public=public[["town", "weight", "size"]])
    assert clf.score(public, people.truth) > 0.9
    with pytest.raises(InvalidData, match="'colour'"):
        classifier().fit(frame, people.y, public=public.rename(columns={"town": "colour"}))
    with pytest.raises(InvalidData, match="have 2 columns and the schema declares 1"):
        classifier().fit(people.X, people.y, public=people.public[:, :1])


@pytest.mark.parametrize("form", ["pandas", "polars", "arrow"])
def test_rows_to_predict_must_have_the_columns_of_the_fit(form: str) -> None:
    people, made = crowd(), TABLES[form]
    clf = classifier().fit(made(people.X), people.y, public=made(people.public))
    few = as_columns(people.public)
    missing, shuffled = ["size", "town"], ["town", "weight", "size"]
    kind = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "arrow": pa.table}[form]
    with pytest.raises(ValueError, match="seen at fit time, yet now missing:\n- weight"):
        clf.predict(kind({name: few[name] for name in missing}))
    with pytest.raises(ValueError, match="must be in the same order as they were in fit"):
        clf.predict(kind({name: few[name] for name in shuffled}))
    with pytest.warns(UserWarning, match="valid feature names"), pytest.raises(InvalidData, match="are a matrix"):
        clf.predict(np.zeros((2, 3)))


def test_words_about_private_rows_quote_nothing_and_count_nothing() -> None:
    people = crowd()
    secret = "Alice Example"

    def words(X: Any, y: Any, **more: Any) -> str:
        with pytest.raises((ValueError, TypeError)) as refused:
            classifier().fit(X, y, public=people.public, **more)
        assert refused.value.__cause__ is None
        return str(refused.value)

    ragged = people.X.tolist()
    ragged[7] = [4711.5]
    said = [
        words(people.X.astype(str), people.y.tolist()[:-1]),
        words(ragged, people.y),
        words(people.X[:, 0] * 0 + 4711.5, people.y),
        words(people.X[None], people.y),
        words(people.X, np.column_stack([people.y, people.y])),
        words(people.X, people.y[:-1]),
        words(people.X, people.y, groups=[secret]),
    ]
    for one in said:
        assert len(one) > 20
        for private in (secret, "4711", str(N_PRIVATE), str(N_PRIVATE - 1)):
            assert private not in one
    assert "lists of different lengths" in said[1]


def test_the_type_of_a_list_does_not_hang_on_one_row() -> None:
    whole = [[1, 2], [3, 4]]
    assert classifier()._rows(whole, reset=True).dtype == np.float64
    assert classifier()._rows(np.array(whole, np.uint8), reset=True).dtype == np.uint8


# Labels, classes, groups


@pytest.mark.parametrize(
    "names",
    [(0, 1), (-1, 1), (3, -7), (False, True), ("no", "yes"), ("yes", "no"), ("0", "1"), (1.0, 2.0)],
    ids=repr,
)
def test_classes_keep_their_type(names: Any) -> None:
    people = crowd(names)
    clf = fitted(people, classes=names)
    assert clf.classes_.tolist() == sorted(names)
    assert clf.predict(people.public).dtype == people.y.dtype
    assert clf.score(people.public, people.truth) > 0.9
    winner = clf.classes_[clf.predict_proba(people.public).argmax(axis=1)]
    assert (winner == clf.predict(people.public)).all()
    assert (clf.classes_[clf.released_] == people.truth).mean() > 0.9


@pytest.mark.parametrize("form", [list, pd.Series, pl.Series, pa.array, lambda y: pd.Series(y, dtype="category")])
def test_labels_may_have_any_form(form: Callable[[Any], Any]) -> None:
    people = crowd()
    clf = classifier().fit(people.X, form(people.y), public=people.public)
    assert clf.score(people.public, people.truth) > 0.9


@pytest.mark.parametrize(
    ("classes", "words"),
    [
        (None, "never reads the classes off private labels"),
        ("no,yes", "list the classes"),
        (("yes",), "at least two different ones"),
        (("yes", "yes"), "at least two different ones"),
        (("no", "yes "), "blanks around it"),
        (("no", ""), "blank"),
        (("no", None), "missing or of different types"),
    ],
)
def test_classes_that_do_not_fit_are_refused(classes: Any, words: str) -> None:
    with pytest.raises((InvalidParameter, InvalidData), match=words):
        fitted(classes=classes)


def test_a_declared_class_that_nobody_has_is_there_all_the_same() -> None:
    people = crowd()
    clf = fitted(people, classes=("no", "yes", "perhaps"))
    assert clf.classes_.tolist() == ["no", "perhaps", "yes"]
    assert clf.predict_proba(people.public).shape == (60, 3)


@pytest.mark.parametrize("form", [list, np.array, pd.Series, pl.Series, pa.array, pd.Categorical])
def test_groups_may_have_any_form(form: Callable[[Any], Any]) -> None:
    people = crowd()
    groups = form([f"p{i // 2}" for i in range(N_PRIVATE)])
    clf = classifier(adjacency="replace-one", n_teachers="auto")
    clf.fit(people.X, people.y, public=people.public, groups=groups)
    assert clf.plan_.unit == "group"
    assert clf.plan_.n_teachers == 22  # by the public rule, for 300 groups
    assert clf.statement_.unit == "one group, that is all records with one value of the column group"


@pytest.mark.parametrize("odd", [None, np.nan, "", "  "])
@SEVERAL_FITS
def test_rows_of_nobody_are_left_out(odd: Any) -> None:
    people, ids = crowd(), [f"p{i}" for i in range(N_PRIVATE)]
    wanted = classifier().fit(people.X, people.y, public=people.public, groups=ids)
    beside = np.vstack([people.X, [[1e9, 1e9]]]), [*people.y, "no"]
    found = classifier().fit(*beside, public=people.public, groups=[*ids, odd])
    assert np.array_equal(found.released_, wanted.released_)


@pytest.mark.parametrize("odd", ["Alice Example", None, 0, float("nan"), {"a"}], ids=repr)
@SEVERAL_FITS
def test_a_row_whose_label_is_no_class_is_left_out(odd: Any) -> None:
    people = crowd()
    wanted = classifier().fit(people.X, people.y, public=people.public)
    labels = np.empty(N_PRIVATE + 1, dtype=object)
    labels[:-1], labels[-1] = people.y, odd
    found = classifier().fit(np.vstack([people.X, [[1e9, 1e9]]]), labels, public=people.public)
    assert np.array_equal(found.released_, wanted.released_)


@pytest.mark.parametrize("odd", ["Alice Example", np.inf, None, "1e400"])
def test_no_private_cell_is_refused(odd: Any) -> None:
    people = crowd()
    rows = people.X.astype(object)
    rows[3, 1] = odd
    classifier().fit(rows, people.y, public=people.public)


# The budget and its ledger


def nothing_spent(ledger: Ledger) -> bool:
    return not ledger.entries()


@pytest.fixture(params=["memory", "sqlite"])
def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> Ledger:
    return MemoryLedger() if request.param == "memory" else SqliteLedger(tmp_path / "ledger.sqlite")


def test_a_fit_is_recorded_and_stated(ledger: Ledger) -> None:
    told = fitted(ledger=ledger).statement_
    assert told.private
    assert told.guaranteed_epsilon <= 20.0
    assert told.delta <= 1e-3
    assert told.ledger_head == ledger.head
    assert ledger.progress("labels").state.answered == told.answered == 60
    ledger.verify()


def test_a_ledger_serves_one_fit_and_never_passes_off_old_labels(ledger: Ledger) -> None:
    clf = fitted(ledger=ledger)
    head = ledger.head
    others = crowd(("yes", "no"), seed=1)  # the same plan, other people with other labels
    for again in (clf, classifier(ledger=ledger), classifier(ledger=ledger, epsilon=3.0)):
        with pytest.raises(PlanMismatch, match=r"belongs to an earlier run.*needs a new ledger"):
            again.fit(others.X, others.y, public=others.public)
    assert ledger.head == head


def test_of_two_fits_that_share_a_file_one_is_let_in(tmp_path: Path) -> None:
    first, second = (SqliteLedger(tmp_path / "ledger.sqlite") for _ in range(2))
    fitted(ledger=first)
    with pytest.raises(PlanMismatch, match="earlier run"):
        fitted(ledger=second)


def test_a_ledger_is_never_copied_so_searches_cannot_spend_it(ledger: Ledger) -> None:
    people, clf = crowd(), classifier(ledger=ledger)
    public = {"public": people.public}
    for attempt in (
        lambda: clone(clf),
        lambda: copy.deepcopy(clf),
        lambda: pickle.dumps(clf),
        lambda: skops.io.dumps(clf),
        lambda: cross_val_score(clf, people.X, people.y, params=public),
        lambda: GridSearchCV(clf, {"epsilon": [1.0, 2.0]}).fit(people.X, people.y, **public),
    ):
        with pytest.raises(GuaranteeBroken, match="never copied"):
            attempt()
    assert nothing_spent(ledger)


def test_seeded_clones_work_and_spend_nothing() -> None:
    people, clf = crowd(), classifier(seed=0)
    assert clone(clf).get_params() == clf.get_params()
    scores = cross_val_score(clf, people.X, people.y, cv=2, params={"public": people.public})
    assert (scores > 0.9).all()


def test_what_can_be_refused_is_refused_before_anything_is_spent(ledger: Ledger) -> None:
    people = crowd()
    for settings, words in (
        ({"n_teachers": 5000, "n_rows": 600}, "5000 teachers and, as you say, about 600 rows"),
        ({"learner": RidgeClassifier().fit(people.public, people.truth)}, "already fitted"),
        ({"learner": "no such"}, "There is no learner"),
        ({"learner": "moments"}, 'it is a method, method="moments"'),
        ({"student": "no such"}, "There is no learner"),
        ({"learner": LogisticRegression(C=-1)}, "failed in a rehearsal"),
        ({"student": LogisticRegression(C=-1)}, "cannot be fitted"),
        ({"strategy": "guessing"}, "strategy"),
        ({"epsilon": -1.0}, "epsilon is -1"),
        ({"adjacency": "other"}, "adjacency is 'other'"),
        ({"adjacency": "labels"}, "There are public rows, and"),
        ({"adjacency": "replace-one"}, "Replace-one"),
        ({"mechanism": "no such"}, "no such"),
        ({"ledger": "ledger.sqlite"}, "ledger is of type str"),
    ):
        with pytest.raises(InvalidParameter, match=words):
            fitted(people, **{"ledger": ledger, **settings})
    with pytest.raises(InvalidParameter, match="Public rows are needed"):
        classifier(ledger=ledger).fit(people.X, people.y)
    assert nothing_spent(ledger)
    assert fitted(people, ledger=ledger).statement_.answered == 60


def test_a_late_public_row_that_models_fail_on_is_seen_before_anything_is_spent(ledger: Ledger) -> None:
    people = crowd()
    public = np.tile(people.public, (5, 1))
    public[290, 1] = np.nan  # long after the rows that a rehearsal learns from
    with pytest.raises(InvalidParameter, match="LogisticRegression failed in a rehearsal"):
        classifier(learner=LogisticRegression(), ledger=ledger).fit(people.X, people.y, public=public)
    assert nothing_spent(ledger)


def test_what_was_paid_for_is_kept_even_without_a_student(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*given: Any, **named: Any) -> Any:
        raise InvalidData("no labels to learn from")

    clf = classifier(student=None)
    monkeypatch.setattr("mapl.pipeline.methods.teachers.train_student", fails)
    people = crowd()
    with pytest.raises(InvalidData, match="no labels"):
        clf.fit(people.X, people.y, public=people.public)
    assert clf.statement_.answered == len(clf.released_) == 60
    with pytest.raises(NotFittedError):
        clf.predict(people.public)


def test_a_mechanism_that_will_hardly_answer_is_warned_of() -> None:
    with (
        pytest.warns(UserWarning, match="Even a unanimous vote"),
        pytest.raises(InvalidData, match="nothing to learn"),
    ):
        fitted(mechanism="btt18", epsilon=1.0, settings={"max_abstentions": 10})


# Everything else that is asked of it


def test_only_labels_private_needs_no_public_rows() -> None:
    people = crowd()
    clf = classifier(adjacency="labels", n_teachers="auto").fit(people.X, people.y)
    assert clf.score(people.public, people.truth) > 0.9
    assert len(clf.released_) == N_PRIVATE // 5
    assert clf.statement_.unit == "the label of one record"


@SEVERAL_FITS
def test_an_estimate_of_the_error_may_choose_the_mechanism() -> None:
    clf = fitted(error_share=0.2, mechanism="auto")
    assert 0 <= clf.error_rate_ <= 0.3
    assert [stage.name for stage in clf.statement_.stages] == ["error", "labels"]
    assert clf.statement_.guaranteed_epsilon <= 20.0
    assert fitted().error_rate_ is None


@SEVERAL_FITS
def test_a_seed_makes_fits_equal_and_says_that_they_are_not_private() -> None:
    one, two = (fitted(seed=3, epsilon=2.0) for _ in range(2))
    assert one.released_.tolist() == two.released_.tolist()
    assert "NOT PRIVATE" in one.statement_.in_plain_words
    others = [fitted(epsilon=2.0).released_.tolist() for _ in range(2)]
    assert others[0] != others[1]


def test_probabilities_are_there_whatever_the_student() -> None:
    people = crowd()
    certain = fitted(student="ridge")
    chances = certain.predict_proba(people.public)
    np.testing.assert_array_equal(certain.classes_[chances.argmax(axis=1)], certain.predict(people.public))
    assert certain.score(people.public, people.truth) > 0.9


def test_the_student_can_be_saved_by_itself(tmp_path: Path) -> None:
    people, clf = crowd(), fitted()
    save(clf.student_, tmp_path / "student.skops")
    assert load(tmp_path / "student.skops").predict(people.public).tolist() == clf.predict(people.public).tolist()


def test_what_is_kept_and_shown_holds_nothing_private(monkeypatch: pytest.MonkeyPatch) -> None:
    key = ShardKey(bytes(range(100, 132)))
    ballots = []
    real = the_label.poll

    def poll(*given: Any, **named: Any) -> Any:
        ballots.append(real(*given, **named))
        return ballots[-1]

    monkeypatch.setattr(ShardKey, "fresh", lambda: key)
    monkeypatch.setattr(the_label, "poll", poll)
    people = crowd()
    private, public = TABLES["pandas with categories"](people.X), TABLES["pandas with categories"](people.public)
    private["town"] = private["town"].cat.add_categories("Canary Wharf")
    private.loc[3, "town"] = "Canary Wharf"
    private.loc[3, "size"] = 4711.25
    groups = [f"patient {i}" for i in range(N_PRIVATE)]
    clf = classifier(learner=LogisticRegression(), student="logistic", ledger=None)
    clf.set_params(learner="ridge").fit(private, people.y, public=public, groups=groups)

    counts = ballots[0].tallies().counts
    canaries = [b"Canary Wharf", b"patient 3", key.secret, key.secret.hex().encode()]
    canaries += [np.array(4711.25, kind).tobytes() for kind in ("<f8", "<f4", ">f8")] + [b"4711"]
    canaries += [counts.astype(kind)[:10].tobytes() for kind in (np.int8, np.int16, np.int32, np.int64)]

    def found(given: Any) -> list[bytes]:
        stored = pickle.dumps(given, protocol=4)
        return [canary for canary in canaries if canary in stored]

    assert found(clf) == []
    assert len(found((clf, private, groups, key, counts))) >= 5  # the search would find them
    assert clone(clf).__dict__.keys() == clf.get_params().keys() | {"_is_clone"}
    shown = repr(clf) + clf._repr_html_() + str(clf.statement_)
    assert not any(canary in shown.encode() for canary in canaries)
    again = pickle.loads(pickle.dumps(clf))
    assert again.predict(public).tolist() == clf.predict(public).tolist()


@pytest.mark.parametrize("method", ["moments", "teachers"])
@SEVERAL_FITS
def test_a_fitted_classifier_goes_through_skops(method: str) -> None:
    people = crowd()
    own = {} if method == "teachers" else {"n_teachers": None, "mechanism": "auto", "student": None}
    clf = classifier(method=method, **own)
    clf.fit(people.X, people.y, public=people.public)
    stored = skops.io.dumps(clf)
    unknown = skops.io.get_untrusted_types(data=stored)
    assert all(name.startswith(("mapl.", "sklearn.")) for name in unknown)
    again = skops.io.loads(stored, trusted=unknown)
    assert again.predict(people.public).tolist() == clf.predict(people.public).tolist()
    assert again.plan_ == clf.plan_
    assert again.statement_ == clf.statement_


def test_teachers_of_categories_are_as_many_as_on_the_command_line() -> None:
    # Rows of categories are seen through spectral coordinates, and the public rule then trains more teachers.
    world = np.random.default_rng(0)
    rows = pd.DataFrame(world.choice(list("abc"), size=(1200, 3)), columns=["u", "v", "w"])
    public = pd.DataFrame(world.choice(list("abc"), size=(80, 3)), columns=["u", "v", "w"])
    clf = PrivateClassifier(epsilon=100.0, classes=("no", "yes"), method="teachers", n_rows=1200, n_jobs=1, seed=1)
    clf.fit(rows, np.where(rows["u"] == "a", "yes", "no"), public=public, groups=np.arange(1200))
    assert clf.plan_.n_teachers == teachers_for(1200, Budget(100.0, 1e-5), spectral=True)[0]
    assert clf.plan_.n_teachers != teachers_for(1200, Budget(100.0, 1e-5))[0]
