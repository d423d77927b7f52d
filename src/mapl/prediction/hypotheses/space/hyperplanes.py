"""Halfspaces in a few dimensions: every hyperplane through points of T, with all that it can do to those on it.

A hyperplane that separates ones from zeros can be moved until p independent points of T lie on it, ones and zeros
still on their sides or on it; those on it are separated within it. So the labelings of T are: a hyperplane spanned
by points of T, one of its sides, and a labeling of the points on it by halfspaces of one dimension less. The first
of those that give the same labeling is its representative; it is that side together with the representative
within the hyperplane. It is convex, as is the rest, and on any finite sample it agrees with a halfspace.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

import numpy as np
from flint import fmpz_mat
from numpy.typing import NDArray

from mapl.prediction.hypotheses.line.stumps import first_of_equals, row_keys
from mapl.prediction.hypotheses.listed import ListedErrors
from mapl.prediction.hypotheses.protocol import Hypothesis, Points
from mapl.prediction.hypotheses.sample import BuiltIn, as_ones, as_points
from mapl.prediction.hypotheses.space.exact import Places, distinct, weigh_points, whole
from mapl.prediction.hypotheses.space.flats import Flats, Sides
from mapl.prediction.hypotheses.space.halfplanes import ConstantPatterns
from mapl.types import Flags, Integers, Labels, Silent, Words


@dataclass(frozen=True, slots=True, repr=False)
class Halfspace(BuiltIn, Silent):
    """One side of a hyperplane, and within it the representative of the labels of the points that span it."""

    flat: Flats
    above: bool
    spanning: Points
    labels: Flags
    axes: Places

    def predict(self, X: NDArray[Any]) -> Labels:
        points = as_points(X, n_features=int(self.axes.max()) + 1)[:, self.axes]
        sides = self.flat.sides(points)[0]
        ones: Flags = np.asarray(sides > 0 if self.above else sides < 0)
        on = np.flatnonzero(sides == 0)
        place = places(self.spanning, points[on])
        ones[on] = self.labels[place]
        others = on[place < 0]
        if len(others):
            ones[others] = self.within().predict(points[others])
        return np.asarray(ones, dtype=np.int32)

    def within(self) -> Hypothesis:
        inner = HyperplanePatterns.of(self.spanning)
        return inner.representative(int(inner.find(self.labels[None])[0]))


@dataclass(frozen=True, slots=True, repr=False)
class HyperplanePatterns(Silent):
    """The constant 0, the constant 1, then labelings by a hyperplane, a side and a labeling of what lies on it.

    Only the features `axes` are looked at: the first ones in which T spans all its dimensions.
    """

    points: Points
    axes: Places
    flats: Flats
    on: Flags
    plane: Places
    above: Flags
    labels: Flags

    @classmethod
    def of(cls, points: Points) -> HyperplanePatterns:
        rows, _ = distinct(points)
        axes = find_spanning_axes(rows)
        rows = rows[:, axes]
        n, p = rows.shape
        some = list(combinations(range(n), p)) if p else []
        simplices = np.array(some, dtype=np.intp).reshape(len(some), p)
        flats = Flats.of(rows, simplices)
        sides = flats.sides(rows)
        spanned = np.flatnonzero(~(sides == 0).all(axis=1))  # every point lies on what dependent points span
        first = spanned[first_of_equals(hashes(sides[spanned] == 0, row_keys(n)))] if len(spanned) else spanned
        flats, sides = flats.kept(first), sides[first]
        return cls(rows, axes, flats, sides == 0, *labelings(rows, sides, flats.simplices))

    def __len__(self) -> int:
        return len(self.plane) + self.n_constants

    @property
    def n_constants(self) -> int:
        return min(len(self.points) + 1, 2)

    def __iter__(self) -> Iterator[Hypothesis]:
        return map(self.representative, range(len(self)))

    def representative(self, i: int) -> Hypothesis:
        if i < 2:
            return ConstantPatterns(i)
        plane = self.plane[i - 2]
        on = self.on[plane]
        flat = self.flats.kept([plane])
        return Halfspace(flat, bool(self.above[i - 2]), self.points[on], self.labels[i - 2, on], self.axes)

    def errors(self, X: NDArray[Any], y: NDArray[Any]) -> ListedErrors:
        points = as_points(X, n_features=int(self.axes.max(initial=-1)) + 1)
        ones = as_ones(y, n_points=len(points))
        gains = self.gains(*weigh_points(points[:, self.axes], ones))
        return ListedErrors(int(ones.sum()) - gains, self.representative, self.votes)

    def gains(self, rows: Points, weights: Integers) -> Integers:
        """Sum for each labeling the weights of the rows, distinct and on our axes, that are labelled 1."""
        place = places(self.points, rows)
        known = place >= 0
        ours = np.zeros(len(self.points), dtype=np.int64)
        ours[place[known]] = weights[known]
        rows, weights = rows[~known], weights[~known]
        above, below, (plane, on) = self.flats.balance(rows, weights)
        gains = self.labels @ ours + np.where(self.above, above[self.plane], below[self.plane])
        order = np.argsort(plane, kind="stable")
        for some in np.split(order, np.flatnonzero(np.diff(plane[order])) + 1) if len(order) else []:
            here, inner, which = self.within(int(plane[some[0]]))
            gains[here] += inner.gains(rows[on[some]][:, inner.axes], weights[on[some]])[which]
        return np.concatenate(([0, ours.sum() + weights.sum()][: self.n_constants], gains))

    def votes(self, x: Points) -> Flags:
        x = x[self.axes]
        sides = self.flats.sides(x[None])[:, 0]
        votes = np.where(self.above, sides[self.plane] > 0, sides[self.plane] < 0)
        place = int(places(self.points, x[None])[0])
        if place >= 0:
            votes = self.labels[:, place]
        else:
            for plane in np.flatnonzero(sides == 0):
                here, inner, which = self.within(int(plane))
                votes[here] = inner.votes(x)[which]
        return np.concatenate(([False, True][: self.n_constants], votes))

    def within(self, plane: int) -> tuple[Places, HyperplanePatterns, Places]:
        """Return the labelings by a hyperplane, the patterns of what lies on it, and which of those each uses."""
        here = np.flatnonzero(self.plane == plane)
        inner = HyperplanePatterns.of(self.points[self.on[plane]])
        return here, inner, inner.find(self.labels[here][:, self.on[plane]])

    @property
    def every(self) -> Flags:
        """All labelings of the points, constants included."""
        constants = np.repeat([[False], [True]], len(self.points), axis=1)
        return np.concatenate((constants[: self.n_constants], self.labels))

    def find(self, labels: Flags) -> Places:
        """Return the places of the given labelings."""
        place = {row.tobytes(): i for i, row in enumerate(self.every)}
        return np.array([place[row.tobytes()] for row in labels], dtype=np.intp)


def labelings(rows: Points, sides: Sides, simplices: Places) -> tuple[Places, Flags, Flags]:
    """Return hyperplane, side and labels of every labeling but the constants, of equal ones the first.

    Hyperplanes with just p points, on which all labels are possible, come first; others ask their inner patterns.
    """
    n, p = rows.shape
    on, keys = sides == 0, row_keys(n)
    by_side = np.stack([hashes(sides < 0, keys), hashes(sides > 0, keys)], axis=2)
    is_simplex = on.sum(axis=1) == p
    simple, other = np.flatnonzero(is_simplex), np.flatnonzero(~is_simplex)
    all_ways = np.array(list(product((False, True), repeat=p)), dtype=bool).reshape(2**p, p)
    inner = [HyperplanePatterns.of(rows[on[plane]]).every for plane in other]

    within = keys[:, simplices[simple]] @ all_ways.T.astype(np.uint64)
    found = [np.zeros((2, 1), dtype=np.uint64), keys.sum(axis=1, keepdims=True)]
    found.append((by_side[:, simple, :, None] + within[:, :, None, :]).reshape(2, -1))
    for one, ways in zip(other, inner, strict=True):
        within = hashes(ways, keys[:, on[one]])
        found.append((by_side[:, one, :, None] + within[:, None, :]).reshape(2, -1))
    first = first_of_equals(np.concatenate(found, axis=1))
    first = first[first >= 2] - 2

    sizes = np.array([len(all_ways)] * len(simple) + [len(ways) for ways in inner], dtype=np.intp)
    starts = 2 * np.cumsum(np.append(0, sizes))
    which = np.searchsorted(starts, first, side="right") - 1
    plane, size, place = np.append(simple, other)[which], sizes[which], first - starts[which]
    above, way = place >= size, place % size
    labels = np.where(above[:, None], sides[plane] > 0, sides[plane] < 0)
    here = np.flatnonzero(which < len(simple))
    labels[here[:, None], simplices[plane[here]]] = all_ways[way[here]]
    for k, ways in enumerate(inner):
        here = np.flatnonzero(which == len(simple) + k)
        labels[np.ix_(here, on[other[k]])] = ways[way[here]]
    return plane, above, labels


def hashes(flags: Flags, keys: Words) -> Words:
    """Return the sums of the keys of what each row of flags holds; see `stumps.lower_sets`."""
    return np.stack([flags @ word for word in keys])


def find_spanning_axes(rows: Points) -> Places:
    """Return the first columns, each independent of those before it, in which the rows differ in all dimensions."""
    exact = whole(rows, factors=1)
    steps = (exact - exact[:1]).astype(object)
    axes: list[int] = []
    for axis in range(rows.shape[1] if len(rows) > 1 else 0):
        if fmpz_mat(steps[:, [*axes, axis]].tolist()).rank() > len(axes):
            axes.append(axis)
    return np.array(axes, dtype=np.intp)


def places(points: Points, rows: Points) -> Places:
    """Return which of the distinct points each row is, or -1."""
    _, like = distinct(np.concatenate([points, rows]))
    table = np.full(len(like), -1, dtype=np.intp)
    table[like[: len(points)]] = np.arange(len(points))
    return np.asarray(table[like[len(points) :]])
