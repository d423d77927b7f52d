"""Counting many votes of linear teachers: products of 32-bit numbers, block by block, and counts at once.

Rows and weights are scaled by powers of two to a length of at most one, which moves no decision. A score is then
wrong by at most a known bound; whatever is decided by less is computed again in 64 bits, and if need be exactly. So
the votes are those of `LinearPanel`, and never more than one block of scores is in memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mapl.types import Floats, Singles

if TYPE_CHECKING:
    from mapl.teachers.panel.linear import LinearPanel

Pairs = tuple[NDArray[np.int64], NDArray[np.int64]]

QUESTIONS_AT_ONCE = 1024
SCORE_ROWS_AT_ONCE = 320
MOST_COUNTED = 255
"""Votes of a block are added up as 8-bit numbers."""

NOWHERE = -4.0
"""The score of a class that a teacher does not know; scores lie between -1 and 1."""

DOUBTS_AT_ONCE = 1 << 10
"""What is in doubt waits until so much of it can be decided at once; with 784 columns that is 6 MB of rows."""


@dataclass(frozen=True, slots=True, repr=False)
class VoterBlock:
    """Some teachers as 32-bit numbers: for each class, or for two classes once, a row of weights each. Private."""

    teachers: NDArray[np.int64]
    weights: Singles
    unknown: NDArray[np.bool_] | None
    """Classes x teachers; None where the weights decide between two classes."""

    def __repr__(self) -> str:
        return "VoterBlock(private)"


def voter_blocks(panel: LinearPanel, teachers: NDArray[np.int64]) -> Iterator[VoterBlock]:
    """Part teachers into blocks; their weights stand in the order of class numbers."""
    width = 1 if panel.n_classes == 2 else panel.n_classes
    at_once = max(1, min(MOST_COUNTED, SCORE_ROWS_AT_ONCE // width))
    for start in range(0, len(teachers), at_once):
        some = teachers[start : start + at_once]
        codes = panel.codes[some]
        places = some[:, None] * width + np.arange(width)
        weights = np.concatenate([panel.columns.T[places], panel.intercepts[places][:, :, None]], axis=2)
        unknown = np.isinf(weights[:, :, -1])
        weights[unknown] = 0.0
        weights = np.ldexp(
            weights, -_exponents(np.sqrt((weights * weights).sum(axis=2)).max(axis=1))[:, None, None]
        )
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
class ScoreSheet:
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

    def __repr__(self) -> str:
        return "ScoreSheet(private)"


class Doubts:
    """Votes that 32 bits do not decide: who was asked what, and the rows of these questions. Private."""

    def __init__(self) -> None:
        self._waiting: list[tuple[NDArray[np.int64], NDArray[np.int64], Floats]] = []
        self._n = 0

    def __len__(self) -> int:
        return self._n

    def note(
        self,
        teachers: NDArray[np.int64],
        asked: NDArray[np.int64],
        features: Floats,
        start: int,
        lost: NDArray[np.bool_],
    ) -> None:
        """Keep some until they are decided; rows that fail all teachers are in no doubt."""
        if not len(asked):
            return
        if lost.any():
            kept = ~lost[asked]
            teachers, asked = teachers[kept], asked[kept]
        for at in range(0, len(asked), DOUBTS_AT_ONCE):
            part = asked[at : at + DOUBTS_AT_ONCE]
            self._waiting.append((teachers[at : at + DOUBTS_AT_ONCE], part + start, features[part]))
        self._n += len(asked)

    def taken(self) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], Floats]]:
        """Yield teachers, questions and rows, in portions, and forget them."""
        waiting, self._waiting, self._n = self._waiting, [], 0
        while waiting:
            portion, n = [], 0
            while waiting and n < DOUBTS_AT_ONCE:
                portion.append(waiting.pop())
                n += len(portion[-1][1])
            teachers, asked, rows = (np.concatenate(parts) for parts in zip(*portion, strict=True))
            yield teachers, asked, rows

    def __repr__(self) -> str:
        return "Doubts(private)"


def scale(features: Floats) -> Singles:
    """Return rows as columns, with a one below them, at most one long."""
    squares = (features[:, None, :] @ features[:, :, None])[:, 0, 0]
    down = -_exponents(np.sqrt(squares + 1.0))
    rows = np.empty((len(features), features.shape[1] + 1), dtype=np.float32)
    factors = np.ldexp(1.0, down)
    np.multiply(features, factors[:, None], out=rows[:, :-1], casting="same_kind")
    rows[:, -1] = factors
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
    return _count_largest(scores, bound, counts)


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


def _count_largest(scores: Singles, bound: np.float32, counts: NDArray[np.int32]) -> Pairs:
    best, runner_up = scores[0].copy(), np.full_like(scores[0], NOWHERE)
    chosen = np.zeros(best.shape, dtype=np.uint8)
    higher, lower = np.empty(best.shape, dtype=np.bool_), np.empty_like(best)
    for c in range(1, len(scores)):
        np.greater(scores[c], best, out=higher)
        np.minimum(scores[c], best, out=lower)
        np.maximum(runner_up, lower, out=runner_up)
        np.maximum(best, scores[c], out=best)
        np.maximum(chosen, np.multiply(higher.view(np.uint8), np.uint8(c)), out=chosen)
    np.subtract(best, runner_up, out=lower)
    doubts = _places(np.less_equal(lower, 2 * bound, out=higher))
    chosen[doubts[0], doubts[1]] = MOST_COUNTED
    for c in range(len(scores)):
        counts[:, c] += np.add.reduce(np.equal(chosen, c, out=higher).view(np.uint8), axis=0, dtype=np.uint8)
    return doubts


def _places(flags: NDArray[np.bool_]) -> Pairs:
    """Return where flags are set: places among the teachers, and rows."""
    set_flags = flags.reshape(-1).nonzero()[0]
    return np.divmod(set_flags, flags.shape[1])


def _exponents(sizes: Any) -> NDArray[np.int32]:
    """Return powers of two that are no smaller than some sizes."""
    return np.asarray(np.frexp(sizes)[1], dtype=np.int32)
