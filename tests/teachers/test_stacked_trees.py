"""Trees and forests that are asked together vote as scikit-learn's own `predict` does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import BaggingClassifier, ExtraTreesClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

from mapl.data.tables.classes import Classes
from mapl.teachers import FALLBACK, as_learner
from mapl.teachers.learners.estimator import FittedEstimator
from mapl.teachers.panel import ModelPanel
from mapl.teachers.panel.stacked_trees import MOST_OF_FORESTS, MOST_OF_TREES, StackedTrees
from mapl.teachers.panel.tree_panel import TreePanel, stack_trees

CLASSES = Classes(("b", "c", "a"))
WIDTH = 5


class OwnTree(DecisionTreeClassifier):  # type: ignore[misc]
    """A class of a user's own, which may do anything."""


def panel_of(model: Any, n_teachers: int = 9, *, failed: int | None = 4) -> ModelPanel:
    """Teachers of shards whose numbers meet thresholds; some shards lack a class, and one teacher failed."""
    generator = np.random.default_rng(7)
    models: list[Any] = []
    for k in range(n_teachers):
        rows = np.round(generator.normal(size=(60, WIDTH)), 1)
        labels = ((rows[:, 0] > 0).astype(int) + (rows[:, 1] > 0.5)) % (2 if k % 3 == 1 else 3)
        labels = (labels + (k % 3 == 1)).astype(np.int32)
        models.append(as_learner(model, CLASSES).train(rows, labels, n_classes=3, seed=k))
    if failed is not None and failed < n_teachers:
        models[failed] = None
    return ModelPanel(tuple(models), 3, alone=False)


@pytest.mark.parametrize(
    "model",
    [
        DecisionTreeClassifier(),
        DecisionTreeClassifier(max_leaf_nodes=6),
        DecisionTreeClassifier(max_depth=2, class_weight="balanced"),
        ExtraTreeClassifier(),
        RandomForestClassifier(n_estimators=7),
        RandomForestClassifier(n_estimators=4, min_samples_leaf=5),
        ExtraTreesClassifier(n_estimators=6, bootstrap=True),
    ],
    ids=repr,
)
def test_votes_are_those_of_predict(model: Any) -> None:
    panel = panel_of(model)
    stacked = stack_trees(panel)
    assert isinstance(stacked, TreePanel)
    assert (stacked.n_teachers, stacked.n_classes) == (9, 3)
    rows = np.round(np.random.default_rng(8).normal(size=(32, WIDTH)), 1)  # on thresholds, too
    rows[3, 0], rows[4, 1], rows[5, 2] = np.nan, np.inf, 1e60
    expected = panel.votes(rows).counts
    np.testing.assert_array_equal(stacked.votes(rows).counts, expected)
    np.testing.assert_array_equal(stacked.votes(rows[:1]).counts, expected[:1])
    # Rows in 32 bits are the same rows.
    np.testing.assert_array_equal(stacked.votes(rows[6:].astype(np.float32)).counts, expected[6:])


def test_each_vote_is_that_of_its_teacher() -> None:
    panel = panel_of(RandomForestClassifier(n_estimators=5), failed=None)
    trees = StackedTrees.of([one for one in panel.models if isinstance(one, FittedEstimator)], 3)
    assert trees is not None
    rows = np.random.default_rng(9).normal(size=(300, WIDTH)).astype(np.float32)
    expected = np.stack([model(rows) for model in panel.models if model is not None], axis=1)
    np.testing.assert_array_equal(trees.votes(rows), expected)


@pytest.mark.parametrize(
    ("model", "most"),
    [(DecisionTreeClassifier(), MOST_OF_TREES), (RandomForestClassifier(n_estimators=2), MOST_OF_FORESTS)],
    ids=repr,
)
def test_what_is_no_small_matrix_of_numbers_is_asked_teacher_by_teacher(
    model: Any, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    panel = panel_of(model)
    stacked = stack_trees(panel)
    rows = np.random.default_rng(9).normal(size=(most + 1, WIDTH))
    expected = panel.votes(rows).counts
    monkeypatch.setattr(StackedTrees, "votes", None)
    np.testing.assert_array_equal(stacked.votes(rows).counts, expected)
    assert (stacked.votes(rows[:2, :3]).counts[:, FALLBACK] == 9).all()  # rows that no teacher understands
    with pytest.raises(TypeError):
        stacked.votes(rows[:2])


def test_rows_of_gaps_alone_are_answered_too() -> None:
    """With teachers and without: whether there is an answer at all must not tell who failed."""
    gaps = np.full((2, WIDTH), np.nan)
    for panel in (panel_of(DecisionTreeClassifier()), ModelPanel((None,) * 9, 3, alone=False)):
        np.testing.assert_array_equal(stack_trees(panel).votes(gaps).counts, panel.votes(gaps).counts)


@pytest.mark.parametrize("model", [OwnTree(), BaggingClassifier(n_estimators=2)], ids=repr)
def test_other_models_are_not_stacked(model: Any) -> None:
    panel = panel_of(model, 2, failed=None)
    assert stack_trees(panel) is panel


def test_teachers_of_different_kinds_are_not_stacked() -> None:
    tree, forest = panel_of(DecisionTreeClassifier(), 2), panel_of(RandomForestClassifier(n_estimators=2), 2)
    for models in ((*tree.models, *forest.models), (None,), (len, *tree.models)):
        mixed = ModelPanel(models, 3, alone=False)
        assert stack_trees(mixed) is mixed


def test_trees_that_lead_back_are_not_stacked() -> None:
    """A forged file could have a walk that never ends."""
    panel = panel_of(DecisionTreeClassifier(), 2, failed=None)
    for side, target in (("children_left", 0), ("children_right", 10**6), ("feature", WIDTH)):
        forged = panel_of(DecisionTreeClassifier(), 2, failed=None)
        fitted = forged.models[1]
        assert isinstance(fitted, FittedEstimator)
        getattr(fitted.estimator.tree_, side)[0] = target
        assert stack_trees(forged) is forged, side
    assert stack_trees(panel) is not panel


def test_nothing_is_shown() -> None:
    stacked = stack_trees(panel_of(DecisionTreeClassifier()))
    assert isinstance(stacked, TreePanel)
    assert repr(stacked) == "TreePanel(9 teachers, private)"
    assert (repr(stacked.stack), repr(stacked.stack.nodes)) == ("StackedTrees(private)", "TreeNodes(private)")
