"""Counting many votes of linear teachers: products of 32-bit numbers, block by block, and counts at once.

Rows and weights are scaled to a length of one, which moves no decision but by rounding. A score is then wrong by
at most a known bound; whatever is decided by less is computed again in 64 bits, and if need be exactly. So
the votes are those of `LinearPanel`, and never more than one block of scores is in memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mapl.types import Floats, Silent, Singles

if TYPE_CHECKING:
    from mapl.teachers.panel.linear import LinearPanel

Pairs = tuple[NDArray[np.int64], NDArray[np.int64]]

QUESTIONS_AT_ONCE = 1024
SCORE_ROWS_AT_ONCE = 320
MOST_COUNTED = 255
"""Votes of a block are added up as 8-bit numbers."""

NOWHERE = -4.0
"""The score of a class that a teacher does not know; scores lie between -1 and 1."""

DOUBTS_AT_ONCE = 1 << 9
"""What is in doubt waits until so much of it can be decided at once; with 784 columns that is 3 MB of rows."""


@dataclass(frozen=True, slots=True, repr=False)
class VoterBlock(Silent):
    """Some teachers as 32-bit numbers: for each class, or for two classes once, a row of weights each. Private."""

    teachers: NDArray[np.int64]
    weights: Singles
    unknown: NDArray[np.bool_] | None
    """Classes x teachers; None where the weights decide between two classes."""


def voter_blocks(panel: LinearPanel, columns: Floats, teachers: NDArray[np.int64]) -> Iterator[VoterBlock]:
    """Part teachers into blocks; their weights stand in the order of class numbers.

    Parameters
    ----------
    columns
        The panel's columns as rows.
    """
    width = 1 if panel.n_classes == 2 else panel.n_classes
    at_once = max(1, min(MOST_COUNTED, SCORE_ROWS_AT_ONCE // width))
    for start in range(0, len(teachers), at_once):
        some = teachers[start : start + at_once]
        codes = panel.codes[some]
        places = some[:, None] * width + np.arange(width)
        weights = np.concatenate([columns[places], panel.intercepts[places][:, :, None]], axis=2)
        unknown = np.isinf(weights[:, :, -1])
        weights[unknown] = 0.0
        # First by a power of two, so that squares of tiny weights do not vanish.
        weights = np.ldexp(weights, -np.frexp(np.abs(weights).max(axis=(1, 2)))[1][:, None, None])
        lengths = np.sqrt((weights * weights).sum(axis=2).max(axis=1))
        weights /= np.where(lengths > 0, lengths, 1.0)[:, None, None]
        if width == 1:
            weights[codes[:, 0] == 1] *= -1.0
            yield VoterBlock(some, weights[:, 0].astype(np.float32), None)
            continue
        by_code = np.full((width, len(some)), -1, dtype=np.int64)
        for place in range(width):
            known = ~unknown[:, place]
            by_code[codes[known, place], np.flatnonzero(known)] = place
        ordered = weights[np.arange(len(some)), by_code]  # what is unknown has any row, which is not looked at
        yield VoterBlock(some, ordered.reshape(width * len(some), -1).astype(np.float32), by_code < 0)


@dataclass(slots=True, repr=False)
class ScoreSheet(Silent):
    """Memory for one block of scores, which is written over again and again."""

    scores: Singles
    flags: NDArray[np.bool_]
    more_flags: NDArray[np.bool_]

    @classmethod
    def blank(cls) -> ScoreSheet:
        size = SCORE_ROWS_AT_ONCE * QUESTIONS_AT_ONCE
        return cls(np.empty(size, np.float32), np.empty(size, np.bool_), np.empty(size, np.bool_))

    def product(self, weights: Singles, rows: Singles) -> Singles:
        """Multiply weights by rows that stand as columns."""
        shape = (len(weights), rows.shape[1])
        return np.matmul(weights, rows, out=self.scores[: shape[0] * shape[1]].reshape(shape))


class Doubts(Silent):
    """Votes that 32 bits do not decide: who was asked what, and how long that row is. Private."""

    def __init__(self) -> None:
        self._waiting: list[tuple[NDArray[np.int64], NDArray[np.int64], Floats]] = []
        self._n = 0

    def __len__(self) -> int:
        return self._n

    def note(
        self, places: NDArray[np.int64], asked: NDArray[np.int64], block: VoterBlock, start: int, lengths: Floats
    ) -> None:
        """Keep some until they are decided; questions are numbered from `start`, where their block begins."""
        if len(asked):
            self._waiting.append((block.teachers[places], asked + start, lengths[asked]))
            self._n += len(asked)

    def taken(self) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], Floats]]:
        """Yield teachers, questions and the length of each question, in portions, and forget them."""
        waiting, self._waiting, self._n = self._waiting, [], 0
        teachers, asked, lengths = (np.concatenate(parts) for parts in zip(*waiting, strict=True))
        for start in range(0, len(asked), DOUBTS_AT_ONCE):
            some = slice(start, start + DOUBTS_AT_ONCE)
            yield teachers[some], asked[some], lengths[some]


def scale(features: Floats, lengths: Floats) -> Singles:
    """Return rows of known length as columns, with a one below them, scaled to length one."""
    factors = (1.0 / np.hypot(lengths, 1.0))[:, None]
    rows = np.empty((len(features), features.shape[1] + 1), dtype=np.float32)
    np.multiply(features, factors, out=rows[:, :-1], casting="same_kind")
    rows[:, -1:] = factors
    return rows.T


def error_bound(n_features: int) -> np.float32:
    """Return by how much a scaled score can be wrong: products of rounded numbers, rounded while they are added."""
    return np.float32((n_features + 8) * 2.0**-24 * 1.01)


def count_block(block: VoterBlock, rows: Singles, counts: NDArray[np.int32], sheet: ScoreSheet) -> Pairs:
    """Add the votes of some teachers to the counts of some rows, a column per class; return what is in doubt.

    What is in doubt is counted for no class; it comes as places among the teachers, and rows.
    """
    bound = error_bound(len(rows) - 1)
    scores = sheet.product(block.weights, rows)
    if block.unknown is None:
        return _count_sides(scores, bound, counts, sheet)
    n_classes, n = block.unknown.shape
    scores = scores.reshape(n_classes, n, rows.shape[1])
    if block.unknown.any():
        scores[block.unknown] = NOWHERE
    return _count_largest(scores, bound, counts, sheet)


def _count_sides(scores: Singles, bound: np.float32, counts: NDArray[np.int32], sheet: ScoreSheet) -> Pairs:
    second, not_first = (flags[: scores.size].reshape(scores.shape) for flags in (sheet.flags, sheet.more_flags))
    np.greater(scores, bound, out=second)
    np.greater_equal(scores, -bound, out=not_first)
    seconds = np.add.reduce(second.view(np.uint8), axis=0, dtype=np.uint8).astype(np.int32)
    counts[:, 1] += seconds
    counts[:, 0] += len(scores) - seconds
    doubts = _places(np.not_equal(second, not_first, out=not_first))
    np.subtract.at(counts[:, 0], doubts[1], 1)
    return doubts


def _count_largest(scores: Singles, bound: np.float32, counts: NDArray[np.int32], sheet: ScoreSheet) -> Pairs:
    """Count who is within rounding of the largest score: in doubt wherever that is more than one class."""
    near = sheet.flags[: scores.size].reshape(scores.shape)
    floor = np.maximum.reduce(scores, axis=0)
    floor -= 2 * bound
    np.greater_equal(scores, floor, out=near)
    several = np.add.reduce(near.view(np.uint8), axis=0, dtype=np.uint8)
    doubts = _places(np.greater(several, 1))
    near[:, doubts[0], doubts[1]] = False
    counts += np.add.reduce(near.view(np.uint8), axis=1, dtype=np.uint8).T
    return doubts


def _places(flags: NDArray[np.bool_]) -> Pairs:
    """Return where flags are set: places among the teachers, and rows."""
    set_flags = flags.reshape(-1).nonzero()[0]
    return np.divmod(set_flags, flags.shape[1])
