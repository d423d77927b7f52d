"""The classifier for several labels: tables of labels in, a table of predictions out, one statement."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from mapl import PrivateMultiLabelClassifier
from mapl.errors import GuaranteeBroken, InvalidData, PlanMismatch
from mapl.release.ledger.memory import MemoryLedger

WORLD = np.random.default_rng(0)
X = WORLD.normal(size=(900, 3))
X += 1.5 * np.sign(X)
PUBLIC = X[:80] + 0.01
Y, TRUTH = (X[:, :2] > 0).astype(int), (PUBLIC[:, :2] > 0).astype(int)

ENOUGH: dict[str, Any] = {
    "epsilon": 20.0,
    "delta": 1e-3,
    "n_teachers": 20,
    "mechanism": "link",
    "student": "logistic",
    "n_jobs": 1,
}


def test_two_labels_are_learned_for_one_budget() -> None:
    clf = PrivateMultiLabelClassifier(**ENOUGH).fit(X, Y, public=PUBLIC)
    assert (clf.predict(PUBLIC) == TRUTH).mean() > 0.9
    assert clf.labels_ == ("label 0", "label 1")
    assert clf.released_.shape == (80, 2)
    assert len(clf.students_) == 2
    assert clf.statement_.guaranteed_epsilon <= 20.0
    assert clf.statement_.private
    assert "one record" in clf.statement_.unit
    again = pickle.loads(pickle.dumps(clf))
    np.testing.assert_array_equal(again.predict(PUBLIC), clf.predict(PUBLIC))


def test_names_come_from_columns_and_classes_may_be_words() -> None:
    words = pd.DataFrame(np.where(Y == 1, "yes", "no"), columns=["smokes", "drinks"])
    clf = PrivateMultiLabelClassifier(**ENOUGH, classes=("no", "yes"), seed=1)
    clf.fit(X, words, public=PUBLIC, groups=np.arange(len(X)) // 3)
    assert clf.labels_ == ("smokes", "drinks")
    assert set(clf.predict(PUBLIC).ravel()) == {"no", "yes"}
    assert "group" in clf.statement_.unit
    assert not clf.statement_.private
    assert [stage.name for stage in clf.plan_.stages] == ["smokes", "drinks"]


def test_only_labels_may_be_private() -> None:
    clf = PrivateMultiLabelClassifier(**ENOUGH, adjacency="labels").fit(X, Y)
    assert (clf.predict(PUBLIC) == TRUTH).mean() > 0.9
    assert "the label of one record" in clf.statement_.unit


@pytest.mark.parametrize("y", [Y[:, 0], np.zeros((900, 0)), [[0], [0, 1]]])
def test_other_labels_are_refused(y: Any) -> None:
    with pytest.raises(InvalidData, match="no table of labels"):
        PrivateMultiLabelClassifier(**ENOUGH).fit(X, y, public=PUBLIC)


def test_missing_names_are_refused() -> None:
    with pytest.raises(InvalidData, match="2 columns and 1 labels are named"):
        PrivateMultiLabelClassifier(**ENOUGH, labels=("a",)).fit(X, Y, public=PUBLIC)


def test_a_ledger_serves_one_fit() -> None:
    clf = PrivateMultiLabelClassifier(**ENOUGH, ledger=MemoryLedger()).fit(X, Y, public=PUBLIC)
    with pytest.raises(PlanMismatch):
        clf.fit(X, Y, public=PUBLIC)
    with pytest.raises(GuaranteeBroken):
        clone(clf)
    with pytest.raises(GuaranteeBroken):
        copy.deepcopy(clf)
