"""Boosted trees that are asked together vote as scikit-learn's own `predict` does."""

from __future__ import annotations

import io
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
import skops.io
from numpy.typing import NDArray
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier
from sklearn.tree import DecisionTreeClassifier

from mapl.data.tables.classes import Classes
from mapl.teachers import FALLBACK, as_learner
from mapl.teachers.learners.estimator import FittedEstimator
from mapl.teachers.panel import ModelPanel, tree_nodes
from mapl.teachers.panel.stacked_boosting import StackedBoosting, StackedGradients
from mapl.teachers.panel.tree_panel import TreePanel, stack_trees

WIDTH = 5
MONOTONIC = HistGradientBoostingClassifier(max_iter=4, monotonic_cst=[1, 0, 0, -1, 0], min_samples_leaf=5)
HISTOGRAMS = [
    HistGradientBoostingClassifier(max_iter=7, min_samples_leaf=5),
    HistGradientBoostingClassifier(max_iter=3, max_leaf_nodes=4, min_samples_leaf=1, learning_rate=1.0),
    HistGradientBoostingClassifier(max_iter=30, early_stopping=True, n_iter_no_change=1, min_samples_leaf=5),
    MONOTONIC,
]
GRADIENTS = [
    GradientBoostingClassifier(n_estimators=6),
    GradientBoostingClassifier(n_estimators=4, init="zero", learning_rate=0.3, subsample=0.7),
    GradientBoostingClassifier(n_estimators=25, n_iter_no_change=1, max_features=2),
]


class OwnBoosting(HistGradientBoostingClassifier):  # type: ignore[misc]
    """A class of a user's own, which may do anything."""


def panel_of(model: Any, n_classes: int, *, gaps: bool, n_teachers: int = 9) -> ModelPanel:
    """Teachers of shards whose numbers meet thresholds; some shards lack a class or two, and one teacher failed."""
    generator = np.random.default_rng(7)
    classes = Classes(("b", "c", "a")[:n_classes])
    models: list[Any] = []
    for k in range(n_teachers):
        rows = np.round(generator.normal(size=(60, WIDTH)), 1)
        labels = ((rows[:, 0] > 0).astype(int) + (rows[:, 1] > 0.5)) % n_classes
        if n_classes == 3 and k % 3 == 1:
            labels = 1 + labels % 2
        if gaps and k == 6:
            labels[:] = 1  # scikit-learn's older kind refuses such a shard
        if gaps:
            rows[generator.random(rows.shape) < 0.1] = np.nan
        learner = as_learner(model, classes)
        models.append(None)
        with suppress(ValueError):  # a shard may lack what early stopping needs: such a teacher failed as well
            if k != 4:
                models[k] = learner.train(rows, labels.astype(np.int32), n_classes=n_classes, seed=k)
    return ModelPanel(tuple(models), n_classes, alone=False)


def questions(n: int) -> NDArray[np.float64]:
    """Rows on thresholds, with gaps, with numbers without end or too large for 32 bits; one is all gaps."""
    rows = np.round(np.random.default_rng(8).normal(size=(n, WIDTH)), 1)
    rows[3, 0], rows[4, 1], rows[5, 2], rows[6, 0], rows[7] = np.nan, np.inf, 1e60, -np.inf, np.nan
    return rows


@pytest.mark.parametrize(
    ("model", "n_classes"),
    [(model, n) for model in HISTOGRAMS + GRADIENTS for n in (2, 3) if (model, n) != (MONOTONIC, 3)],
)
def test_votes_are_those_of_predict(model: Any, n_classes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    panel = panel_of(model, n_classes, gaps=model in HISTOGRAMS)
    stacked = stack_trees(panel)
    assert isinstance(stacked, TreePanel)
    assert (stacked.n_teachers, stacked.n_classes) == (9, n_classes)
    rows = questions(32)
    expected = panel.votes(rows).counts
    assert (expected.max(axis=1) < 9).any()
    for at_once in (1 << 15, 40):  # however the walk is cut
        monkeypatch.setattr(tree_nodes, "WALKERS_AT_ONCE", at_once)
        np.testing.assert_array_equal(stacked.votes(rows).counts, expected)
        np.testing.assert_array_equal(stacked.votes(rows[:1]).counts, expected[:1])
    with np.errstate(over="ignore"):
        single = rows.astype(np.float32)
    np.testing.assert_array_equal(stacked.votes(single).counts, panel.votes(single).counts)


@pytest.mark.parametrize("model", [HISTOGRAMS[2], GRADIENTS[2]], ids=repr)
def test_shards_that_stopped_at_different_trees_are_stacked(model: Any) -> None:
    """How many trees a shard grew is private, so it must not decide who is asked how."""
    panel = panel_of(model, 2, gaps=False)
    grown = {
        one.estimator.n_iter_ if model in HISTOGRAMS else one.estimator.n_estimators_
        for one in panel.models
        if isinstance(one, FittedEstimator)
    }
    assert len(grown) > 1
    assert isinstance(stack_trees(panel), TreePanel)


@pytest.mark.parametrize("model", [HISTOGRAMS[0], GRADIENTS[0]], ids=repr)
def test_each_vote_is_that_of_its_teacher(model: Any) -> None:
    panel = panel_of(model, 3, gaps=False)
    fitted = [one for one in panel.models if isinstance(one, FittedEstimator)]
    stack = stack_trees(panel)
    assert isinstance(stack, TreePanel)
    rows = np.random.default_rng(9).normal(size=(300, WIDTH)).astype(stack.stack.numbers)
    expected = np.stack([model(rows) for model in fitted], axis=1)
    assert len(np.unique(expected)) == 3
    np.testing.assert_array_equal(stack.stack.votes(rows), expected)


@pytest.mark.parametrize("model", [HISTOGRAMS[0], GRADIENTS[0]], ids=repr)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_scores_are_the_bits_of_scikit_learn(model: Any, n_classes: int) -> None:
    panel = panel_of(model, n_classes, gaps=False)
    fitted = [one for one in panel.models if isinstance(one, FittedEstimator)]
    stacked = stack_trees(panel)
    assert isinstance(stacked, TreePanel)
    assert isinstance(stacked.stack, StackedBoosting)
    stack, rows = stacked.stack, np.random.default_rng(9).normal(size=(40, WIDTH))
    rows = rows.astype(stack.numbers)
    ((_, leaves),) = stack.nodes.leaves(rows, stack.roots)
    scores = np.add.accumulate(stack.values[leaves], axis=3)[..., -1]
    for k, one in enumerate(fitted):
        own = one.estimator.decision_function(rows).reshape(len(rows), -1)
        np.testing.assert_array_equal(scores[:, k, : own.shape[1]], own)


@pytest.mark.parametrize("model", [HISTOGRAMS[0], GRADIENTS[0]], ids=repr)
def test_ties_are_those_of_predict(model: Any) -> None:
    """A score of nothing at all means the first class to the one kind, and the second to the other."""
    panel = panel_of(model, 2, gaps=False)
    for one in panel.models:
        if isinstance(one, FittedEstimator) and isinstance(one.estimator, HistGradientBoostingClassifier):
            one.estimator._baseline_prediction[:] = 0.0
            for (tree,) in one.estimator._predictors:
                tree.nodes["value"] = 0.0
        elif isinstance(one, FittedEstimator):
            one.estimator.init_ = "zero"
            for tree in one.estimator.estimators_.ravel():
                tree.tree_.value[:] = 0.0
    stacked = stack_trees(panel)
    assert isinstance(stacked, TreePanel)
    counts = stacked.votes(questions(8)[:3]).counts
    np.testing.assert_array_equal(counts, panel.votes(questions(8)[:3]).counts)
    assert counts[:, 1].tolist() == ([0] * 3 if model in HISTOGRAMS else [8] * 3)


def test_teachers_that_were_stored_vote_alike() -> None:
    panel = panel_of(HISTOGRAMS[0], 3, gaps=True)
    models = []
    for one in panel.models:
        assert one is None or isinstance(one, FittedEstimator)
        if one is not None:
            content = skops.io.dumps(one.estimator)
            trusted = skops.io.get_untrusted_types(file=io.BytesIO(content))
            one = FittedEstimator(skops.io.loads(content, trusted=trusted), one.classes, one.present)
        models.append(one)
    stacked = stack_trees(ModelPanel(tuple(models), 3, alone=False))
    assert isinstance(stacked, TreePanel)
    np.testing.assert_array_equal(stacked.votes(questions(20)).counts, panel.votes(questions(20)).counts)


@pytest.mark.parametrize("kind", [StackedBoosting, StackedGradients])
def test_many_questions_are_asked_teacher_by_teacher(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    panel = panel_of((HISTOGRAMS if kind is StackedBoosting else GRADIENTS)[0], 2, gaps=False)
    stacked = stack_trees(panel)
    assert isinstance(stacked, TreePanel)
    assert type(stacked.stack) is kind
    rows = questions(kind.most_together + 1)
    expected = panel.votes(rows).counts
    monkeypatch.setattr(kind, "votes", None)
    np.testing.assert_array_equal(stacked.votes(rows).counts, expected)
    assert (stacked.votes(rows[:2, :3]).counts[:, FALLBACK] == 9).all()  # rows that no teacher understands
    with pytest.raises(TypeError):
        stacked.votes(rows[:2])


@pytest.mark.parametrize("model", [HISTOGRAMS[0], GRADIENTS[0]], ids=repr)
def test_rows_of_gaps_alone_are_answered_too(model: Any) -> None:
    """With teachers and without: whether there is an answer at all must not tell who failed."""
    gaps = np.full((2, WIDTH), np.nan)
    for panel in (panel_of(model, 2, gaps=False), ModelPanel((None,) * 9, 2, alone=False)):
        np.testing.assert_array_equal(stack_trees(panel).votes(gaps).counts, panel.votes(gaps).counts)


@pytest.mark.parametrize(
    "model",
    [
        OwnBoosting(max_iter=2),
        HistGradientBoostingClassifier(max_iter=2, categorical_features=[2]),
        GradientBoostingClassifier(n_estimators=2, init=DecisionTreeClassifier(max_depth=1)),
    ],
    ids=repr,
)
def test_other_models_are_not_stacked(model: Any) -> None:
    generator = np.random.default_rng(5)
    rows = generator.integers(0, 4, size=(60, WIDTH)).astype(np.float64)
    labels = (rows[:, 2] > 1).astype(np.int32)
    fitted = as_learner(model, Classes(("0", "1"))).train(rows, labels, n_classes=2, seed=0)
    panel = ModelPanel((fitted, fitted), 2, alone=False)
    assert stack_trees(panel) is panel


def test_a_processor_that_rounds_otherwise_asks_scikit_learn(monkeypatch: pytest.MonkeyPatch) -> None:
    panel = panel_of(GRADIENTS[0], 2, gaps=False)
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    assert stack_trees(panel) is panel


def test_trees_that_lead_back_are_not_stacked() -> None:
    """A forged file could have a walk that never ends."""
    for field, target in (("left", 0), ("right", 10**6), ("feature_idx", WIDTH), ("is_categorical", 1)):
        forged = panel_of(HISTOGRAMS[0], 2, gaps=False)
        fitted = forged.models[1]
        assert isinstance(fitted, FittedEstimator)
        fitted.estimator._predictors[2][0].nodes[field][0] = target
        assert stack_trees(forged) is forged, field


def test_nothing_is_shown() -> None:
    for model, name in ((HISTOGRAMS[0], "StackedBoosting"), (GRADIENTS[0], "StackedGradients")):
        stacked = stack_trees(panel_of(model, 2, gaps=False))
        assert isinstance(stacked, TreePanel)
        assert (repr(stacked), repr(stacked.stack)) == ("TreePanel(9 teachers, private)", f"{name}(private)")
