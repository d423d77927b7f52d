"""Decision trees of scikit-learn as one list of nodes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapl.errors import InvalidParameter
from mapl.students.exports.steps import TREES, ModelStep, doubles
from mapl.types import Floats

LARGEST = float(np.finfo(np.float64).max)
"""In the place of an infinite threshold, which JSON cannot hold; no encoded number is above it."""


def boosted_trees(model: Any) -> ModelStep:
    """Return the trees of a fitted HistGradientBoosting model and what they start from."""
    trees = [(one, target) for step in model._predictors for target, one in enumerate(step)]
    if any(one.nodes["is_categorical"].any() for one, _ in trees):
        raise InvalidParameter("The student's trees split by sets of categories, which exports do not hold.")
    base = doubles(model._baseline_prediction).ravel()
    made = []
    for tree, target in trees:
        nodes = tree.nodes
        value = np.zeros((len(nodes), len(base)))
        value[:, target] = np.where(nodes["is_leaf"], nodes["value"], 0.0)
        leaf, left, right = nodes["is_leaf"].astype(bool), nodes["left"], nodes["right"]
        gaps = nodes["missing_go_to_left"].astype(bool)
        made.append(_nodes(leaf, nodes["feature_idx"], nodes["num_threshold"], left, right, gaps, value))
    return _joined(made, base)


def averaged_trees(models: list[Any]) -> ModelStep:
    """Return fitted trees of scikit-learn whose values are averaged."""
    made, n_outputs = [], 1
    for model in models:
        tree = model.tree_
        value = tree.value[:, 0, :] / len(models)
        leaf = tree.children_left == -1
        gaps = np.asarray(getattr(tree, "missing_go_to_left", np.zeros(len(leaf))), dtype=bool)
        value = np.where(leaf[:, None], value, 0.0)
        made.append(
            _nodes(leaf, tree.feature, tree.threshold, tree.children_left, tree.children_right, gaps, value)
        )
        n_outputs = value.shape[1]
    return _joined(made, np.zeros(n_outputs))


def _nodes(
    leaf: NDArray[np.bool_], feature: Any, threshold: Any, left: Any, right: Any, gaps: Any, value: Floats
) -> dict[str, NDArray[Any]]:
    own = np.arange(len(leaf))
    return {
        "feature": np.where(leaf, 0, feature).astype(np.int64),
        "threshold": np.where(leaf, 0.0, np.clip(threshold, -LARGEST, LARGEST)),
        # A leaf leads to itself, so that whoever walks may take as many steps as the deepest tree has.
        "left": np.where(leaf, own, left).astype(np.int64),
        "right": np.where(leaf, own, right).astype(np.int64),
        "missing_left": np.where(leaf, True, gaps).astype(np.int64),
        "value": value,
    }


def _joined(made: list[dict[str, NDArray[Any]]], base: Floats) -> ModelStep:
    sizes = [len(one["feature"]) for one in made]
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
    for one, start in zip(made, starts, strict=True):
        one["left"], one["right"] = one["left"] + start, one["right"] + start
    nodes = {name: np.concatenate([one[name] for one in made]) for name in made[0]}
    return ModelStep(TREES, {"roots": starts, **nodes, "base": base})
