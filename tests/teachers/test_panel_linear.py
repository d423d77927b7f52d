"""Linear teachers vote as `predict` does, each row by itself, and whatever is wrong with one moves its own vote."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression, Perceptron, RidgeClassifier, SGDClassifier
from sklearn.svm import SVC, LinearSVC

from mapl.data.tables.classes import Classes
from mapl.errors import InvalidData
from mapl.teachers import FALLBACK, as_learner
from mapl.teachers.panel import LinearPanel, Weights
from mapl.teachers.panel.keeping import as_weights
from mapl.teachers.panel.linear_weights import MOST, is_linear

WORLD = np.random.default_rng(6)
N_FEATURES = 7


def shards(classes: Classes, n: int, *, present: int | None = None) -> list[tuple[Any, Any]]:
    """Make shards of rows with labels; some of them lack a class."""
    made = []
    for k in range(n):
        rows = WORLD.normal(size=(40, N_FEATURES))
        labels = WORLD.integers(present or len(classes), size=40)
        labels = (labels + (k if present else 0)) % len(classes)
        made.append((rows, labels.astype(np.int32)))
    return made


def taught(model: Any, classes: Classes, given: list[tuple[Any, Any]]) -> tuple[LinearPanel, list[Any]]:
    learner = as_learner(model, classes)
    fitted = [learner.train(rows, labels, n_classes=len(classes), seed=k) for k, (rows, labels) in enumerate(given)]
    kept = [as_weights(one) for one in fitted]  # type: ignore[arg-type]
    return LinearPanel.of(kept, n_features=N_FEATURES, n_classes=len(classes)), fitted


def counted(votes: list[Any], n_classes: int) -> Any:
    stacked = np.stack(votes, axis=1)
    return np.stack([(stacked == c).sum(axis=1) for c in range(n_classes)], axis=1)


@pytest.mark.parametrize(
    "model", [RidgeClassifier(), LogisticRegression(), LinearSVC(), SGDClassifier(), Perceptron()], ids=repr
)
@pytest.mark.parametrize(
    "names", [("no", "yes"), ("yes", "no"), ("c", "a", "b"), ("7", "5", "6", "1")], ids=",".join
)
@pytest.mark.parametrize("present", [None, 2])
def test_votes_are_those_of_predict(model: Any, names: tuple[str, ...], present: int | None) -> None:
    classes = Classes(names)
    panel, fitted = taught(model, classes, shards(classes, 12, present=present))
    rows = WORLD.normal(size=(300, N_FEATURES))
    expected = counted([one(rows) for one in fitted], len(classes))
    assert np.array_equal(panel.votes(rows).counts, expected)
    assert np.array_equal(panel.votes(sp.csr_matrix(rows)).counts, expected)
    assert (panel.n_teachers, panel.n_classes) == (12, len(classes))


def test_only_what_decides_by_linear_scores_is_linear() -> None:
    assert is_linear(RidgeClassifier())
    assert is_linear(LogisticRegression())
    assert not is_linear(SVC(kernel="linear"))

    class Contrary(LogisticRegression):  # type: ignore[misc]
        def predict(self, X: Any) -> Any:
            return self.classes_[(self.decision_function(X) <= 0).astype(int)]

    assert not is_linear(Contrary())


def random_panel(n_classes: int, n_teachers: int = 60, n_features: int = 40) -> LinearPanel:
    width = 1 if n_classes == 2 else n_classes
    codes = np.tile(np.arange(n_classes), (n_teachers, 1))
    # Small whole weights: sums tie often, and a tie is where another order of adding would show.
    weights = [
        Weights(
            WORLD.integers(-2, 3, size=(width, n_features)) * 0.1,
            WORLD.integers(-1, 2, size=width) * 0.1,
            codes[k],
        )
        for k in range(n_teachers)
    ]
    return LinearPanel.of(weights, n_features=n_features, n_classes=n_classes)


@pytest.mark.parametrize("n_classes", [2, 3, 10])
def test_a_row_is_judged_by_itself_whatever_else_is_asked(n_classes: int) -> None:
    panel = random_panel(n_classes)
    rows = (WORLD.integers(-3, 4, size=(200, panel.n_features)) * 0.1).astype(np.float32)
    together = panel.votes(rows).counts
    alone = np.concatenate([panel.votes(rows[i : i + 1]).counts for i in range(len(rows))])
    assert np.array_equal(together, alone)
    order = WORLD.permutation(len(rows))
    assert np.array_equal(panel.votes(rows[order]).counts, together[order])
    assert np.array_equal(panel.votes(sp.csr_matrix(rows)).counts, together)


def test_without_exact_sums_ties_would_fall_by_rounding() -> None:
    """The control: the bare product of the same matrices decides some ties otherwise."""
    panel = random_panel(2, n_teachers=150)
    rows = (WORLD.integers(-3, 4, size=(8, panel.n_features)) * 0.1).astype(np.float64)
    exact = np.array([[_exact(panel, row, k) > 0 for k in range(150)] for row in rows])
    bare = rows @ panel.columns + panel.intercepts > 0
    assert (bare != exact).any()
    assert np.array_equal(panel.votes(rows).counts[:, 1], exact.sum(axis=1))


def _exact(panel: LinearPanel, row: Any, k: int) -> Fraction:
    products = (Fraction(float(x)) * Fraction(float(w)) for x, w in zip(row, panel.columns[:, k], strict=True))
    return sum(products, Fraction(float(panel.intercepts[k])))


numbers = st.floats(-1e6, 1e6, allow_subnormal=False).map(lambda x: 0.0 if abs(x) < 1e-100 else x)


@given(st.lists(st.tuples(numbers, numbers), min_size=1, max_size=6), numbers, st.booleans())
def test_a_score_has_the_sign_of_exact_arithmetic(
    pairs: list[tuple[float, float]], intercept: float, balanced: bool
) -> None:
    row, coef = (np.array(side) for side in zip(*pairs, strict=True))
    if balanced:  # cancel everything but a rest that only exact arithmetic sees
        row, coef = np.concatenate([row, row]), np.concatenate([coef, -coef])
    weights = Weights(coef[None], np.array([intercept]), np.array([0, 1]))
    panel = LinearPanel.of([weights], n_features=len(row), n_classes=2)
    assert panel.votes(row[None]).counts[0].tolist() == ([0, 1] if _exact(panel, row, 0) > 0 else [1, 0])


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("broken", [np.nan, np.inf, -np.inf, 2 * MOST])
def test_a_teacher_that_failed_casts_the_fixed_vote(n_classes: int, broken: float) -> None:
    width = 1 if n_classes == 2 else n_classes
    codes = np.arange(n_classes)
    sound = Weights(np.zeros((width, 2)), np.arange(width) + 1.0, codes)
    bad_coef = Weights(np.full((width, 2), broken), np.ones(width), codes)
    bad_intercept = Weights(np.zeros((width, 2)), np.full(width, broken), codes)
    narrow = Weights(np.zeros((width, 1)), np.ones(width), codes)
    panel = LinearPanel.of([sound, None, bad_coef, bad_intercept, narrow], n_features=2, n_classes=n_classes)
    for row in ([0.0, 0.0], [1.0, -5.0], [9.0, 9.0]):
        counts = panel.votes(np.array([row])).counts[0]
        assert counts[FALLBACK] == 4
        assert counts[n_classes - 1] == 1


def test_an_unknown_class_counts_for_the_fallback() -> None:
    weights = Weights(np.ones((1, 1)), np.zeros(1), np.array([1, -1]))
    panel = LinearPanel.of([weights], n_features=1, n_classes=2)
    assert panel.votes(np.array([[3.0], [-3.0]])).counts.tolist() == [[1, 0], [0, 1]]


def test_a_row_that_cannot_be_computed_with_fails_alone() -> None:
    panel = random_panel(2)
    rows = WORLD.normal(size=(4, panel.n_features))
    expected = panel.votes(rows).counts
    rows[1, 3], rows[2, 0] = np.nan, np.inf
    counts = panel.votes(rows).counts
    assert np.array_equal(counts[[0, 3]], expected[[0, 3]])
    assert (counts[[1, 2], FALLBACK] == panel.n_teachers).all()


def test_one_teacher_more_or_less_moves_one_vote() -> None:
    kept = [Weights(WORLD.normal(size=(1, 5)), WORLD.normal(size=1), np.array([0, 1])) for _ in range(30)]
    rows = WORLD.normal(size=(50, 5))
    whole = LinearPanel.of(kept, n_features=5, n_classes=2).votes(rows).counts
    for k in (0, 13, 29):
        other: list[Weights | None] = [*kept[:k], None, *kept[k + 1 :]]
        moved = np.abs(whole - LinearPanel.of(other, n_features=5, n_classes=2).votes(rows).counts).sum(axis=1)
        assert set(moved.tolist()) <= {0, 2}


def test_arrays_that_do_not_fit_together_are_refused() -> None:
    columns, intercepts, codes = np.zeros((3, 4)), np.zeros(4), np.tile([0, 1], (4, 1))
    LinearPanel.stored(columns, intercepts, codes)
    for forged in (
        (columns[:, :3], intercepts, codes),
        (columns, intercepts[:3], codes),
        (columns, intercepts, codes[:3]),
        (columns, intercepts, codes + 1),
        (columns, intercepts, codes - 1),
        (columns, intercepts, codes[:, :1]),
        (columns, intercepts, codes.astype(np.float64)),
        (columns.astype(np.float32), intercepts, codes),
        (columns + np.nan, intercepts, codes),
        (columns, intercepts + np.nan, codes),
        (columns, intercepts + np.inf, codes),
        (columns.ravel(), intercepts, codes),
        (columns, intercepts, codes[:0]),
    ):
        with pytest.raises(InvalidData, match="damaged or forged"):
            LinearPanel.stored(*forged)


def test_questions_of_another_width_are_refused() -> None:
    with pytest.raises(InvalidData, match="encoded by 3 features and the teachers learned from 40"):
        random_panel(2).votes(np.zeros((1, 3)))


def test_nothing_is_shown() -> None:
    panel = random_panel(2)
    assert repr(panel) == "LinearPanel(60 teachers, private)"
    assert repr(Weights(np.ones((1, 1)), np.ones(1), np.array([0, 1]))) == "Weights(private)"
