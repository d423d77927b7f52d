"""Boosted trees of all teachers, asked together: one walk from all roots at once.

scikit-learn's `predict` calls every tree by itself, for some microseconds each. Here scores begin with what a model
starts from and trees are added in its own order, as there: so the votes are the same, bit for bit. Shards may have
stopped after different numbers of trees, and may lack classes: that fills places with leaves that add nothing.
"""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from mapl.data.tables.classes import UNKNOWN
from mapl.teachers.ballot import FALLBACK
from mapl.teachers.learners.estimator import FittedEstimator
from mapl.teachers.panel.keeping import class_codes
from mapl.teachers.panel.stacked_trees import as_tree
from mapl.teachers.panel.tree_nodes import LONE_LEAF, Tree, TreeNodes
from mapl.types import Floats, Silent

ROUNDS_TWICE = ("x86_64", "AMD64")
"""Processors on which scikit-learn's compiled code rounds a product before it is added; others may round once."""


class Boosted(NamedTuple):
    """One model: what each score starts from, and its trees with their leaves' values, score by score. Private."""

    starts: Floats
    trees: list[list[tuple[Tree, Floats]]]

    def __repr__(self) -> str:
        return "Boosted(private)"


@dataclass(frozen=True, slots=True, repr=False)
class StackedBoosting(Silent):
    """The nodes of all trees of all teachers that did not fail. Private.

    Parameters
    ----------
    roots
        What is added to a score, one after the other: teachers x scores x trees. The first is a leaf by itself.
    values
        What a node adds, as a leaf.
    alone
        For every teacher whether its only score says which of two classes it is.
    codes
        For every teacher the class numbers of its own classes.
    """

    nodes: TreeNodes
    roots: NDArray[np.int64]
    values: Floats
    alone: NDArray[np.bool_]
    codes: NDArray[np.int64]

    numbers: ClassVar[Any] = np.float64
    takes_gaps: ClassVar = True
    most_together: ClassVar = 24

    @classmethod
    def of(cls, models: Sequence[FittedEstimator], n_classes: int) -> Self | None:
        """Put trees side by side; None where they are of other kinds, or not as scikit-learn makes them."""
        own = [cls._boosted(one.estimator) for one in models]
        boosted = [one for one in own if one is not None]
        width = 1 if n_classes == 2 else n_classes
        if not own or len(boosted) < len(own) or max(len(one.starts) for one in boosted) > width:
            return None
        trees, values = [LONE_LEAF, LONE_LEAF], [np.zeros(1), np.full(1, -np.inf)]
        longest = max(len(trees) for one in boosted for trees in one.trees)
        roots = np.zeros((len(models), width, 1 + longest), dtype=np.int64)
        roots[:, :, 0] = 1  # a class that the shard does not have never wins
        for k, one in enumerate(boosted):
            for score, (start, added) in enumerate(zip(one.starts, one.trees, strict=True)):
                roots[k, score, : 1 + len(added)] = len(trees) + np.arange(1 + len(added))
                trees += [LONE_LEAF, *(tree for tree, _ in added)]
                values += [np.full(1, start), *(leaves for _, leaves in added)]
        widths = {int(one.estimator.n_features_in_) for one in models}
        nodes = TreeNodes.of(trees, min(widths))
        if len(widths) != 1 or nodes is None:
            return None
        codes = np.full((len(models), n_classes), FALLBACK, dtype=np.int64)
        for k, fitted in enumerate(models):
            known = class_codes(fitted)
            codes[k, : len(known)] = np.where(known == UNKNOWN, FALLBACK, known)
        alone = np.array([len(one.starts) == 1 for one in boosted])
        return cls(nodes, nodes.starts[roots], np.concatenate(values), alone, codes)

    def votes(self, rows: NDArray[Any]) -> NDArray[np.int64]:
        """Return the class number that every teacher votes for: rows x teachers."""
        votes = np.empty((len(rows), len(self.roots)), dtype=np.int64)
        for some, leaves in self.nodes.leaves(rows, self.roots):
            scores = np.add.accumulate(self.values[leaves], axis=3)[..., -1]  # a sum would take another order
            places = np.where(self.alone, self._second(scores[:, :, 0]), scores.argmax(axis=2))
            votes[some] = self.codes[np.arange(len(self.roots)), places]
        return votes

    @staticmethod
    def _second(scores: Floats) -> NDArray[np.bool_]:
        """Say whether a score by itself means the second of two classes."""
        return scores > 0

    @staticmethod
    def _boosted(model: Any) -> Boosted | None:
        """Take a model apart; None if it is none of this kind, or encodes categories of its own shard."""
        from sklearn.ensemble import HistGradientBoostingClassifier

        stages, starts = (getattr(model, name, None) for name in ("_predictors", "_baseline_prediction"))
        if type(model) is not HistGradientBoostingClassifier or stages is None or starts is None:
            return None
        if getattr(model, "_preprocessor", model) is not None:
            return None
        nodes = [[one.nodes for one in score] for score in zip(*stages, strict=True)]
        if any(own["is_categorical"].any() for score in nodes for own in score):
            return None
        return Boosted(starts.ravel(), [[_of_histograms(own) for own in score] for score in nodes])


class StackedGradients(StackedBoosting):
    """The same for scikit-learn's older kind, which takes numbers of 32 bits and no gaps. Private."""

    __slots__ = ()
    numbers: ClassVar[Any] = np.float32
    takes_gaps: ClassVar = False
    most_together: ClassVar = 64

    @staticmethod
    def _second(scores: Floats) -> NDArray[np.bool_]:
        return scores >= 0

    @staticmethod
    def _boosted(model: Any) -> Boosted | None:
        from sklearn.dummy import DummyClassifier
        from sklearn.ensemble import GradientBoostingClassifier

        if type(model) is not GradientBoostingClassifier or platform.machine() not in ROUNDS_TWICE:
            return None
        if type(model.init_) is not DummyClassifier and model.init_ != "zero":
            return None
        starts = model._raw_predict_init(np.zeros((1, model.n_features_in_), dtype=np.float32))[0]
        scores = [[one.tree_ for one in score] for score in model.estimators_.T]
        rate = model.learning_rate
        return Boosted(starts, [[(as_tree(tree), rate * tree.value[:, 0, 0]) for tree in own] for own in scores])


def _of_histograms(nodes: NDArray[Any]) -> tuple[Tree, Floats]:
    """Return a tree of histogram gradient boosting, and what its nodes add."""
    leaf, gaps_left = (nodes[name].astype(np.bool_) for name in ("is_leaf", "missing_go_to_left"))
    tree = Tree(leaf, nodes["feature_idx"], nodes["num_threshold"], nodes["left"], nodes["right"], gaps_left)
    return tree, nodes["value"]
