"""Trees and forests of all teachers, asked together: one walk from all roots at once.

scikit-learn's `predict` prepares itself for a tenth of a millisecond, and for a forest for some; a single question
to hundreds of teachers is mostly that. Here rows have 32 bits, thresholds 64, and the leaves of a forest are added
in its own order, as there: so the votes are the same, bit for bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mapl.data.tables.classes import UNKNOWN
from mapl.teachers.ballot import FALLBACK
from mapl.teachers.learners.estimator import FittedEstimator
from mapl.teachers.panel.keeping import class_codes
from mapl.teachers.panel.tree_nodes import Tree, TreeNodes
from mapl.types import Floats, Silent

MOST_OF_TREES, MOST_OF_FORESTS = 256, 64
SINGLE, MANY = ("DecisionTreeClassifier", "ExtraTreeClassifier"), ("RandomForestClassifier", "ExtraTreesClassifier")


@dataclass(frozen=True, slots=True, repr=False)
class StackedTrees(Silent):
    """The nodes of all trees of all teachers that did not fail. Private.

    Parameters
    ----------
    roots
        The first node of every tree: teachers x trees.
    shares
        What a leaf says about each class of its shard; -inf for a class that the shard does not have.
    codes
        For every teacher the class numbers of its own classes.
    """

    nodes: TreeNodes
    roots: NDArray[np.int64]
    shares: Floats
    codes: NDArray[np.int64]

    numbers: ClassVar = np.float32
    takes_gaps: ClassVar = False  # scikit-learn says itself what gaps mean to it

    @classmethod
    def of(cls, models: Sequence[FittedEstimator], n_classes: int) -> Self | None:
        """Put trees side by side; None where they are of other kinds, or not as scikit-learn makes them."""
        trees = [_trees_of(one.estimator) for one in models]
        if not trees or any(not own or len(own) != len(trees[0]) for own in trees):
            return None
        widths = {int(one.estimator.n_features_in_) for one in models}
        nodes = TreeNodes.of([as_tree(tree) for own in trees for tree in own], min(widths))
        if len(widths) != 1 or nodes is None:
            return None
        roots = nodes.starts.reshape(len(models), -1)
        shares = np.full((len(nodes.feature), n_classes), -np.inf)
        codes = np.full((len(models), n_classes), FALLBACK, dtype=np.int64)
        for k, one in enumerate(models):
            known = class_codes(one)
            codes[k, : len(known)] = np.where(known == UNKNOWN, FALLBACK, known)
            for tree, start in zip(trees[k], roots[k], strict=True):
                shares[start : start + tree.node_count, : len(known)] = tree.value[:, 0, : len(known)]
        return cls(nodes, roots, shares, codes)

    @property
    def most_together(self) -> int:
        """How many questions are asked together at most."""
        return MOST_OF_FORESTS if self.roots.shape[1] > 1 else MOST_OF_TREES

    def votes(self, rows: NDArray[np.float32]) -> NDArray[np.int64]:
        """Return the class number that every teacher votes for: rows x teachers."""
        votes = np.empty((len(rows), len(self.roots)), dtype=np.int64)
        for some, leaves in self.nodes.leaves(rows, self.roots):
            total = np.zeros((*leaves.shape[:2], self.shares.shape[1]))
            for tree in range(self.roots.shape[1]):
                total += self.shares[leaves[:, :, tree]]
            total /= self.roots.shape[1]
            votes[some] = self.codes[np.arange(len(self.roots)), total.argmax(axis=2)]
        return votes


def as_tree(tree: Any) -> Tree:
    """Return a tree of scikit-learn's module of trees as arrays."""
    leaf = tree.children_left < 0
    return Tree(leaf, tree.feature, tree.threshold, tree.children_left, tree.children_right, np.zeros_like(leaf))


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
