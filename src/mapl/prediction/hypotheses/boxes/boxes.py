"""Errors of the boxes that touch points of T on all sides: masses strip by strip, never box by box.

In a strip the gain of a box, the ones minus zeros in it, is upper[d] - lower[c] for its ends c and d. So its mass
is a product, and the mass of a strip is a sum over upper ends of a factor times a running sum over lower ends.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from typing import Any

import numpy as np
from flint import arb, ctx
from numpy.typing import NDArray

from mapl.errors import InvalidParameter
from mapl.noise import Coins
from mapl.prediction.hypotheses.boxes.sheets import Sheet, SheetValues
from mapl.prediction.hypotheses.draw import LAW_BITS, Ball, as_numerator, as_rate, as_selection, cumulate, pick
from mapl.prediction.hypotheses.line.switches import MOST_LISTED
from mapl.prediction.hypotheses.listed import ListedErrors, one_point
from mapl.prediction.hypotheses.protocol import Hypothesis, Points, Selection
from mapl.prediction.hypotheses.sample import BuiltIn
from mapl.prediction.hypotheses.space.exact import Places
from mapl.types import Integers, Labels, Silent


@dataclass(frozen=True, slots=True, repr=False)
class Box(BuiltIn, Silent):
    """1 between low and high, ends included, in every one of the features; nowhere if low exceeds high."""

    low: Points
    high: Points
    features: tuple[int, ...]

    def predict(self, X: NDArray[Any]) -> Labels:
        points = np.asarray(X)[:, list(self.features)]
        return np.asarray(np.all((self.low <= points) & (points <= self.high), axis=1), dtype=np.int32)


@dataclass(frozen=True, slots=True, repr=False)
class Strips(Silent):
    """The strips that hold boxes: their sheet, their first and last x, and how many boxes they hold."""

    sheet: Places
    a: Places
    b: Places
    sizes: Integers

    @classmethod
    def of(cls, counts: Sequence[Integers]) -> Strips:
        every = np.array(counts).reshape(len(counts), *(counts[0].shape if counts else (0, 0)))
        sheet, a, b = np.nonzero(every)
        return cls(sheet, a, b, every[sheet, a, b])

    def __len__(self) -> int:
        return len(self.sheet)

    def those(self, of_each: Sequence[Integers]) -> Integers:
        """Return for each strip what is given by sheet, a and b."""
        places = zip(self.sheet, self.a, self.b, strict=True)
        return np.array([of_each[s][a, b] for s, a, b in places], dtype=np.int64)


class Powers(dict[int, Ball]):
    """exp(-rate * k) for whole k, made when asked for, at the precision then in force."""

    def __init__(self, rate: float) -> None:
        self.cost = as_rate(rate)

    def __missing__(self, k: int) -> Ball:
        power = self[k] = (-self.cost * k).exp()
        return power


@dataclass(frozen=True, slots=True, repr=False)
class Strip(Silent):
    """One strip: ys of its points, the gains up to and below each, the number of lower ends for each upper end."""

    rows: Integers
    upper: Integers
    lower: Integers
    limits: Integers

    def running(self, powers: Powers) -> list[Ball]:
        """Return the masses of the first 0, 1, 2, ... lower ends."""
        return list(accumulate(map(powers.__getitem__, self.lower.tolist()), initial=arb(0)))

    def masses(self, powers: Powers, *, best: int, first: int = 0, most: int | None = None) -> list[Ball]:
        """Return the mass of each upper end from the first on, with at most so many lower ends, over the best's."""
        running = self.running(powers)
        limits = self.limits[first:] if most is None else np.minimum(self.limits[first:], most)
        ends = (best - self.upper[first:]).tolist()
        return [powers[end] * running[limit] for end, limit in zip(ends, limits.tolist(), strict=True)]


@dataclass(frozen=True, slots=True, repr=False)
class BoxErrors(Silent):
    """Errors of the empty box and of every strip's boxes; ``best_gains`` has the best gain of each strip."""

    n_ones: int
    values: SheetValues
    features: tuple[int, ...]
    sheets: tuple[Sheet, ...]
    strips: Strips
    tables: tuple[Integers, ...]
    best_gains: Integers

    @property
    def best(self) -> int:
        return self.n_ones - self.top

    @property
    def top(self) -> int:
        """The largest gain; that of the empty box is nothing."""
        return int(self.best_gains.max(initial=0))

    @property
    def empty(self) -> Box:
        nowhere = np.full(len(self.features), np.inf)
        return Box(nowhere, -nowhere, self.features)

    def draw(self, rate: float, coins: Coins, *, by: Selection = "exponential") -> Hypothesis:
        if as_selection(by) == "permute-and-flip":
            return self.listed().draw(rate, coins, by=by)
        order, _ = self.by_gap()
        k = int(order[pick(cache(lambda bits: cumulate(self.masses(rate, bits=bits), bits)), coins)])
        if k == len(self.strips):
            return self.empty
        strip = self.strip(k)

        def upper_ends(bits: int) -> list[Ball]:
            with ctx.workprec(bits):
                return cumulate(strip.masses(Powers(rate), best=self.top), bits)

        def lower_ends(bits: int) -> list[Ball]:
            with ctx.workprec(bits):
                return strip.running(Powers(rate))[1 : strip.limits[d] + 1]

        d = pick(upper_ends, coins)
        c = pick(lower_ends, coins)
        low, high = self.corners(k, strip.rows[[c]], strip.rows[[d]])
        return Box(low[0], high[0], self.features)

    def law(self, rate: float, x: NDArray[Any], *, by: Selection = "exponential") -> float:
        if as_selection(by) == "permute-and-flip":
            return self.listed().law(rate, x, by=by)
        return float(self.share(rate, x).mid())

    def numerator(self, rate: float, x: NDArray[Any]) -> int:
        return as_numerator(self.share(rate, x))

    def share(self, rate: float, x: NDArray[Any]) -> Ball:
        """Return the part of the mass whose boxes hold x."""
        ones = self.masses(rate, bits=LAW_BITS, x=one_point(x)[list(self.features)])
        total = self.masses(rate, bits=LAW_BITS)
        with ctx.workprec(LAW_BITS):
            return sum(ones, arb(0)) / sum(total, arb(0))

    def by_gap(self) -> tuple[Places, Integers]:
        """Return the strips, and behind their last number the empty box, best first, and their gaps to the best."""
        gaps = self.top - np.append(self.best_gains, 0)
        order = np.argsort(gaps, kind="stable")
        return order, gaps[order]

    def masses(self, rate: float, *, bits: int, x: Points | None = None) -> list[Ball]:
        """Return the masses of the strips in that order, or of their boxes that hold x.

        All strips so far from the best that they weigh less than 2**-bits of it are in one last ball.
        """
        cost = as_rate(rate)
        order, gaps = self.by_gap()
        sizes = np.append(self.strips.sizes, 1)[order]
        reach = 1 + int(min((bits * math.log(2) + math.log(sizes.sum())) / rate, 2.0**60))
        near = int(np.searchsorted(gaps, reach))
        with ctx.workprec(bits):
            powers = Powers(rate)
            masses = [self.mass(int(k), powers, x=x) for k in order[:near]]
            if near < len(order):
                masses.append(arb(0).union(int(sizes[near:].sum()) * (-cost * reach).exp()))
        return masses

    def mass(self, k: int, powers: Powers, *, x: Points | None) -> Ball:
        """Return the mass of one strip, or of its boxes that hold x."""
        if k == len(self.strips):
            return powers[self.top] if x is None else arb(0)
        first, most = 0, None
        strip = self.strip(k)
        if x is not None:
            low, high = (corner[0, :-1] for corner in self.corners(k, strip.rows[:1], strip.rows[:1]))
            if not ((low <= x[:-1]) & (x[:-1] <= high)).all():
                return arb(0)
            heights = self.values[-1][strip.rows]
            first = int(np.searchsorted(heights, x[-1]))
            most = int(np.searchsorted(heights, x[-1], side="right"))
        return sum(strip.masses(powers, best=self.top, first=first, most=most), arb(0))

    def strip(self, k: int) -> Strip:
        """Return the ends and gains of one strip."""
        s, a, b = self.strips.sheet[k], self.strips.a[k], self.strips.b[k]
        rows, limits = self.sheets[s].strip(a, b)
        sums = self.tables[s][2 * b + 1] - self.tables[s][2 * a]
        return Strip(rows, sums[2 * rows + 1], sums[2 * rows], limits)

    def corners(self, k: int, bottom: Integers, top: Integers) -> tuple[Points, Points]:
        """Return the corners of boxes of one strip from their places at the bottom and at the top."""
        ranges = [*self.sheets[self.strips.sheet[k]].ranges, (self.strips.a[k], self.strips.b[k])]
        low, high = np.empty((2, len(bottom), len(self.values)))
        for f, (v, (first, last)) in enumerate(zip(self.values, ranges, strict=False)):
            low[:, f], high[:, f] = v[first], v[last]
        low[:, -1], high[:, -1] = self.values[-1][bottom], self.values[-1][top]
        return low, high

    def listed(self) -> ListedErrors:
        """List every box with its errors, the empty one first, if there are not too many."""
        if 1 + int(self.strips.sizes.sum()) > MOST_LISTED:
            raise InvalidParameter(
                f"permute-and-flip lists every box, and these are more than {MOST_LISTED}; draw by the exponential "
                "mechanism, which does not list them, or take fewer points."
            )
        lows, highs, gains = [self.empty.low[None]], [self.empty.high[None]], [np.zeros(1, dtype=np.int64)]
        for k in range(len(self.strips)):
            strip = self.strip(k)
            d = np.repeat(np.arange(len(strip.rows)), strip.limits)
            c = np.arange(len(d)) - np.repeat(np.cumsum(strip.limits) - strip.limits, strip.limits)
            low, high = self.corners(k, strip.rows[c], strip.rows[d])
            lows.append(low)
            highs.append(high)
            gains.append(strip.upper[d] - strip.lower[c])
        low, high = np.concatenate(lows), np.concatenate(highs)
        features = list(self.features)
        return ListedErrors(
            self.n_ones - np.concatenate(gains),
            lambda i: Box(low[i], high[i], self.features),
            lambda x: np.asarray(np.all((low <= x[features]) & (x[features] <= high), axis=1)),
        )
