"""Scores: how probable every teacher finds the second class, in whole steps; private, like votes.

A score is a whole number from 0 to TOP. One teacher has one score per question, so neighbouring data change one
column of the matrix. Two things are released about it: the cell that the median lies in, with its exact distance to
instability, and the sum with noise (`noisy_mean`). Proof: docs/proofs/soft-labels.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapl.errors import InvalidData, InvalidParameter
from mapl.types import MAX_TEACHERS, Distances, Floats, Integers, Labels

TOP = 1000
"""The score of certainty; scores are thousandths."""

GOLDEN = 0.6180339887498949
QUESTIONS_AT_ONCE = 1 << 12

Marks = NDArray[np.uint16]


@dataclass(frozen=True, slots=True, repr=False)
class Scores:
    """The scores of K teachers, one row per question and one column per teacher: private, and silent about it."""

    marks: Marks

    @classmethod
    def checked(cls, marks: NDArray[Any]) -> Scores:
        """Accept whole numbers from 0 to TOP; refuse anything else."""
        if marks.ndim != 2 or 0 in marks.shape or marks.shape[1] > MAX_TEACHERS:
            raise InvalidData(
                f"The scores have shape {marks.shape}; expected one row per question and one column per teacher."
            )
        if marks.dtype.kind not in "iu" or marks.min() < 0 or marks.max() > TOP:
            raise InvalidData(f"Scores must be whole numbers from 0 to {TOP}; multiply probabilities and round.")
        return cls(marks.astype(np.uint16))

    @property
    def n_teachers(self) -> int:
        return int(self.marks.shape[1])

    def take(self, where: Integers) -> Scores:
        """Return the scores on some of the questions, in the given order."""
        return Scores(self.marks[where])

    def __len__(self) -> int:
        return len(self.marks)

    def __repr__(self) -> str:
        return f"Scores({len(self)} questions, private)"


@dataclass(frozen=True, slots=True)
class ScoreGrid:
    """Public cells of equal width, shifted a little further at every question.

    Parameters
    ----------
    width
        How many scores a cell holds.
    shift
        Where cells begin: score u lies in cell (u + shift) // width. None lets shifts run evenly through all of
        0 .. width - 1 by the number of the question, so that no score is near a boundary more often than others,
        and what rounding to the middle of a cell adds and takes away evens out.
    """

    width: int
    shift: int | None = None

    def __post_init__(self) -> None:
        if not 1 <= self.width <= TOP:
            raise InvalidParameter(f"Cells are {self.width} scores wide; they must hold from 1 to {TOP}.")
        if self.shift is not None and not 0 <= self.shift < self.width:
            raise InvalidParameter(f"The cells' shift is {self.shift}; it must be from 0 to {self.width - 1}.")

    @property
    def n_cells(self) -> int:
        """How many cells there are at most."""
        return TOP // self.width + 2 if self.shift is None else (TOP + self.shift) // self.width + 1

    def shifts(self, questions: Integers) -> Integers:
        """Return the shift at each question, by its number."""
        if self.shift is not None:
            return np.full(len(questions), self.shift, dtype=np.int64)
        turns = np.mod((questions + 1) * GOLDEN, 1.0)
        return np.asarray(np.minimum((turns * self.width).astype(np.int64), self.width - 1))

    def middles(self, questions: Integers, cells: NDArray[np.integer[Any]]) -> Floats:
        """Return the middle of a cell at each question as a probability; what sticks out of 0 .. TOP is cut off."""
        begin = cells.astype(np.int64) * self.width - self.shifts(questions)
        low, high = np.maximum(begin, 0), np.minimum(begin + self.width - 1, TOP)
        return np.asarray((low + high) / (2 * TOP), dtype=np.float64)


@dataclass(frozen=True, slots=True, repr=False)
class Medians:
    """How many teachers' scores lie in each cell, and which cells there are: what a median is decided by. Private.

    ``last`` is the number of the highest cell at each question. The value is the cell of the lower median,
    s_(mu) with mu = ceil(K / 2). After j teachers changed it lies anywhere from s_(mu-j) to s_(mu+j), so it stays
    in its cell exactly as long as fewer than mu scores can be brought below it and fewer than K - mu + 1 above.
    """

    counts: Integers
    last: Integers

    @classmethod
    def of(cls, scores: Scores, grid: ScoreGrid) -> Medians:
        """Count the scores in the cells of a grid; questions are numbered from 0."""
        numbers = np.arange(len(scores), dtype=np.int64)
        shifts = grid.shifts(numbers)
        counts = np.zeros((len(scores), grid.n_cells), dtype=np.int64)
        for start in range(0, len(scores), QUESTIONS_AT_ONCE):
            rows = slice(start, start + QUESTIONS_AT_ONCE)
            cells = (scores.marks[rows].astype(np.int64) + shifts[rows, None]) // grid.width
            for cell in range(grid.n_cells):
                counts[rows, cell] = (cells == cell).sum(axis=1)
        return cls(counts, (TOP + shifts) // grid.width)

    @property
    def n_teachers(self) -> int:
        return int(self.counts[0].sum())

    @property
    def n_classes(self) -> int:
        return int(self.counts.shape[1])

    @property
    def values(self) -> Labels:
        reached = np.cumsum(self.counts, axis=1) >= self._place
        return np.asarray(reached.argmax(axis=1), dtype=np.int32)

    @property
    def distances(self) -> Distances:
        """How many teachers can change arbitrarily without the median leaving its cell; exact.

        Nothing is below the first cell and nothing above the last one, so there only one side counts.
        """
        everybody, rows, cells = self.n_teachers, np.arange(len(self)), self.values
        up_to = np.cumsum(self.counts, axis=1)[rows, cells]
        below = up_to - self.counts[rows, cells]
        downwards = np.where(cells > 0, self._place - 1 - below, everybody)
        upwards = np.where(cells < self.last, up_to - self._place, everybody)
        return np.asarray(np.minimum(downwards, upwards), dtype=np.int64)

    @property
    def _place(self) -> int:
        return (self.n_teachers + 1) // 2

    def part(self, start: int, stop: int) -> Medians:
        return Medians(self.counts[start:stop], self.last[start:stop])

    def __len__(self) -> int:
        return len(self.counts)

    def __repr__(self) -> str:
        return f"Medians({len(self)} questions, private)"
