"""The nodes of many trees in one row, walked from many roots at once, level by level."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from mapl.types import Floats

WALKERS_AT_ONCE = 1 << 15


class Tree(NamedTuple):
    """One tree as its own arrays, node by node; what a leaf says of a feature, or of where to go, is not looked at.

    A number that is not above the threshold goes left, and a gap where `gaps_left` says so.
    """

    leaf: NDArray[np.bool_]
    feature: NDArray[Any]
    threshold: NDArray[Any]
    left: NDArray[Any]
    right: NDArray[Any]
    gaps_left: NDArray[np.bool_]

    def __repr__(self) -> str:
        return "Tree(private)"


LONE_LEAF = Tree(*(np.array([value]) for value in (True, 0, 0.0, 0, 0, False)))


class TreeNodes(NamedTuple):
    """Trees side by side. Private.

    `starts` has the first node of every tree; the feature of a leaf is -1, and `children` has two places for each
    node: for what is not above its threshold and for what is.
    """

    starts: NDArray[np.int64]
    feature: NDArray[np.int64]
    threshold: Floats
    children: NDArray[np.int64]
    gaps_left: NDArray[np.bool_]

    @classmethod
    def of(cls, trees: Sequence[Tree], n_features: int) -> Self | None:
        """Put trees side by side; None where one leads back or elsewhere, and might be walked for ever."""
        sizes = np.array([len(tree.leaf) for tree in trees], dtype=np.int64)
        ends = np.cumsum(sizes)
        leaf, feature, threshold, left, right, gaps_left = (
            np.concatenate(part) for part in zip(*trees, strict=True)
        )
        first, end, own = np.repeat(ends - sizes, sizes), np.repeat(ends, sizes), np.arange(len(leaf))
        children = np.stack([left.astype(np.int64) + first, right.astype(np.int64) + first], axis=1)
        forward = ((children > own[:, None]) & (children < end[:, None])).all(axis=1)
        if not (leaf | (forward & (feature >= 0) & (feature < n_features))).all():
            return None
        feature = np.where(leaf, -1, feature)
        return cls(ends - sizes, feature, threshold.astype(np.float64), children.ravel(), gaps_left)

    def leaves(self, rows: NDArray[Any], roots: NDArray[np.int64]) -> Iterator[tuple[slice, NDArray[np.int64]]]:
        """Walk every row from every root to a leaf; yield which rows, and their leaves: rows x roots."""
        at_once = max(1, WALKERS_AT_ONCE // max(1, roots.size))
        for start in range(0, len(rows), at_once):
            some = slice(start, start + at_once)
            parts = range(0, roots.size, WALKERS_AT_ONCE)
            leaves = [self._walk(rows[some], roots.ravel()[part : part + WALKERS_AT_ONCE]) for part in parts]
            yield some, np.concatenate(leaves, axis=1).reshape(-1, *roots.shape)

    def _walk(self, rows: NDArray[Any], roots: NDArray[np.int64]) -> NDArray[np.int64]:
        cells, gaps = rows.ravel(), bool(np.isnan(rows).any())
        at = np.tile(roots, len(rows))
        feature = self.feature[at]
        walker = np.flatnonzero(feature >= 0)
        node, feature, row = at[walker], feature[walker], walker // len(roots) * rows.shape[1]
        while len(walker):
            cell = cells[row + feature]
            left = cell <= self.threshold[node]
            if gaps:
                left |= np.isnan(cell) & self.gaps_left[node]
            node = self.children[2 * node + ~left]
            at[walker] = node
            feature = self.feature[node]
            on = np.flatnonzero(feature >= 0)
            walker, node, feature, row = walker[on], node[on], feature[on], row[on]
        return at.reshape(len(rows), len(roots))

    def __repr__(self) -> str:
        return "TreeNodes(private)"
