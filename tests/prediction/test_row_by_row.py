"""Models of anybody: one row decides about its own label alone, and nothing said about a row leaves."""

import warnings

import numpy as np
import pytest

from mapl import PrivatePredictor, SemiPrivateClassifier
from mapl.errors import InvalidParameter
from mapl.noise import SeededCoins
from mapl.prediction.candidates.candidates import Constant, Cover, Trained
from mapl.prediction.hypotheses import Finite, Thresholds
from mapl.prediction.hypotheses.own_class import OwnClass, ours
from mapl.prediction.hypotheses.row_by_row import RowByRow, row_by_row
from mapl.prediction.predictors.two_stage import TwoStage, TwoStageSettings

X = np.random.default_rng(0).uniform(size=(500, 2))
Y = (X[:, 0] > 0.5).astype(int)


class Picky:
    """Fails for a whole table if one value is large, and quotes it."""

    def predict(self, X):
        if (X[:, 0] > 100).any():
            warnings.warn(f"large: {X}", stacklevel=1)
            raise IndexError(f"row has a value above 100: {X}")
        return np.ones(len(X), int)


class Crowd:
    """Labels by what else is in the table."""

    def predict(self, X):
        return np.full(len(X), int(len(X) < 2))


def test_a_row_that_fails_is_0_and_takes_no_other_along():
    rows = np.array([[1.0], [123456.0], [2.0], [1.0]])
    assert RowByRow(Picky()).predict(rows).tolist() == [1, 0, 1, 1]
    assert RowByRow(Crowd()).predict(rows).tolist() == [1, 1, 1, 1]
    assert RowByRow(Picky()).predict(rows[:0]).tolist() == []
    constant = Constant(1)
    assert row_by_row(constant) is constant


def test_each_distinct_row_is_asked_once_and_a_model_cannot_change_it():
    asked = []

    class Writes:
        def predict(self, X):
            asked.append(X[0, 0])
            X[:] = 7.0
            return np.array([1])

    rows = np.array([[1.0], [2.0], [1.0]])
    RowByRow(Writes()).predict(rows)
    assert sorted(asked) == [1.0, 2.0]
    assert rows[:, 0].tolist() == [1.0, 2.0, 1.0]


@pytest.mark.parametrize("finite", [False, True])
def test_a_record_outside_the_subset_moves_an_error_by_one_at_most(finite):
    points = np.tile([[0.0], [1.0]], (50, 1))
    labels = np.ones(100, int)
    planted = points.copy()
    planted[0] = 123456.0
    T = points[1:5]
    made = Cover(Finite.of([Picky()], n_features=1)) if finite else Trained(lambda X, y, seed: [Picky()])
    patterns = made.among(T, labels[:4], SeededCoins(0))
    before, after = (patterns.errors(S, labels).counts for S in (points, planted))
    assert np.abs(before - after).max() <= 1


def test_no_record_decides_whether_there_is_an_answer_and_none_is_quoted():
    planted = X.copy()
    planted[3] = 123456.0
    own = Finite.of([Constant(0), Picky()], n_features=2)
    told = PrivatePredictor(own, epsilon=1.0, classes=(0, 1), method="stable", n_queries=2).fit(planted, Y)
    assert set(told.answer([[0.9, 0.5], [0.9, 1.5]]).tolist()) <= {0, 1}
    SemiPrivateClassifier(own, classes=(0, 1), seed=1).fit(planted, Y, public=X[:5]).predict(planted[:4])
    settings = TwoStageSettings(500, 5, 0.1, 0.1, 50, 0.05, 1 << 58)
    assert TwoStage.fit(planted, Y, own, settings=settings).answer(X[0], SeededCoins(0)) in (0, 1)


class Foreign:
    """A class that anybody may write: with a trusted name, and counts of its own."""

    name, vc = "thresholds", 1

    def __init__(self, failure=None):
        self.failure = failure

    def patterns(self, T):
        if self.failure is not None:
            raise self.failure
        return [Constant(0), Picky()]

    def n_patterns(self, n_points):
        return 2


def test_of_an_own_class_only_the_rules_count():
    assert isinstance(ours(Thresholds()), Thresholds)
    found = ours(Foreign()).patterns(X)
    assert isinstance(ours(Foreign()), OwnClass)
    assert found.errors(X, np.ones(500)).counts.tolist() == [500, 0]
    assert len(ours(Foreign(ValueError("a row"))).patterns(X)) == 1
    with pytest.raises(InvalidParameter, match="too many"):
        ours(Foreign(InvalidParameter("too many"))).patterns(X)
    assert len(Cover(Foreign(InvalidParameter("too many"))).among(X, Y, SeededCoins(0))) == 1
