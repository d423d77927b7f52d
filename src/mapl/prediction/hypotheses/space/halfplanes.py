"""Halfplanes by a rotating sweep: around every point of T, what lies within half a turn of each other point.

Turn a line about a point p of T until it meets another one, q: the labeling of T cannot change before. So every
labeling but the two constant ones has exactly one such p and one such direction from p, those where the arc of
directions that separate ones from zeros begins: 1 are p itself and all within the half-open half turn to the left
of q, up to and with what lies exactly behind p. That set is also the representative. It is convex, as is the rest,
and on any finite sample it agrees with a halfplane, whose border passes close to p.

Angles are floats; what they leave in doubt is decided by whole numbers, so ties and collinear points are exact.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import pi
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapl.prediction.hypotheses.listed import ListedErrors
from mapl.prediction.hypotheses.protocol import Hypothesis, Points
from mapl.prediction.hypotheses.sample import BuiltIn, as_ones, as_points
from mapl.prediction.hypotheses.space.exact import Places, Whole, distinct, weigh_points, whole
from mapl.types import Flags, Integers, Labels, Silent

DOUBT = 2.0**-44
"""Angles differ from the true ones by less than half of this: about four units of the last place of pi."""


@dataclass(frozen=True, slots=True, repr=False)
class ConstantPatterns(BuiltIn, Silent):
    """The same label everywhere."""

    label: int

    def predict(self, X: NDArray[Any]) -> Labels:
        return np.full(len(X), self.label, dtype=np.int32)


@dataclass(frozen=True, slots=True, repr=False)
class Halfplane(BuiltIn, Silent):
    """1 at the pivot and, as seen from it, from just left of `toward` up to and with straight behind."""

    pivot: Points
    toward: Points

    def predict(self, X: NDArray[Any]) -> Labels:
        points = as_points(X, n_features=2)[:, :2]
        return in_half_turn(self.pivot[None], self.toward[None], points).astype(np.int32)


@dataclass(frozen=True, slots=True, repr=False)
class HalfplanePatterns(Silent):
    """The constant 0, the constant 1, then for each pivot the directions to other points; of no points only 0.

    ``starts[i]`` is where the i-th pivot's directions begin among `towards`.
    """

    points: Points
    towards: Places
    starts: Places

    @classmethod
    def of(cls, points: Points) -> HalfplanePatterns:
        rows, _ = distinct(points)
        exact = whole(rows, factors=2)
        towards = [first_of_each_ray(rows, exact, i) for i in range(len(rows))]
        starts = np.cumsum([0, *map(len, towards)], dtype=np.intp)
        return cls(rows, np.concatenate([np.empty(0, dtype=np.intp), *towards]), starts)

    def __len__(self) -> int:
        return len(self.towards) + min(len(self.points) + 1, 2)

    def __iter__(self) -> Iterator[Hypothesis]:
        return map(self.representative, range(len(self)))

    def representative(self, i: int) -> Hypothesis:
        if i < 2:
            return ConstantPatterns(i)
        pivot = int(np.searchsorted(self.starts, i - 2, side="right")) - 1
        return Halfplane(self.points[pivot], self.points[self.towards[i - 2]])

    def errors(self, X: NDArray[Any], y: NDArray[Any]) -> ListedErrors:
        points = as_points(X, n_features=2)[:, :2]
        ones = as_ones(y, n_points=len(points))
        rows, weights = weigh_points(points, ones)
        everything = int(weights.sum())
        # A labeling errs on the ones, less what it gains by the points it calls 1: their ones minus their zeros.
        gains = np.concatenate(([0, everything], self.gains(rows, weights)))[: len(self)]
        return ListedErrors(int(ones.sum()) - gains, self.representative, self.votes)

    def gains(self, rows: Points, weights: Integers) -> Integers:
        """Sum for each pivot and direction the weights of the rows that are labelled 1."""
        exact = whole(np.concatenate([self.points, rows]), factors=2)
        ours, theirs = exact[: len(self.points)], exact[len(self.points) :]
        sums = np.zeros(len(self.towards), dtype=np.int64)
        for i, pivot in enumerate(self.points):
            here = slice(self.starts[i], self.starts[i + 1])
            towards = self.towards[here]
            seen = SeenFromPoint.of(pivot, rows, weights)
            sums[here], (ray, row, behind) = seen.half_turns(angles(pivot, self.points[towards]))
            # A sample that holds T has the very point that gives the direction: no doubt that it is outside.
            doubt = (self.points[towards[ray]] != rows[row]).any(axis=1)
            ray, row, behind = ray[doubt], row[doubt], behind[doubt]
            inside = exactly_in_half_turn(ours[i], ours[towards[ray]], theirs[row], behind=behind)
            np.add.at(sums[here], ray[inside], weights[row[inside]])
        return sums

    def votes(self, x: Points) -> Flags:
        pivots = np.repeat(self.points, np.diff(self.starts), axis=0)
        inside = in_half_turn(pivots, self.points[self.towards], x[None, :2])
        return np.concatenate(([False, True], inside))[: len(self)]


@dataclass(frozen=True, slots=True, repr=False)
class SeenFromPoint(Silent):
    """A sample as seen from a pivot: two turns of ascending angles, with running sums of the weights."""

    at_pivot: int
    ring: Points
    rows: Places
    running: Integers

    @classmethod
    def of(cls, pivot: Points, rows: Points, weights: Integers) -> SeenFromPoint:
        elsewhere = (rows != pivot).any(axis=1)
        others = np.flatnonzero(elsewhere)
        seen = angles(pivot, rows[others])
        order = np.argsort(seen)
        ranked, others = seen[order], others[order]
        return cls(
            int(weights[~elsewhere].sum()),
            np.concatenate([ranked, ranked + 2 * pi]),
            np.concatenate([others, others]),
            np.concatenate(([0], np.cumsum(np.tile(weights[others], 2)))),
        )

    def half_turns(self, directions: Points) -> tuple[Integers, tuple[Places, Places, Flags]]:
        """Sum the weights surely inside; list each direction with each row in doubt, near it or near its back."""
        first = np.where(directions < -pi / 2, directions + 2 * pi, directions)
        edges = np.searchsorted(self.ring, first[:, None] + [-DOUBT, DOUBT, pi - DOUBT, pi + DOUBT])
        sums = self.at_pivot + self.running[edges[:, 2]] - self.running[edges[:, 1]]
        begin, size = edges[:, ::2].ravel(), (edges[:, 1::2] - edges[:, ::2]).ravel()
        ray = np.repeat(np.arange(len(size)), size)
        place = np.arange(len(ray)) - np.repeat(np.cumsum(size) - size, size) + begin[ray]
        return sums, (ray // 2, self.rows[place], ray % 2 == 1)


def angles(pivots: Points, points: Points) -> Points:
    """Return the angles of points as seen from pivots, with the rounding that `DOUBT` allows for."""
    with np.errstate(over="ignore"):
        steps = points - pivots
    huge = ~np.isfinite(steps).all(axis=-1)
    if huge.any():
        steps[huge] = (points / 2 - pivots / 2)[huge]
    return np.asarray(np.arctan2(steps[..., 1], steps[..., 0]))


def in_half_turn(pivots: Points, towards: Points, points: Points) -> Flags:
    """Tell for each triple, broadcast, whether the point is labelled 1."""
    pivots, towards, points = np.broadcast_arrays(pivots, towards, points)
    turn = (angles(pivots, points) - angles(pivots, towards)) % (2 * pi)
    inside = (turn > DOUBT) & (turn < pi - DOUBT)
    at_pivot = (points == pivots).all(axis=1)
    doubt = np.flatnonzero(~inside & ~((turn > pi + DOUBT) & (turn < 2 * pi - DOUBT)) & ~at_pivot)
    three = whole(np.concatenate([pivots[doubt], towards[doubt], points[doubt]]), factors=2)
    behind = np.abs(turn[doubt] - pi) < 1
    inside[doubt] = exactly_in_half_turn(*np.split(three, 3), behind=behind)
    return np.asarray(inside | at_pivot)


def exactly_in_half_turn(pivots: Whole, towards: Whole, points: Whole, *, behind: Flags) -> Flags:
    """Decide the same in whole numbers for points that are not the pivot and nearly ahead of it or behind."""
    ahead, step = towards - pivots, points - pivots
    cross = ahead[..., 0] * step[..., 1] - ahead[..., 1] * step[..., 0]
    return np.asarray((cross > 0) | ((cross == 0) & behind), dtype=np.bool_)


def first_of_each_ray(rows: Points, exact: Whole, i: int) -> Places:
    """Return the first row on every ray from the i-th row through others."""
    others = np.delete(np.arange(len(rows)), i)
    ranked = np.sort(angles(rows[i], rows[others]))
    if len(others) < 2 or np.diff(ranked, append=ranked[0] + 2 * pi).min() > DOUBT:
        return others
    steps = exact[others] - exact[i]
    steps //= np.gcd(steps[:, 0], steps[:, 1])[:, None]
    first: dict[tuple[Any, ...], int] = {}
    for other, step in zip(others.tolist(), map(tuple, steps.tolist()), strict=True):
        first.setdefault(step, other)
    return np.array(list(first.values()), dtype=np.intp)
