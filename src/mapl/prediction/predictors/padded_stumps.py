"""Padded stumps: single private answers from all one-feature thresholds at once, at a pure epsilon each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapl.accounting import Loss
from mapl.errors import InvalidData
from mapl.noise import ONE, Coins
from mapl.prediction.order_keys import Keys, count_below, order_keys
from mapl.prediction.predictors.padded_paths import PaddedPaths
from mapl.prediction.prices.padded_stumps import epsilon_of, loss_of, rate_for, refuse_rate, refuse_unknown
from mapl.types import Labels, RecordAdjacency

RAREST = ONE >> 40
"""No answer is rarer than this numerator over ONE, 2^-40."""
MOST_RECORDS, MOST_FEATURES = 2**31 - 2, 2**20
LANES = 1 << 9
"""Features times questions that are worked on at once, so that what is looked up stays in the processor's cache."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class PaddedStumps:
    """Answer 1 with the share of mass of the stumps that say 1, where a stump with k errors has mass e^(-rate k).

    A stump is a feature, a threshold and a label to its right. Features are numbers: infinities are ordinary,
    -0 is 0, NaN is one value above all others. Equal values are no special case: see Guarantee.

    Notes
    -----
    *Guarantee.* Each answer, with fresh coins, is pure epsilon-differentially private (delta = 0) for one record,
    that is one row: epsilon = ln(2 e^rate - 1) <= 2 rate if a record is added or removed, rate more if one is
    replaced, plus 2^-20 for rounding. Theorem of docs/proofs/padded-stumps.md, after Dwork and Feldman (2018).
    Nothing else may leave: not the masses, not the fitted object, not its size, not how long an answer took.

    Examples
    --------
    >>> from mapl.noise import SeededCoins
    >>> X = np.arange(200.0)[:, None]
    >>> stumps = PaddedStumps.fit(X, (X[:, 0] >= 120).astype(int), epsilon=1.0, adjacency="add-remove")
    >>> stumps.answer(np.array([[20.0], [180.0]]), SeededCoins(0)).tolist()
    [0, 1]
    """

    keys: Keys
    """For each feature the keys of all records of label 1, ascending, then those of label 0."""
    n_ones: int
    paths: PaddedPaths
    kind: np.dtype[Any]
    adjacency: RecordAdjacency

    @classmethod
    def fit(cls, X: NDArray[Any], y: NDArray[Any], *, epsilon: float, adjacency: RecordAdjacency) -> PaddedStumps:
        """Sort every feature and sum up its stumps' masses, at the largest rate that epsilon per answer allows."""
        return cls.at_rate(X, y, rate=rate_for(epsilon, adjacency=adjacency), adjacency=adjacency)

    @classmethod
    def at_rate(cls, X: NDArray[Any], y: NDArray[Any], *, rate: float, adjacency: RecordAdjacency) -> PaddedStumps:
        """Fit at a rate instead of an epsilon."""
        refuse_unknown(adjacency)
        refuse_rate(rate)
        table, kind = numbers(X)
        one = ones_of(y, len(table))
        n, n_features = table.shape
        with_one, with_zero = np.flatnonzero(one), np.flatnonzero(~one)
        n_ones = len(with_one)
        keys = np.empty((n_features, n), dtype=f"i{kind.itemsize}")
        paths = PaddedPaths.empty(n, n_features, rate=rate)
        for feature, row in enumerate(keys):
            column = order_keys(read_as(kind, table[:, feature]))
            ones, zeros = row[:n_ones], row[n_ones:]
            ones[:], zeros[:] = column[with_one], column[with_zero]
            ones.sort()
            zeros.sort()
            # A stable sort of two ascending runs is a merge that keeps the first run first among equals.
            paths.lay(feature, 1, np.argsort(row, kind="stable") < n_ones)
            paths.lay(feature, 0, np.argsort(np.concatenate([zeros, ones]), kind="stable") < n - n_ones)
        paths.finish()
        return cls(keys, n_ones, paths, kind, adjacency)

    @property
    def epsilon(self) -> float:
        """Epsilon of one answer at delta = 0, for this object's adjacency of one record, rounded up."""
        return epsilon_of(self.paths.rate, adjacency=self.adjacency)

    @property
    def per_answer(self) -> Loss:
        """The loss of one answer, to be added up over answers."""
        return loss_of(self.paths.rate, adjacency=self.adjacency)

    def answer(self, rows: NDArray[Any], coins: Coins) -> Labels:
        """Answer each row with 0 or 1, each with coins of its own and at the price of `per_answer`."""
        return coins.flip(self.numerators(rows)).astype(np.int32)

    def numerators(self, rows: NDArray[Any]) -> NDArray[np.int64]:
        """Return the chance of answer 1 for each row, over ONE: private, for `answer` and for audits."""
        asked, _ = numbers(rows)
        if asked.shape[1] != len(self.keys):
            raise InvalidData(
                f"The questions have {asked.shape[1]} features and the sample had {len(self.keys)}; ask with "
                "the same columns in the same order."
            )
        out = np.empty(len(asked), dtype=np.int64)
        some = max(1, LANES // len(self.keys))
        for start in range(0, len(asked), some):
            block = slice(start, start + some)
            out[block] = self._numerators(asked[block])
        return out

    def _numerators(self, asked: NDArray[Any]) -> NDArray[np.int64]:
        left, right = self.paths.masses(self._gaps(asked))
        ones = (left[..., 1] + right[..., 0]).sum(axis=1)
        zeros = (left[..., 0] + right[..., 1]).sum(axis=1)
        # The rarer answer is rounded, so that its relative error is small, and the other one is the rest.
        rarer = np.rint(np.minimum(ones, zeros) / (ones + zeros) * ONE).astype(np.int64)
        np.maximum(rarer, RAREST, out=rarer)
        return np.asarray(np.where(ones < zeros, rarer, ONE - rarer))

    def _gaps(self, asked: NDArray[Any]) -> NDArray[np.int64]:
        """Return how many records a question lies behind, on each path: (question, feature, own label).

        Of the records with the question's value those of the path's own label come before it, the others behind.
        """
        targets = order_keys(read_as(self.kind, asked))
        n_features, n = self.keys.shape
        lengths = np.array([n - self.n_ones, self.n_ones])[:, None]
        starts = np.arange(n_features)[:, None, None] * n + np.array([self.n_ones, 0])[:, None]
        # Keys are whole numbers: as many are at most x as are below x + 1.
        both = targets[..., None, None] + np.array([0, 1], dtype=targets.dtype)
        counts = count_below(self.keys.reshape(-1), starts, lengths, np.repeat(both, 2, axis=2))
        below, up_to = counts[..., 0], counts[..., 1]
        return up_to + below[..., ::-1]

    def __repr__(self) -> str:
        return f"PaddedStumps({len(self.keys)} features, private)"


def numbers(table: NDArray[Any]) -> tuple[NDArray[Any], np.dtype[Any]]:
    """Accept a two-dimensional table of real numbers; return it with the floating point type it is read in."""
    table = np.asarray(table)
    if table.ndim != 2 or table.shape[1] == 0:
        raise InvalidData(
            f"The features have {table.ndim} dimensions; expected one row per record or question and at least one "
            "column of numbers. Reshape a single row to (1, number of features)."
        )
    if table.shape[1] > MOST_FEATURES:
        raise InvalidData(f"There are {table.shape[1]} features; at most {MOST_FEATURES} are taken. Choose some.")
    if table.dtype.kind not in "biuf":
        raise InvalidData(f"The features are of type {table.dtype}; expected numbers. Encode other columns first.")
    single = table.dtype.kind == "f" and table.dtype.itemsize <= 4
    return table, np.dtype(np.float32 if single else np.float64)


def read_as(kind: np.dtype[Any], values: NDArray[Any]) -> NDArray[np.floating[Any]]:
    """Convert values to the type of the table, too large ones to infinity."""
    with np.errstate(over="ignore"):
        return values.astype(kind)


def ones_of(labels: NDArray[Any], n: int) -> NDArray[np.bool_]:
    """Accept n labels that are 0 or 1; return which of them are 1."""
    labels = np.asarray(labels)
    if labels.shape != (n,):
        raise InvalidData("The labels must be a single column with as many entries as the features have rows.")
    if n > MOST_RECORDS:
        raise InvalidData("There are more records than 2^31 - 2, the most that are counted; give fewer.")
    if labels.dtype.kind not in "biuf" or not np.isin(labels, (0, 1)).all():
        raise InvalidData("Some labels are neither 0 nor 1; map the two classes to 0 and 1 first.")
    return np.asarray(labels == 1)
