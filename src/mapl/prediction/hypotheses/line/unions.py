"""Unions of at most j closed intervals on one feature."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mapl.errors import InvalidParameter
from mapl.prediction.hypotheses.line.line import Line
from mapl.prediction.hypotheses.line.switches import SwitchErrors, Switches, every_switch, n_labelings
from mapl.prediction.hypotheses.protocol import Points
from mapl.prediction.hypotheses.sample import BuiltIn, as_ones, as_points
from mapl.types import Labels, Silent

MOST_INTERVALS = 100


@dataclass(frozen=True, slots=True, repr=False)
class IntervalUnion(BuiltIn, Silent):
    """1 inside any of the closed intervals."""

    intervals: tuple[tuple[float, float], ...]
    feature: int = 0

    def predict(self, X: NDArray[Any]) -> Labels:
        column = np.asarray(X)[:, self.feature]
        inside = np.zeros(len(column), dtype=np.int32)
        for low, high in self.intervals:
            inside[(low <= column) & (column <= high)] = 1
        return inside


@dataclass(frozen=True, slots=True)
class Unions(BuiltIn):
    """All unions of at most n_intervals intervals on one feature; VC dimension 2 n_intervals."""

    n_intervals: int
    feature: int = 0

    name: ClassVar[str] = "unions"

    def __post_init__(self) -> None:
        if not 1 <= self.n_intervals <= MOST_INTERVALS:
            raise InvalidParameter(
                f"A union of {self.n_intervals:.6g} intervals is asked for; it must have at least 1 and at most "
                f"{MOST_INTERVALS}, since it takes points times intervals steps."
            )

    @property
    def vc(self) -> int:
        return 2 * self.n_intervals

    def patterns(self, T: NDArray[Any]) -> UnionPatterns:
        """Return the labelings of T with few blocks of ones; each block is represented by its closed hull."""
        column = as_points(T, n_features=self.feature + 1)[:, self.feature]
        return UnionPatterns(np.unique(column), self.n_intervals, self.feature)

    def n_patterns(self, n_points: int) -> int:
        """Return the most labelings of n_points values, reached where they differ."""
        return n_labelings(n_points, self.n_intervals)


@dataclass(frozen=True, slots=True, repr=False)
class UnionPatterns(Silent):
    """Labelings of the distinct values in ascending order, given by the places where they switch."""

    values: Points
    n_intervals: int
    feature: int

    def __len__(self) -> int:
        return n_labelings(len(self.values), self.n_intervals)

    def __iter__(self) -> Iterator[IntervalUnion]:
        return map(self.representative, every_switch(len(self.values) + 1, self.n_intervals))

    def representative(self, switches: Switches) -> IntervalUnion:
        blocks = zip(switches[::2], switches[1::2], strict=True)
        return IntervalUnion(
            tuple((float(self.values[first]), float(self.values[end - 1])) for first, end in blocks), self.feature
        )

    def errors(self, X: NDArray[Any], y: NDArray[Any]) -> SwitchErrors:
        points = as_points(X, n_features=self.feature + 1)
        ones = as_ones(y, n_points=len(points))
        line = Line.of(points[:, self.feature], ones)
        # A block gains the ones minus zeros between the value it opens at and the last value it holds.
        opening = -np.append(line.below(self.values), line.total)
        closing = -np.append(0, line.up_to(self.values))
        return SwitchErrors(int(ones.sum()), opening, closing, self.n_intervals, self.representative, self.cover)

    def cover(self, x: Points) -> tuple[int, int]:
        """Return the index of the last value up to x, and one more than that of the first value from x on."""
        value = x[self.feature]
        last = int(np.searchsorted(self.values, value, side="right")) - 1
        return last, int(np.searchsorted(self.values, value, side="left")) + 1
