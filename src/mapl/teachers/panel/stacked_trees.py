"""Trees and forests of all teachers, asked together: one walk from all roots at once, level by level.

scikit-learn's `predict` prepares itself for a tenth of a millisecond, and for a forest for some; a single question
to hundreds of teachers is mostly that. Here rows have 32 bits, thresholds 64, and the leaves of a forest are added
in its own order, as there: so the votes are the same, bit for bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapl.data.tables.classes import UNKNOWN
from mapl.teachers.ballot import FALLBACK
from mapl.teachers.learners.estimator import FittedEstimator
from mapl.teachers.panel.keeping import class_codes
from mapl.teachers.panel.models import ModelPanel
from mapl.teachers.panel.panel import count_votes
from mapl.types import Floats, Tallies

WALKERS_AT_ONCE = 1 << 18
MOST_TOGETHER = 256
"""More questions than these are asked teacher by teacher: scikit-learn walks faster once it is on its way."""

SINGLE, MANY = ("DecisionTreeClassifier", "ExtraTreeClassifier"), ("RandomForestClassifier", "ExtraTreesClassifier")


@dataclass(frozen=True, slots=True, repr=False)
class StackedTrees:
    """The nodes of all trees of all teachers that did not fail. Private.

    Parameters
    ----------
    roots
        The first node of every tree: teachers x trees.
    left, right
        Where to go on; a leaf leads to itself.
    shares
        What a leaf says about each class of its shard; -inf for a class that the shard does not have.
    codes
        For every teacher the class numbers of its own classes.
    """

    roots: NDArray[np.int64]
    feature: NDArray[np.int64]
    threshold: Floats
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    shares: Floats
    codes: NDArray[np.int64]

    @classmethod
    def of(cls, models: Sequence[FittedEstimator], n_classes: int) -> StackedTrees | None:
        """Put trees side by side; None where they are of other kinds, or not as scikit-learn makes them."""
        trees = [_trees_of(one.estimator) for one in models]
        if not trees or any(not own or len(own) != len(trees[0]) for own in trees):
            return None
        flat = [tree for own in trees for tree in own]
        widths = {int(one.estimator.n_features_in_) for one in models}
        sizes = np.array([tree.node_count for tree in flat], dtype=np.int64)
        starts = np.concatenate([[0], np.cumsum(sizes)])[:-1].astype(np.int64)
        first = np.repeat(starts, sizes)
        own = np.arange(len(first))
        left, right = (
            np.concatenate([getattr(tree, side) for tree in flat]) for side in ("children_left", "children_right")
        )
        leaf, end = left < 0, np.repeat(sizes, sizes)
        feature = np.where(leaf, 0, np.concatenate([tree.feature for tree in flat]))
        shares = np.full((len(first), n_classes), -np.inf)
        codes = np.full((len(models), n_classes), FALLBACK, dtype=np.int64)
        for k, one in enumerate(models):
            known = class_codes(one)
            codes[k, : len(known)] = np.where(known == UNKNOWN, FALLBACK, known)
            for tree, start in zip(trees[k], starts[k * len(trees[k]) :], strict=False):
                shares[start : start + tree.node_count, : len(known)] = tree.value[:, 0, : len(known)]
        # Whoever leads back, or elsewhere, was not made by scikit-learn, and might be walked for ever.
        forward = ((left + first > own) & (right + first > own) & (left < end) & (right < end)) | leaf
        if len(widths) != 1 or not forward.all() or not ((feature >= 0) & (feature < min(widths))).all():
            return None
        return cls(
            starts.reshape(len(models), -1),
            feature,
            np.where(leaf, np.inf, np.concatenate([tree.threshold for tree in flat])),
            np.where(leaf, own, left + first),
            np.where(leaf, own, right + first),
            shares,
            codes,
        )

    def votes(self, rows: NDArray[np.float32]) -> NDArray[np.int64]:
        """Return the class number that every teacher votes for: rows x teachers."""
        votes = np.empty((len(rows), len(self.roots)), dtype=np.int64)
        at_once = max(1, WALKERS_AT_ONCE // max(1, self.roots.size))
        for start in range(0, len(rows), at_once):
            leaves = self._leaves(rows[start : start + at_once])
            total = np.zeros((*leaves.shape[:2], self.shares.shape[1]))
            for tree in range(self.roots.shape[1]):
                total += self.shares[leaves[:, :, tree]]
            total /= self.roots.shape[1]
            votes[start : start + at_once] = self.codes[np.arange(len(self.roots)), total.argmax(axis=2)]
        return votes

    def _leaves(self, rows: NDArray[np.float32]) -> NDArray[np.int64]:
        """Walk every row from every root to a leaf."""
        at = np.broadcast_to(self.roots.ravel(), (len(rows), self.roots.size)).ravel().copy()
        base = np.repeat(np.arange(len(rows)) * rows.shape[1], self.roots.size)
        cells, todo = rows.ravel(), np.arange(len(at))
        while len(todo):
            here = at[todo]
            below = cells[base[todo] + self.feature[here]] <= self.threshold[here]
            there = np.where(below, self.left[here], self.right[here])
            at[todo] = there
            todo = todo[there != here]
        return at.reshape(len(rows), *self.roots.shape)

    def __repr__(self) -> str:
        return "StackedTrees(private)"


@dataclass(frozen=True, slots=True, repr=False)
class TreePanel:
    """Trees or forests that few questions are asked together; all else is asked teacher by teacher. Private."""

    trees: StackedTrees
    panel: ModelPanel

    @property
    def n_teachers(self) -> int:
        return self.panel.n_teachers

    @property
    def n_classes(self) -> int:
        return self.panel.n_classes

    def votes(self, rows: Any) -> Tallies:
        """Count the votes on prepared rows."""
        if type(rows) is not np.ndarray or rows.dtype.kind != "f" or rows.ndim != 2:
            return self.panel.votes(rows)
        models = [k for k, model in enumerate(self.panel.models) if model is not None]
        first = self.panel.models[models[0]]
        fits = isinstance(first, FittedEstimator) and rows.shape[1] == first.estimator.n_features_in_
        if not fits or len(rows) > MOST_TOGETHER:
            return self.panel.votes(rows)
        with np.errstate(over="ignore"):
            short = rows.astype(np.float32)
        whole = np.isfinite(short).all(axis=1)  # scikit-learn says itself what gaps mean to it
        if not whole.any():
            return self.panel.votes(rows)
        votes = np.full((int(np.count_nonzero(whole)), self.n_teachers), FALLBACK, dtype=np.int64)
        votes[:, models] = self.trees.votes(np.ascontiguousarray(short[whole]))
        counts = np.empty((len(rows), self.n_classes), dtype=np.int32)
        counts[whole] = count_votes(votes, self.n_classes).counts
        if not whole.all():
            counts[~whole] = self.panel.votes(rows[~whole]).counts
        return Tallies.checked(counts)

    def __repr__(self) -> str:
        return f"TreePanel({self.n_teachers} teachers, private)"


def stack_trees(panel: ModelPanel) -> ModelPanel | TreePanel:
    """Return a panel that asks trees together, where all its models are such."""
    models = [model for model in panel.models if model is not None]
    fitted = [model for model in models if isinstance(model, FittedEstimator)]
    if len(fitted) < len(models):
        return panel
    stacked = StackedTrees.of(fitted, panel.n_classes)
    return panel if stacked is None else TreePanel(stacked, panel)


def _trees_of(model: Any) -> list[Any]:
    """Return the trees of a classifier of scikit-learn's own, none of anything else."""
    import sklearn.ensemble
    import sklearn.tree

    name, kind = type(model).__name__, type(model)
    if getattr(model, "n_outputs_", None) != 1:
        return []
    if name in SINGLE and getattr(sklearn.tree, name) is kind:
        return [model.tree_]
    if name in MANY and getattr(sklearn.ensemble, name) is kind:
        return [tree.tree_ for tree in model.estimators_]
    return []
