"""Many hyperplanes through points of T, and on which side of each a point lies, exactly."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapl.prediction.hypotheses.protocol import Points
from mapl.prediction.hypotheses.space.exact import Places, cofactors, whole
from mapl.types import Flags, Integers, Silent

SLACK = 2.0**-39
"""More than rounding adds to a value in up to four dimensions, for a scaled point no farther away than 1."""
FARTHEST = 2.0**1000
"""Farther away products may overflow, and the sign of infinity proves nothing."""
BLOCK = 1 << 17
"""Pairs at a time; what a processor keeps close."""

Sides = NDArray[np.int8]
NOTHING: Places = np.empty(0, dtype=np.intp)


@dataclass(frozen=True, slots=True, repr=False)
class Flats(Silent):
    """Row h of `simplices` names the p of the `points` that hyperplane h passes through.

    Normals and offsets are floats for points moved by the first point and scaled by powers of two to reach
    about 1. They settle the side of nearly every point; whole numbers settle the rest.
    """

    points: Points
    simplices: Places
    normals: Points
    offsets: Points

    @classmethod
    def of(cls, points: Points, simplices: Places) -> Flats:
        corners = scale_columns(points, points)[simplices]
        with np.errstate(over="ignore", invalid="ignore"):
            normals = cofactors(corners[:, 1:] - corners[:, :1])
            normals[~np.isfinite(normals).all(axis=1)] = np.nan  # nothing is sure about such a hyperplane
            offsets = np.einsum("hk,hik->h", normals, corners[:, :1])
        return cls(points, simplices, normals, offsets)

    def __len__(self) -> int:
        return len(self.simplices)

    def kept(self, these: Any) -> Flats:
        return Flats(self.points, self.simplices[these], self.normals[these], self.offsets[these])

    def sides(self, points: Points) -> Sides:
        """Return 1, -1 or, on the hyperplane itself, 0 for every hyperplane and point."""
        every = np.empty((len(self), len(points)), dtype=np.int8)
        for here, above, plane, row in self.blocks(points):
            every[here] = np.where(above, 1, -1)
            every[plane, row] = self.exact_sides(plane, row, points)
        return every

    def balance(self, points: Points, weights: Integers) -> tuple[Integers, Integers, tuple[Places, Places]]:
        """Sum the weights above each hyperplane and those below it, and list hyperplanes with points on them."""
        sums = np.zeros(len(self), dtype=np.int64)
        rest = np.full(len(self), weights.sum(), dtype=np.int64)
        floats = weights.astype(np.float64)
        on = [(NOTHING, NOTHING)]
        for here, above, plane, row in self.blocks(points):
            sides = self.exact_sides(plane, row, points)
            above[plane - here.start, row] = sides > 0
            sums[here] = above.astype(np.float64) @ floats  # whole and below 2**53, so exact in floats
            plane, row = plane[sides == 0], row[sides == 0]
            np.subtract.at(rest, plane, weights[row])
            on.append((plane, row))
        planes, rows = map(np.concatenate, zip(*on, strict=True))
        return sums, rest - sums, (planes, rows)

    def blocks(self, points: Points) -> Iterator[tuple[slice, Flags, Places, Places]]:
        """Yield some hyperplanes at a time with the points above them, and the pairs that are in doubt."""
        if not len(self):
            return
        near = scale_columns(points, self.points)
        columns = np.append(near, np.full((len(near), 1), -1.0), axis=1).T
        far = np.abs(near).max(axis=1, initial=0.0)
        reach = np.where(far < FARTHEST, SLACK * (1 + far), np.inf)
        step = max(BLOCK // max(len(points), 1), 1)
        for start in range(0, len(self), step):
            here = slice(start, min(start + step, len(self)))
            with np.errstate(over="ignore", invalid="ignore"):
                values = np.append(self.normals[here], self.offsets[here, None], axis=1) @ columns
                above = values > 0
                sure = np.abs(values, out=values) > reach  # what is not a number is not sure
            plane, row = np.nonzero(~sure) if not sure.all() else (NOTHING, NOTHING)
            yield here, above, plane + start, row

    def exact_sides(self, plane: Places, row: Places, points: Points) -> Sides:
        """Return the sides of pairs of a hyperplane and a point in whole numbers."""
        sides = np.zeros(len(plane), dtype=np.int8)
        if not len(plane):
            return sides
        corner = (self.points[self.simplices[plane]] == points[row, None]).all(axis=2).any(axis=1)
        todo = np.flatnonzero(~corner)
        named, place = np.unique(row[todo], return_inverse=True)
        exact = whole(np.concatenate([self.points, points[named]]), factors=self.points.shape[1])
        corners = exact[self.simplices[plane[todo]]]
        normals = cofactors(corners[:, 1:] - corners[:, :1])
        values = (normals * (exact[len(self.points) + place] - corners[:, 0])).sum(axis=1)
        sides[todo] = (values > 0).astype(np.int8) - (values < 0).astype(np.int8)
        return sides


def scale_columns(points: Points, reference: Points) -> Points:
    """Move the reference's first row to 0 and stretch each column so that the reference reaches about 1."""
    with np.errstate(over="ignore"):
        width = np.abs(reference - reference[:1]).max(axis=0, initial=0.0)
        exponent = np.frexp(np.minimum(width, np.finfo(np.float64).max))[1]
        return np.asarray(np.ldexp(points - reference[:1], -exponent))
