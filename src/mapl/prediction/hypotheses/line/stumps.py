"""Decision stumps: a threshold on any one of many features, in either direction."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mapl.errors import InvalidParameter
from mapl.prediction.hypotheses.line.thresholds import threshold, upper_errors
from mapl.prediction.hypotheses.listed import ListedErrors
from mapl.prediction.hypotheses.protocol import Points
from mapl.prediction.hypotheses.sample import BuiltIn, as_ones, as_points
from mapl.types import Flags, Integers, Labels, Silent, Words


@dataclass(frozen=True, slots=True, repr=False)
class Stump(BuiltIn, Silent):
    """1 from the value upwards, or, if it is not `above`, 1 below the value."""

    feature: int
    value: float
    above: bool

    def predict(self, X: NDArray[Any]) -> Labels:
        upper: Flags = np.asarray(X)[:, self.feature] >= self.value
        return np.asarray(upper == self.above, dtype=np.int32)


@dataclass(frozen=True, slots=True)
class Stumps(BuiltIn):
    """All stumps on the first n_features features, both signs."""

    n_features: int

    name: ClassVar[str] = "stumps"

    def __post_init__(self) -> None:
        if self.n_features < 1:
            raise InvalidParameter(f"n_features is {self.n_features}; stumps need at least one feature.")

    @property
    def vc(self) -> int:
        """The largest d for which the stumps could label d points in all ways: an upper bound."""
        d = 1
        while 2 ** (d + 1) <= self.n_patterns(d + 1):
            d += 1
        return d

    def patterns(self, T: NDArray[Any]) -> StumpPatterns:
        """Return the distinct labelings of T; of equal ones the first by feature, upward sign and value stays."""
        points = as_points(T, n_features=self.n_features)
        keys = row_keys(len(points))
        total = keys.sum(axis=1, keepdims=True)
        columns: list[Points] = []
        hashes: list[Words] = []
        for feature in range(self.n_features):
            values, lower = lower_sets(points[:, feature], keys)
            columns.append(values)
            hashes += [total - lower, lower]
        return StumpPatterns(tuple(columns), first_of_equals(np.concatenate(hashes, axis=1)))

    def n_patterns(self, n_points: int) -> int:
        """Return an upper bound: per feature two signs of every proper cut, and the two constants."""
        return 2 * self.n_features * (n_points - 1) + 2 if n_points else 1


@dataclass(frozen=True, slots=True, repr=False)
class StumpPatterns(Silent):
    """For each feature with g distinct values the g+1 upward stumps, then the g+1 downward ones; those `kept`."""

    columns: tuple[Points, ...]
    kept: NDArray[np.intp]

    def __len__(self) -> int:
        return len(self.kept)

    def __iter__(self) -> Iterator[Stump]:
        return map(self.representative, range(len(self)))

    def representative(self, i: int) -> Stump:
        starts = np.cumsum([0] + [2 * (len(values) + 1) for values in self.columns])
        feature = int(np.searchsorted(starts, self.kept[i], side="right")) - 1
        values = self.columns[feature]
        below, place = divmod(int(self.kept[i] - starts[feature]), len(values) + 1)
        return Stump(feature, threshold(values, place), above=not below)

    def errors(self, X: NDArray[Any], y: NDArray[Any]) -> ListedErrors:
        points = as_points(X, n_features=len(self.columns))
        ones = as_ones(y, n_points=len(points))
        parts: list[Integers] = []
        for feature, values in enumerate(self.columns):
            upper = upper_errors(values, points[:, feature], ones)
            parts += [upper, len(points) - upper]
        return ListedErrors(np.concatenate(parts)[self.kept], self.representative, self.votes)

    def votes(self, x: Points) -> Flags:
        parts: list[Flags] = []
        for feature, values in enumerate(self.columns):
            above = np.arange(len(values) + 1) < np.searchsorted(values, x[feature], side="right")
            parts += [above, ~above]
        return np.asarray(np.concatenate(parts)[self.kept])


def row_keys(n_points: int) -> Words:
    """Return 128 fixed pseudo-random bits for every row of T, as two words."""
    return np.random.Philox(key=0x5EED).random_raw(2 * n_points).reshape(n_points, 2).T.copy()


def lower_sets(column: Points, keys: Words) -> tuple[Points, Words]:
    """Return the distinct values, and for the rows below each of them, and for all rows, the sums of their keys.

    Sets of rows with the same sums modulo 2**64 are taken for the same labeling. Were they not, with a chance
    near 2**-128 for each pair, one candidate would be missing. Of all guarantees only the sharper one of two-stage
    predictions rests on it, and says so.
    """
    order = np.argsort(column)
    ranked = column[order]
    starts = np.flatnonzero(np.concatenate(([True], ranked[1:] != ranked[:-1]))[: len(ranked)])
    sums = np.zeros((2, len(column) + 1), dtype=np.uint64)
    np.cumsum(keys[:, order], axis=1, out=sums[:, 1:])
    return ranked[starts], np.append(sums[:, starts], sums[:, -1:], axis=1)


def first_of_equals(hashes: Words) -> NDArray[np.intp]:
    """Return the ascending indices of the first of each kind of column."""
    order = np.argsort(hashes[0])
    again = repeats(hashes[0], order)
    if (hashes[1, order[again]] != hashes[1, order[again - 1]]).any():  # kinds that differ in the second word alone
        order = np.lexsort((hashes[1], hashes[0]))
        again = np.intersect1d(repeats(hashes[0], order), repeats(hashes[1], order))
    new = np.ones(len(order), dtype=bool)
    new[again] = False
    return np.sort(np.minimum.reduceat(order, np.flatnonzero(new)))


def repeats(words: Words, order: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the places in the order whose word equals the one before."""
    ranked = words[order]
    return np.flatnonzero(ranked[1:] == ranked[:-1]) + 1
