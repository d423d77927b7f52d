"""Linear teachers: all of them vote in one product of matrices, and every vote is that of exact arithmetic.

A product in floating point may round otherwise in another batch. So whatever is closer than rounding could be wrong
is computed again by itself, from exact products and their exact sum: a vote depends on its row and teacher alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from mapl.data.tables.classes import UNKNOWN
from mapl.data.tables.rows import is_sparse
from mapl.errors import InvalidData
from mapl.teachers.ballot import FALLBACK
from mapl.teachers.panel.linear_weights import MOST, Weights
from mapl.teachers.panel.panel import count_votes
from mapl.teachers.panel.quick_count import (
    DOUBTS_AT_ONCE,
    MOST_COUNTED,
    QUESTIONS_AT_ONCE,
    Doubts,
    ScoreSheet,
    count_block,
    scale,
    voter_blocks,
)
from mapl.types import Floats, Tallies

SMALLEST = 2.0**-500
"""Squares of smaller numbers vanish."""

SCORES_AT_ONCE = 1 << 21
FEW_SCORES = 1 << 14
"""Fewer scores than these, as of single questions, are computed in 64 bits at once."""

SPLIT = 2.0**27 + 1
"""Parts a number into halves of at most 26 bits (Dekker 1971), whose products are exact."""


@dataclass(frozen=True, slots=True, repr=False)
class LinearPanel:
    """Linear teachers side by side. Private.

    With two classes a teacher has one column of weights, and a score above zero means its second class; with more
    it has one per class, and the first of the largest scores wins. That is how scikit-learn's `predict` decides.

    Parameters
    ----------
    columns
        A row per feature and `width` columns per teacher.
    codes
        For every teacher the class numbers of its columns; of two classes, those below and above zero.
    """

    columns: Floats
    intercepts: Floats
    codes: NDArray[np.int64]
    reach: Floats
    magnitudes: Floats
    """Of each column the sum of its absolute weights, and its absolute intercept: they bound what rounding does."""

    @classmethod
    def of(cls, weights: Sequence[Weights | None], *, n_features: int, n_classes: int) -> Self:
        """Put teachers side by side; None, or weights that make no sense, is a teacher that failed."""
        width = 1 if n_classes == 2 else n_classes
        columns = np.zeros((n_features, len(weights), width))
        intercepts = np.full((len(weights), width), -np.inf)  # a class that is not in the shard never wins
        intercepts[:, 0] = -1.0  # and a teacher that failed is far from any tie
        codes = np.full((len(weights), n_classes), FALLBACK, dtype=np.int64)
        for which, coef, constants, own in _alike(weights, n_features, n_classes):
            codes[which, : own.shape[1]] = np.where(own == UNKNOWN, FALLBACK, own)
            # Of two classes among more the first wins unless the score is above zero.
            first = 1 if coef.shape[1] == 1 and width > 1 else 0
            intercepts[which, :first] = 0.0
            intercepts[which, first : first + coef.shape[1]] = constants
            columns[:, which, first : first + coef.shape[1]] = coef.transpose(2, 0, 1)
        return cls.stored(columns.reshape(n_features, -1), intercepts.ravel(), codes)

    @classmethod
    def stored(cls, columns: Floats, intercepts: Floats, codes: NDArray[np.int64]) -> Self:
        """Take a panel as it lies in a file, or refuse what does not fit together."""
        fits = columns.ndim == 2 and intercepts.ndim == 1 and codes.ndim == 2 and len(codes) > 0
        fits = fits and [array.dtype.str for array in (columns, intercepts, codes)] == ["<f8", "<f8", "<i8"]
        if fits:
            n_teachers, n_classes = codes.shape
            wide = n_teachers * (1 if n_classes == 2 else n_classes)
            fits = n_classes >= 2 and columns.shape[1] == len(intercepts) == wide
            fits = fits and not np.isnan(intercepts).any() and intercepts.max() <= MOST
            fits = fits and bool((np.abs(columns) <= MOST).all())
            fits = fits and bool(((codes >= 0) & (codes < n_classes)).all())
        if not fits:
            raise InvalidData("The weights of the teachers do not fit together; they are damaged or forged.")
        magnitudes = np.where(np.isinf(intercepts), 0.0, np.abs(intercepts))
        return cls(np.ascontiguousarray(columns), intercepts, codes, np.abs(columns).sum(axis=0), magnitudes)

    @property
    def n_teachers(self) -> int:
        return len(self.codes)

    @property
    def n_classes(self) -> int:
        return int(self.codes.shape[1])

    @property
    def n_features(self) -> int:
        return len(self.columns)

    def votes(self, rows: Any) -> Tallies:
        """Count the votes on encoded rows, a dense or sparse matrix; a row with no finite features fails all."""
        if rows.shape[1] != self.n_features:
            raise InvalidData(
                f"The questions are encoded by {rows.shape[1]} features and the teachers learned from "
                f"{self.n_features}; ask with the encoder of the same run."
            )
        counts = np.zeros((rows.shape[0], self.n_classes), dtype=np.int32)
        quick, others = self._quick(rows)
        if len(quick):
            self._count_quickly(rows, quick, counts)
        if len(others):
            rest = self if not len(quick) else self._only(others)
            at_once = max(1, SCORES_AT_ONCE // len(rest.intercepts))
            for start in range(0, len(counts), at_once):
                block = rest._block(rows[start : start + at_once])
                counts[start : start + at_once] += count_votes(block, self.n_classes).counts
        return Tallies.checked(counts)

    def _quick(self, rows: Any) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Part teachers into those that many dense rows are asked in 32 bits first, and the others."""
        everybody = np.arange(self.n_teachers)
        if is_sparse(rows) or rows.shape[0] * len(self.intercepts) < FEW_SCORES or self.n_classes > MOST_COUNTED:
            return everybody[:0], everybody
        known = np.ones(self.codes.shape, dtype=np.bool_)
        if self.n_classes > 2:
            known = ~np.isinf(self.intercepts).reshape(self.codes.shape)
        named = np.where(known, self.codes, self.n_classes + np.arange(self.n_classes))
        named.sort(axis=1)
        once = (np.diff(named, axis=1) > 0).all(axis=1)  # a class number that stands for two columns is a failure
        return everybody[once], everybody[~once]

    def _only(self, teachers: NDArray[np.int64]) -> LinearPanel:
        width = len(self.intercepts) // self.n_teachers
        places = (teachers[:, None] * width + np.arange(width)).ravel()
        return LinearPanel(
            np.ascontiguousarray(self.columns[:, places]),
            self.intercepts[places],
            self.codes[teachers],
            self.reach[places],
            self.magnitudes[places],
        )

    def _count_quickly(self, rows: Any, teachers: NDArray[np.int64], counts: NDArray[np.int32]) -> None:
        weights, sheet, doubts = np.ascontiguousarray(self.columns.T), ScoreSheet.blank(), Doubts()
        blocks = list(voter_blocks(self, weights, teachers))
        for start in range(0, len(counts), QUESTIONS_AT_ONCE):
            some = counts[start : start + QUESTIONS_AT_ONCE]
            before = some.copy()
            features, lengths, lost = _sound(rows[start : start + QUESTIONS_AT_ONCE])
            short = scale(features, lengths)
            for block in blocks:
                places, asked = count_block(block, short, some, sheet)
                if lost.any():  # rows that fail all teachers are in no doubt
                    places, asked = places[~lost[asked]], asked[~lost[asked]]
                doubts.note(places, asked, block, start, lengths)
                if len(doubts) >= DOUBTS_AT_ONCE:
                    self._settle(doubts, weights, rows, counts)
            some[lost] = before[lost]
            some[lost, FALLBACK] += len(teachers)
        if len(doubts):
            self._settle(doubts, weights, rows, counts)

    def _settle(self, doubts: Doubts, weights: Floats, rows: Any, counts: NDArray[np.int32]) -> None:
        """Count the votes that were in doubt."""
        for teachers, asked, lengths in doubts.taken():
            features = np.asarray(rows[asked], dtype=np.float64)
            np.add.at(counts, (asked, self._decided(weights, features, lengths, teachers)), 1)

    def _decided(
        self, weights: Floats, rows: Floats, lengths: Floats, teachers: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Return the vote of each of some teachers on one row, in 64 bits and where that is too few exactly."""
        width = len(self.intercepts) // self.n_teachers
        places = teachers[:, None] * width + np.arange(width)
        scores = np.einsum("nwf,nf->nw", weights[places], rows) + self.intercepts[places]
        errors = self._error(lengths[:, None] * self.reach[places] + self.magnitudes[places])
        if width == 1:
            chosen = (scores[:, 0] > 0).astype(np.int64)
            for i in np.flatnonzero(np.abs(scores[:, 0]) <= errors[:, 0]):
                chosen[i] = self._exactly(rows[i], int(teachers[i])) > 0
        else:
            chosen = scores.argmax(axis=1)
            at = np.arange(len(rows))
            rivals = (scores + errors >= (scores - errors)[at, chosen][:, None]).sum(axis=1)
            for i in np.flatnonzero(rivals > 1):
                chosen[i] = self._winner(rows[i], int(teachers[i]))
        return np.asarray(self.codes[teachers, chosen])

    def _error(self, sizes: Floats) -> Floats:
        """Return how wrong scores may be: a sum of p products and one number more is rounded 2p times at most, by a
        relative 2**-53 each; and more."""
        return (self.n_features + 2) * 2.0**-51 * sizes

    def _winner(self, row: Any, k: int) -> int:
        first = k * self.n_classes
        return int(np.argmax([self._exactly(row, first + c) for c in range(self.n_classes)]))

    def _block(self, rows: Any) -> NDArray[np.int64]:
        features, lengths, lost = _sound(rows)
        scores = np.asarray(features @ self.columns)
        scores += self.intercepts
        error = self._error(lengths[:, None] * self.reach + self.magnitudes)
        if self.n_classes == 2:
            chosen = self._above_zero(features, scores, error)
        else:
            shape = (len(scores), *self.codes.shape)
            chosen = self._largest(features, scores.reshape(shape), error.reshape(shape))
        votes = self.codes[np.arange(self.n_teachers), chosen]
        votes[lost] = FALLBACK
        return votes

    def _above_zero(self, features: Any, scores: Floats, error: Floats) -> NDArray[np.int64]:
        chosen = (scores > 0).astype(np.int64)
        for i, k in np.argwhere(np.abs(scores) <= error):
            chosen[i, k] = self._exactly(features[[i]], int(k)) > 0
        return chosen

    def _largest(self, features: Any, scores: Floats, error: Floats) -> NDArray[np.int64]:
        chosen = scores.argmax(axis=2)
        best = np.take_along_axis(scores, chosen[:, :, None], 2) - np.take_along_axis(error, chosen[:, :, None], 2)
        rivals = (scores + error >= best).sum(axis=2)
        for i, k in np.argwhere(rivals > 1):
            chosen[i, k] = self._winner(features[[i]], int(k))
        return np.asarray(chosen, dtype=np.int64)

    def _exactly(self, row: Any, column: int) -> float:
        """Return one score, rounded once."""
        if np.isinf(self.intercepts[column]):
            return -math.inf
        dense = np.asarray(row.toarray() if is_sparse(row) else row).ravel()
        kept = np.flatnonzero(dense)
        high, low = _halves(dense[kept])
        weight_high, weight_low = _halves(self.columns[kept, column])
        parts = (high * weight_high, high * weight_low, low * weight_high, low * weight_low)
        return math.fsum([*np.concatenate(parts).tolist(), float(self.intercepts[column])])

    def __repr__(self) -> str:
        return f"LinearPanel({self.n_teachers} teachers, private)"


def _alike(
    weights: Sequence[Weights | None], n_features: int, n_classes: int
) -> Iterator[tuple[NDArray[np.int64], Floats, Floats, NDArray[np.int64]]]:
    """Yield teachers that make sense in groups with equally many scores: which they are, weights and classes."""
    groups: dict[int, list[tuple[int, Weights]]] = {}
    for k, one in enumerate(weights):
        if one is not None and one.shaped and one.coef.shape[1] == n_features and len(one.codes) <= n_classes:
            groups.setdefault(len(one.coef), []).append((k, one))
    for group in groups.values():
        which = np.array([k for k, _ in group], dtype=np.int64)
        coef, constants, codes = (
            np.array([getattr(one, name) for _, one in group]) for name in ("coef", "intercept", "codes")
        )
        within = (np.abs(coef) <= MOST).all(axis=(1, 2)) & (np.abs(constants) <= MOST).all(axis=1)
        yield which[within], coef[within], constants[within], codes[within]


def _sound(rows: Any) -> tuple[Any, Floats, NDArray[np.bool_]]:
    """Return rows as 64-bit numbers, a length that none of these is above, and what cannot be computed with."""
    if is_sparse(rows):
        features = rows.astype(np.float64)
        largest = np.asarray(abs(features).max(axis=1).toarray()).ravel()
        lost = ~(largest <= MOST)
        features.data[np.repeat(lost, np.diff(features.indptr))] = 0.0
        return features, np.where(lost, 0.0, largest), lost
    features = np.asarray(rows, dtype=np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        squares = (features[:, None, :] @ features[:, :, None])[:, 0, 0]
    lost = ~(squares <= MOST * MOST)
    if lost.any():  # or only long, of numbers that are all small enough
        lost[lost] = ~(np.abs(features[lost]).max(axis=1) <= MOST)
        features, squares = np.where(lost[:, None], 0.0, features), np.where(lost, 0.0, squares)
    return features, np.sqrt(squares) + SMALLEST, lost


def _halves(numbers: Floats) -> tuple[Floats, Floats]:
    """Part numbers into a high and a low half of at most 26 bits each, which add up to them exactly."""
    wide = numbers * SPLIT
    high = wide - (wide - numbers)
    return high, numbers - high
