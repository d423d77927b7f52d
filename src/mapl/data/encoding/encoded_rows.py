"""Encoded rows in little space: most of their columns are zeros and a one, and where the ones are says it all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from mapl.types import Silent, Singles

WIDE = 8
"""From so many columns on, that have a single one among them, it is quicker to be told where it is."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class EncodedRows(Silent):
    """What an encoder returns, a row of which is a few numbers and a few ones.

    Parameters
    ----------
    full
        Columns that may hold any number.
    columns
        Which of the encoded columns these are.
    ones
        In which other columns a row has a 1, one column for each group of them; `width` where it has none.
    width
        How many encoded columns there are.
    """

    full: Singles
    columns: NDArray[np.int64]
    ones: NDArray[np.int32]
    width: int

    @classmethod
    def of(cls, matrix: Any) -> Self:
        """Return rows all of whose columns may hold any number."""
        n, width = matrix.shape
        return cls(matrix, np.arange(width, dtype=np.int64), np.empty((n, 0), dtype=np.int32), width)

    def beside(self, others: Self) -> Self:
        """Return the same rows with other columns behind these, all of which may hold any number."""
        return type(self)(
            np.hstack([self.full, others.full]),
            np.concatenate([self.columns, others.columns + self.width]),
            others.ones + np.int32(self.width),
            self.width + others.width,
        )

    @property
    def shape(self) -> tuple[int, ...]:
        return len(self.full), self.width

    def __getitem__(self, where: Any) -> Self:
        return type(self)(self.full[where], self.columns, self.ones[where], self.width)

    def toarray(self) -> Singles:
        """Return all columns side by side."""
        if not self.ones.shape[1]:
            return self.full
        out = np.zeros((len(self.full), self.width + 1), dtype=np.float32)
        out[np.arange(len(out))[:, None], self.ones] = 1
        out[:, self.columns] = self.full
        return out[:, :-1]


class BlankRows:
    """A block of zeros that is filled from left to right, with or without the columns of wide groups.

    Parameters
    ----------
    none
        What says that a row has no 1 in a group.
    """

    def __init__(self, out: Singles, ones: NDArray[np.int32] | None, none: int) -> None:
        self._out, self._ones, self._none = out, ones, none
        self._at = self._column = self._group = 0

    def write(self, columns: NDArray[Any]) -> None:
        """Write the next columns."""
        width = columns.shape[1]
        self._out[:, self._at : self._at + width] = columns
        self._at += width
        self._column += width

    def mark(self, place: NDArray[Any], known: NDArray[np.bool_], width: int) -> None:
        """Write a 1 at each row's place among so many columns where that is known."""
        if self._ones is not None and width >= WIDE:
            if known.all():
                np.add(place, self._column, out=self._ones[:, self._group], casting="unsafe")
            else:
                self._ones[:, self._group] = np.where(known, place + self._column, self._none)
            self._group += 1
        else:
            rows = np.flatnonzero(known)
            self._out[rows, self._at + place[rows].astype(np.int64, copy=False)] = 1
            self._at += width
        self._column += width
