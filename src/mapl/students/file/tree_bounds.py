"""Refuse decision trees that point outside themselves.

scikit-learn's trees are arrays of node numbers that compiled code follows without looking, so a crafted file of
trusted types could still crash the process that predicts with it, or read beside its memory. skops leaves these
types untrusted for that reason; mapl trusts them only after looking at every node.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapl.errors import InvalidData

BROKEN = (
    "The student file holds a decision tree that points outside itself; it is damaged or forged. Do not use it."
)


def refuse_bad_trees(model: Any) -> None:
    """Look at every tree inside a loaded model before it predicts for the first time."""
    from sklearn.ensemble._hist_gradient_boosting.common import PREDICTOR_RECORD_DTYPE
    from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor
    from sklearn.tree._tree import Tree

    for owner, part in parts_of(model):
        if isinstance(part, Tree):
            _check_tree(part, _width(owner))
        elif isinstance(part, TreePredictor):
            if part.nodes.dtype != PREDICTOR_RECORD_DTYPE or part.nodes.ndim != 1:
                raise InvalidData(BROKEN)
            _check_predictor(part, owner)


def _check_tree(tree: Any, width: int) -> None:
    if not 0 < tree.node_count <= tree.capacity:
        raise InvalidData(BROKEN)
    inner = tree.children_left != -1
    _check_nodes(inner, tree.children_left, tree.children_right, tree.feature, min(width, tree.n_features))


def _check_predictor(predictor: Any, owner: Any) -> None:
    nodes = predictor.nodes
    inner = nodes["is_leaf"] == 0
    _check_nodes(inner, nodes["left"], nodes["right"], nodes["feature_idx"], _width(owner))
    by_category = nodes[inner & (nodes["is_categorical"] != 0)]
    if by_category.size:
        known = np.asarray(owner._bin_mapper.is_categorical_, dtype=bool)
        sets = predictor.raw_left_cat_bitsets
        features = by_category["feature_idx"]
        if sets.ndim != 2 or sets.shape[1] != 8 or by_category["bitset_idx"].max() >= len(sets):
            raise InvalidData(BROKEN)
        if features.max() >= len(known) or not known[features].all():
            raise InvalidData(BROKEN)


def _check_nodes(
    inner: NDArray[np.bool_], left: NDArray[Any], right: NDArray[Any], feature: NDArray[Any], width: int
) -> None:
    """Children come after their parent, which rules out circles, and features exist."""
    n = len(inner)
    number = np.flatnonzero(inner)
    for child in (left, right):
        target = child[inner].astype(np.int64)
        if ((target <= number) | (target >= n)).any():
            raise InvalidData(BROKEN)
    used = feature[inner].astype(np.int64)
    if n == 0 or ((used < 0) | (used >= width)).any():
        raise InvalidData(BROKEN)


def _width(owner: Any) -> int:
    """Return how many columns the model that owns a tree checks its rows for."""
    width = vars(owner).get("n_features_in_") if hasattr(owner, "__dict__") else None
    if isinstance(width, bool) or not isinstance(width, (int, np.integer)):
        raise InvalidData(BROKEN)
    return int(width)


def parts_of(model: Any) -> Iterator[tuple[Any, Any]]:
    """Walk through a model and yield every object inside it with each estimator that hands it rows.

    An ensemble hands its rows to its members' trees unchecked, so a tree is looked at once for its own
    estimator and once for the ensemble around it.
    """
    seen: set[tuple[int, int]] = set()
    queue: list[tuple[tuple[Any, ...], Any]] = [((), model)]
    while queue:
        owners, part = queue.pop()
        key = (id(owners[0]) if owners else 0, id(part))
        if key in seen:
            continue
        seen.add(key)
        for owner in owners or (None,):
            yield owner, part
        if isinstance(part, dict):
            inside = list(part.values())
        elif isinstance(part, (list, tuple, set)):
            inside = list(part)
        elif isinstance(part, np.ndarray):
            inside = list(part.ravel()) if part.dtype == object else []
        elif isinstance(part, type):
            inside = []
        else:
            inside = list(vars(part).values()) if hasattr(part, "__dict__") else []
            if hasattr(part, "fit"):
                around = owners[:1] if type(part).__module__.startswith("sklearn.tree.") else ()
                owners = (part, *around)
        queue.extend((owners, each) for each in inside)
