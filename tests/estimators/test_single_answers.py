"""The faces of single answers: what they take, what they refuse, and that nobody spends or learns by surprise."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from mapl import PrivatePredictor, SemiPrivateClassifier, SqliteLedger, StableClassifier
from mapl.data.tables.classes import Classes
from mapl.errors import (
    BudgetExhausted,
    CannotCalibrate,
    GuaranteeBroken,
    InvalidData,
    InvalidParameter,
    PlanMismatch,
    PrivacyWarning,
)
from mapl.release.ledger.memory import MemoryLedger
from mapl.students.student import train_student

WORLD = np.random.default_rng(0)
X = WORLD.uniform(size=(1500, 2))
Y = np.where(X[:, 0] > 0.5, "yes", "no")
ASKED = np.array([[0.05, 0.5], [0.95, 0.5]])
FACES = (PrivatePredictor, StableClassifier, SemiPrivateClassifier)


def predictor(**settings: Any) -> PrivatePredictor:
    return PrivatePredictor(**{"epsilon": 10.0, "classes": ("no", "yes"), "n_queries": 4} | settings).fit(X, Y)


@pytest.mark.parametrize("face", FACES)
def test_settings_are_those_of_scikit_learn(face: Any) -> None:
    one = face("thresholds", classes=(0, 1), seed=4)
    assert clone(one).get_params() == one.get_params()
    assert one.set_params(adjacency="add-remove").adjacency == "add-remove"
    with pytest.raises(NotFittedError):
        (one.predict if face is SemiPrivateClassifier else one.answer)(ASKED[:, :1])


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize(
    ("rows", "labels", "settings", "words"),
    [
        (X[:9], Y[:9], {"classes": None}, "never reads the classes off private labels"),
        (X[:9], Y[:9], {"classes": ("no", "maybe", "yes")}, "There are 3 classes; single answers are between two"),
        (X[:9], Y[:8], {}, "different lengths"),
        (X[:9], None, {}, "requires y to be passed"),
        (X[:9, 0], Y[:9], {}, "dimensions"),
        (X[:9], Y[:9], {"hypotheses": "forests"}, "choose one of thresholds"),
        (X[:9], Y[:9], {"hypotheses": "thresholds"}, "look at one feature and there are 2"),
        (X[:9], Y[:9], {"adjacency": "labels"}, "The adjacency is 'labels'"),
    ],
)
def test_what_does_not_fit_is_refused_in_words(
    face: Any, rows: Any, labels: Any, settings: dict[str, Any], words: str
) -> None:
    one = face(**{"classes": ("no", "yes")} | settings)
    more = {"public": X[:5]} if face is SemiPrivateClassifier else {}
    with pytest.raises((InvalidData, InvalidParameter), match=words):
        one.fit(rows, labels, **more)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"epsilon": True}, "epsilon is True"),
        ({"epsilon": 10**400}, "epsilon is a number beyond all bounds"),
        ({"delta": True}, "delta is True"),
        ({"seed": -1}, "seed must be a whole number"),
        ({"seed": True}, "seed must be a whole number"),
        ({"n_queries": 0}, "n_queries is 0"),
        ({"n_queries": 10**400}, "n_queries is too large"),
        ({"n_rows": 0, "adjacency": "add-remove"}, "n_rows is 0"),
        ({"n_rows": 10**400, "adjacency": "add-remove"}, "n_rows is too large"),
        ({"method": []}, "choose auto"),
        ({"alpha": "little"}, "alpha is little"),
        ({"hypotheses": "unions:101"}, "look at one feature"),
    ],
)
def test_hostile_settings_are_named_as_they_were_given(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidParameter, match=words):
        predictor(**settings)


def test_hostile_stability() -> None:
    for gamma in (True, "little", float("nan"), 0):
        with pytest.raises(InvalidParameter, match="gamma is"):
            StableClassifier(gamma=gamma, classes=("no", "yes")).fit(X[:50], Y[:50])
    with pytest.raises(CannotCalibrate, match="allow a larger gamma") as told:
        StableClassifier(gamma=1e-300, classes=("no", "yes")).fit(X[:50], Y[:50])
    assert len(str(told.value)) < 200
    clf = StableClassifier(gamma=0.4, classes=("no", "yes")).fit(X[:50], Y[:50])
    assert clf.poisoned(10**400) == 1
    with pytest.raises(InvalidParameter, match="There is 1 record"):
        clone(clf).fit(X[:1], Y[:1])
    for copied in (copy.deepcopy, pickle.dumps):
        with pytest.raises(GuaranteeBroken, match="never copied or pickled"):
            copied(clf)


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize("rows", [X[:9] + 0.123j, sparse.csr_array(X[:9] + 0.123j)])
def test_no_refusal_quotes_a_row(face: Any, rows: Any) -> None:
    more = {"public": X[:5]} if face is SemiPrivateClassifier else {}
    with pytest.raises(InvalidData) as told:
        face(classes=("no", "yes")).fit(rows, Y[:9], **more)
    assert "0.123" not in str(told.value)


def test_answers_are_right_and_the_limit_holds() -> None:
    told = predictor()
    assert told.method_ == "padded-stumps"
    assert told.statement_.answered == 0
    assert told.answer(ASKED).tolist() == ["no", "yes"]
    assert told.answer(ASKED[::-1]).tolist() == ["yes", "no"]
    assert told.statement_.answered == 2
    told.answer(ASKED + 0.01)
    with pytest.raises(BudgetExhausted, match="nothing was spent"):
        told.answer(ASKED + 0.02)
    said = told.statement_
    assert (said.answered, said.private, said.delta) == (4, True, 0.0)
    assert said.epsilon <= said.guaranteed_epsilon <= 10.0
    assert said.plan_digest == told.plan_.digest
    assert told.bound_ is not None


def test_hostile_questions_are_refused_before_anything_is_spent() -> None:
    told = predictor(method="stable")
    for wrong in (
        np.array([[0.1, 0.2, 0.3]]),
        np.array([0.1, 0.2]),
        [["a", "b"]],
    ):
        with pytest.raises(ValueError, match=r"features|dimensions|text"):
            told.answer(wrong)
    assert told.statement_.answered == 0


@pytest.mark.parametrize("gap", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("method", ["padded-stumps", "stable", "gibbs", "realizable"])
def test_no_private_cell_decides_whether_there_is_an_answer(method: str, gap: float) -> None:
    told = predictor(method=method, realizable=True)
    with pytest.warns(PrivacyWarning, match="fit 2 in this process"):
        told.fit(np.where(X > 0.999, gap, X), Y)
    assert set(told.answer([[0.1, gap]]).tolist()) <= {"no", "yes"}


def test_a_gap_is_read_by_a_fixed_rule_wherever_it_stands() -> None:
    ledger = MemoryLedger()
    planted, public = np.where(X > 0.999, np.nan, X), np.where(X[:50] > 0.9, np.inf, X[:50])
    one = SemiPrivateClassifier("stumps", epsilon=5.0, classes=("no", "yes"), ledger=ledger)
    one.fit(planted, Y, public=public)
    gaps, filled = np.array([[np.nan, -np.inf], [np.inf, 0.5]]), np.array([[0.0, -1.8e307], [1.7e308, 0.5]])
    assert one.predict(gaps).tolist() == one.predict(filled).tolist()
    stable = StableClassifier("stumps", classes=("no", "yes")).fit(planted, Y)
    assert stable.confidence(gaps).shape == (2,)


def test_what_is_refused_is_refused_before_a_start_is_on_record() -> None:
    ledger = MemoryLedger()
    one = SemiPrivateClassifier("halfspaces", classes=("no", "yes"), ledger=ledger)
    with pytest.raises(InvalidParameter, match="too many points"):
        one.fit(X, Y, public=np.zeros((1500, 2)))
    assert ledger.export() == []


def test_where_records_are_added_stable_answers_want_a_declared_number() -> None:
    one = StableClassifier("stumps", gamma=0.05, classes=("no", "yes"), adjacency="add-remove")
    with pytest.raises(InvalidParameter, match="declare n_rows"):
        one.fit(X, Y)
    few = StableClassifier(
        "stumps", gamma=0.05, classes=("no", "yes"), adjacency="add-remove", n_rows=600, seed=0
    ).fit(X[:576], Y[:576])
    more = clone(few).fit(X[:577], Y[:577])
    assert (few._predictor.rate, few._predictor.subset) == (more._predictor.rate, more._predictor.subset)
    # A confidence over more subsets than there are records is told all the same: their number is private.
    assert 0 <= clone(few).fit(X[:3], Y[:3]).confidence(ASKED[:1])[0] <= 1


def test_one_class_is_enough_to_learn_from() -> None:
    told = PrivatePredictor(epsilon=5.0, classes=("no", "yes")).fit(X, np.full(len(X), "yes"))
    assert told.answer(ASKED[:1]).tolist() == ["yes"]


def test_chances_are_refused_and_predicting_too() -> None:
    told = predictor()
    with pytest.raises(GuaranteeBroken, match="has no predict"):
        told.predict(ASKED)
    with pytest.raises(GuaranteeBroken, match="The chances of answers are private"):
        told.predict_proba(ASKED)
    assert not hasattr(told, "confidence")
    assert not hasattr(told, "score")
    assert told.statement_.answered == 0


def test_a_fitted_predictor_is_never_copied_and_tells_nothing_of_itself() -> None:
    told = predictor()
    for copied in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(GuaranteeBroken, match="never copied or pickled"):
            copied(told)
    assert "0." not in repr(told).replace("10.0", "")
    assert pickle.loads(pickle.dumps(clone(told))).epsilon == 10.0


def test_a_ledger_serves_one_fit(tmp_path: Path) -> None:
    with SqliteLedger(tmp_path / "ledger.sqlite") as ledger:
        told = predictor(ledger=ledger)
        told.answer(ASKED)
        assert ledger.progress("answers").state.answered == 2
        with pytest.raises(PlanMismatch, match="belongs to an earlier run"):
            told.fit(X, Y)
        with pytest.raises(GuaranteeBroken, match="never copied"):
            clone(told)
    with pytest.raises(InvalidParameter, match="ledger is of type str"):
        predictor(ledger="here")


def test_too_few_records_are_told_how_many_would_do() -> None:
    with pytest.raises(CannotCalibrate, match="1500 records are too few"):
        predictor(epsilon=0.1, alpha=0.2)
    with pytest.raises(InvalidParameter, match=r"\(n_rows\)"):
        predictor(adjacency="add-remove", method="stable")


@pytest.mark.parametrize("method", ["stable", "gibbs", "realizable"])
def test_every_method_has_a_face(method: str) -> None:
    told = predictor(method=method, realizable=True, epsilon=28.0, n_queries=2)
    assert told.method_ == method
    assert set(told.answer(ASKED).tolist()) <= {"no", "yes"}
    assert told.statement_.epsilon <= 28.0


def test_frames_are_read_by_their_names() -> None:
    frame = pd.DataFrame(X, columns=["a", "b"])
    told = PrivatePredictor(epsilon=10.0, classes=("no", "yes"), n_queries=2).fit(frame, Y)
    assert told.answer(pd.DataFrame(ASKED, columns=["a", "b"])).tolist() == ["no", "yes"]
    with pytest.raises(ValueError, match="feature names should match"):
        told.answer(pd.DataFrame(ASKED, columns=["b", "a"]))
    told.set_params(seed=1).fit(
        frame.assign(b="secret"), Y.copy()
    )  # text is a gap, as one odd cell would make all cells text


def test_a_semi_private_rule_is_released_once_and_predicts_for_free() -> None:
    ledger = MemoryLedger()
    clf = SemiPrivateClassifier("stumps", epsilon=2.0, classes=("no", "yes"), ledger=ledger)
    clf.fit(X, Y, public=X[:40] + 0.001)
    assert clf.score(X, Y) > 0.9
    said = clf.statement_
    assert (said.guaranteed_epsilon, said.epsilon, said.delta) == (2.0, 2.0, 0.0)
    assert ledger.progress("hypothesis").labels.tolist() == [
        int(one == "yes") for one in clf.predict(X[:40] + 0.001)
    ]
    with pytest.raises(PlanMismatch):
        clf.fit(X, Y, public=X[:40])
    free = pickle.loads(pickle.dumps(clf.set_params(ledger=None)))
    assert free.predict(ASKED).tolist() == clf.predict(ASKED).tolist()


def test_a_predictor_may_release_once_too() -> None:
    told = PrivatePredictor(epsilon=2.0, classes=("no", "yes"), method="semi-private")
    told.fit(X, Y, public=X[:40] + 0.001)
    assert told.answer(np.repeat(ASKED, 50, axis=0) + WORLD.uniform(0, 0.01, (100, 2))).shape == (100,)
    assert told.statement_.mechanism == "semi-private"
    with pytest.raises(InvalidParameter, match="Public rows go with"):
        told.fit(X, Y)


def test_stable_answers_and_a_stable_confidence() -> None:
    clf = StableClassifier("stumps", gamma=0.2, classes=("no", "yes"), seed=1).fit(X[:300], Y[:300])
    assert clf.stability_ <= 0.2
    assert clf.poisoned(1) == clf.stability_ <= clf.poisoned(4) <= 4 * 0.2
    assert "Stability" in clf.promise_
    answers = [clf.answer(ASKED).tolist() for _ in range(3)]
    assert ["no", "yes"] in answers
    low, high = clf.confidence(ASKED)
    assert low < 0.3 < 0.7 < high
    assert clf.confidence(ASKED).tolist() == [low, high]
    with pytest.raises(GuaranteeBroken, match="confidence"):
        clf.predict_proba(ASKED)
    with pytest.raises(GuaranteeBroken, match="has no predict"):
        clf.predict(ASKED)
    with pytest.raises(CannotCalibrate, match="give at least"):
        clone(clf).set_params(gamma=0.001).fit(X[:300], Y[:300])


def test_any_models_may_be_the_candidates() -> None:
    class Cut:
        def __init__(self, at: float) -> None:
            self.at = at

        def predict(self, rows: Any) -> Any:
            return (rows[:, 0] > self.at).astype(int)

    clf = StableClassifier(
        gamma=0.3, classes=("no", "yes"), train=lambda T, y, seed: [Cut(t) for t in T[:5, 0]], seed=0
    )
    assert "yes" in clf.fit(X[:200], Y[:200]).answer(np.repeat(ASKED[1:], 5, axis=0)).tolist()
    with pytest.raises(InvalidParameter, match="train is no function"):
        clf.set_params(train=3).fit(X[:200], Y[:200])


def test_answers_can_teach_a_student() -> None:
    public = WORLD.uniform(size=(30, 2))
    told = PrivatePredictor("stumps", epsilon=6.0, delta=1e-6, classes=("no", "yes"), n_queries=30).fit(X, Y)
    labels = (told.answer(public) == "yes").astype(np.int32)
    student = train_student(public, labels, classes=Classes(("no", "yes")), learner="ridge")
    fresh = WORLD.uniform(size=(500, 2))
    assert (student.predict_codes(fresh) == (fresh[:, 0] > 0.5)).mean() > 0.75
    assert told.statement_.guaranteed_epsilon <= 6.0
