"""Boxes whose sides all touch points of T, by strips: everything between two values of one feature.

Of all boxes with the same points of T the smallest, their bounding box, has a point on every side. In a strip, from
the a-th to the b-th value of x, such a box runs from one y of the strip's points to another, and must reach a point
on the left side, one on the right side and one on each side of the features that are held fixed. So for every upper
end d the lower ends are all the strip's ys up to some `last`; from above it, one of the sides would not be touched.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations_with_replacement, product

import numpy as np

from mapl.prediction.hypotheses.protocol import Points
from mapl.prediction.hypotheses.space.exact import Places
from mapl.types import Flags, Integers, Silent

FEW = 1 << 29
"""Of fewer records than this all sums fit half a word, which makes them twice as fast."""
Range = tuple[int, int]
SheetValues = tuple[Points, ...]


@dataclass(frozen=True, slots=True, repr=False)
class Sheet(Silent):
    """The points of T within given ranges of all features but the last two, x and y, on the grid of their values.

    ``faces[f][i, j]`` tells whether the point at the i-th x and the j-th y is on side f of the ranges.
    """

    ranges: tuple[Range, ...]
    occupied: Flags
    faces: tuple[Flags, ...]

    def strips(self) -> Iterator[tuple[Flags, Integers]]:
        """Yield for every a, by b = a, a+1, ... and y: has the strip a point there, and the last lower end."""
        on_side = last_up_to(self.occupied)
        for a in range(len(self.occupied)):
            present = np.logical_or.accumulate(self.occupied[a:], axis=0)
            last = np.minimum(on_side[a], on_side[a:])
            for face in self.faces:
                np.minimum(last, last_up_to(np.logical_or.accumulate(face[a:], axis=0)), out=last)
            last[~present] = -1
            yield present, last

    def strip(self, a: int, b: int) -> tuple[Integers, Integers]:
        """Return the ys of one strip's points, and for each as upper end the number of lower ends."""
        present = self.occupied[a : b + 1].any(axis=0)
        sides = [self.occupied[a], self.occupied[b], *(face[a : b + 1].any(axis=0) for face in self.faces)]
        last = last_up_to(np.array(sides)).min(axis=0)
        rows = np.flatnonzero(present)
        return rows, np.append(0, np.cumsum(present))[last[rows] + 1]

    def counts(self) -> Integers:
        """Return how many boxes each strip has: row a, column b."""
        n_boxes = np.zeros((len(self.occupied), len(self.occupied)), dtype=np.int64)
        for a, (present, last) in enumerate(self.strips()):
            so_far = np.cumsum(present, axis=1)
            lower_ends = np.take_along_axis(so_far, np.maximum(last, 0), axis=1)
            n_boxes[a, a:] = np.where(last >= 0, lower_ends, 0).sum(axis=1)
        return n_boxes

    def best(self, table: Integers) -> Integers:
        """Return the largest gain of any box of each strip; far below zero where there is none."""
        never = table.dtype.type(np.iinfo(table.dtype).max // 2)
        gains = np.full((len(self.occupied), len(self.occupied)), -never, dtype=np.int64)
        upper, lower = np.ascontiguousarray(table[:, 1::2]), np.ascontiguousarray(table[:, :-1:2])
        for a, (present, last) in enumerate(self.strips()):
            below = np.where(present, lower[2 * a + 1 :: 2] - lower[2 * a], never)
            np.minimum.accumulate(below, axis=1, out=below)
            until = upper[2 * a + 1 :: 2] - upper[2 * a]
            until -= np.take_along_axis(below, np.maximum(last, 0), axis=1)
            gains[a, a:] = np.where(last >= 0, until, -never).max(axis=1)
        return gains


def last_up_to(flags: Flags) -> Integers:
    """Return for each column the last one up to it that is true in the same row, or -1."""
    return np.maximum.accumulate(np.where(flags, np.arange(flags.shape[1]), -1), axis=1)


def every_sheet(points: Points, values: SheetValues) -> Iterator[Sheet]:
    """Yield the sheets of all ranges of all features but the last two."""
    places = np.stack([np.searchsorted(v, column) for v, column in zip(values, points.T, strict=True)])
    *outer, x, y = places
    shape = len(values[-2]), len(values[-1])
    for ranges in product(*(combinations_with_replacement(range(len(v)), 2) for v in values[:-2])):
        held = np.ones(len(points), dtype=bool)
        for column, (low, high) in zip(outer, ranges, strict=True):
            held &= (low <= column) & (column <= high)
        sides = [held & (column == end) for column, ends in zip(outer, ranges, strict=True) for end in ends]
        yield Sheet(ranges, grid(shape, x, y, held), tuple(grid(shape, x, y, side) for side in sides))


def grid(shape: tuple[int, int], x: Places, y: Places, some: Flags) -> Flags:
    """Mark some points on the grid of all values of x and y."""
    marked = np.zeros(shape, dtype=bool)
    marked[x[some], y[some]] = True
    return marked


def sum_weights(points: Points, weights: Integers, values: SheetValues, ranges: tuple[Range, ...]) -> Integers:
    """Return the weights of a sample within the ranges, summed up to every x and y.

    Slot 2i + 1 is the i-th value itself and slot 2i what lies between it and the one before, so row 2b + 1 less
    row 2a is the strip from a to b, and likewise for columns.
    """
    held = np.ones(len(points), dtype=bool)
    for column, v, (low, high) in zip(points.T, values, ranges, strict=False):
        held &= (v[low] <= column) & (column <= v[high])
    x, y = (
        np.searchsorted(v, column[held]) + np.searchsorted(v, column[held], side="right")
        for v, column in zip(values[-2:], points.T[-2:], strict=True)
    )
    table = np.zeros((2 * len(values[-2]) + 1, 2 * len(values[-1]) + 1), dtype=np.int64)
    np.add.at(table, (x, y), weights[held])
    kind = np.int32 if len(points) < FEW else np.int64
    return np.asarray(table.cumsum(axis=0).cumsum(axis=1), dtype=kind)
