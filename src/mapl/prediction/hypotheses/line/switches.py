"""Errors of labelings that switch a few times along a line: masses by position and switches, never one by one.

Along g sorted values there are g+1 places to switch. A labeling with b blocks of ones opens and closes at
places l1 < r1 < l2 < r2 < ..., and its errors are a base plus the sum of closing[r] - opening[l] over its blocks.
So exp(-rate * errors) is a product over the switches, and the mass of all ways to place the first s switches
before place c is a running sum over the mass of s-1 switches: O(g) for each switch, all labelings included.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import accumulate, combinations
from math import comb
from operator import mul
from typing import Any

import numpy as np
from flint import arb, ctx
from numpy.typing import NDArray

from mapl.errors import InvalidParameter
from mapl.noise import Coins
from mapl.prediction.hypotheses.draw import LAW_BITS, Ball, as_numerator, as_rate, as_selection, cumulate, pick
from mapl.prediction.hypotheses.listed import ListedErrors, one_point
from mapl.prediction.hypotheses.protocol import Hypothesis, Points, Selection
from mapl.types import Integers, Silent

MOST_LISTED = 1 << 20

Switches = tuple[int, ...]
Covers = Callable[[Points], tuple[int, int]]


@dataclass(frozen=True, slots=True, repr=False)
class SwitchErrors(Silent):
    """Errors of every labeling with at most max_blocks blocks, in factors.

    ``cover(x)`` returns the last place to open and the first place to close of a block that labels x with 1.
    """

    base: int
    opening: Integers
    closing: Integers
    max_blocks: int
    representative: Callable[[Switches], Hypothesis]
    cover: Covers

    @property
    def best(self) -> int:
        fewest = np.zeros(len(self.opening) + 1, dtype=np.int64)
        least = 0
        for _ in range(self.max_blocks):
            for cost in (-self.opening, self.closing):
                never = np.iinfo(np.int64).max // 4
                fewest = np.concatenate(([never], np.minimum.accumulate(fewest[:-1] + cost)))
            least = min(least, int(fewest[-1]))
        return self.base + least

    def draw(self, rate: float, coins: Coins, *, by: Selection = "exponential") -> Hypothesis:
        if as_selection(by) == "permute-and-flip":
            return self.listed().draw(rate, coins, by=by)
        rows = cache(lambda bits: self.rows(rate, bits=bits))
        n_switches = 2 * pick(lambda bits: cumulate((row[-1] for row in rows(bits)[::2]), bits), coins)

        def ends(bits: int, s: int, limit: int) -> Sequence[Ball]:
            return rows(bits)[s][1 : limit + 1]

        # A row of running sums is what the last switch of its number is drawn by, the last one first.
        switches: list[int] = []
        limit = len(self.opening)
        for s in range(n_switches, 0, -1):
            limit = pick(partial(ends, s=s, limit=limit), coins)
            switches.insert(0, limit)
        return self.representative(tuple(switches))

    def law(self, rate: float, x: NDArray[Any], *, by: Selection = "exponential") -> float:
        if as_selection(by) == "permute-and-flip":
            return self.listed().law(rate, x, by=by)
        return float(self.share(rate, x).mid())

    def numerator(self, rate: float, x: NDArray[Any]) -> int:
        return as_numerator(self.share(rate, x))

    def share(self, rate: float, x: NDArray[Any]) -> Ball:
        """Return the part of the mass that labels x with 1, by an odd number of switches before x."""
        last_open, first_close = self.cover(one_point(x))
        rows = self.rows(rate, bits=LAW_BITS)
        inside = [row[last_open + 1] if s % 2 else arb(0) for s, row in enumerate(rows)]
        ones = self.rows(rate, bits=LAW_BITS, start=inside, since=first_close)
        with ctx.workprec(LAW_BITS):
            return sum(row[-1] for row in ones[::2]) / sum(row[-1] for row in rows[::2])

    def rows(
        self, rate: float, *, bits: int, start: Sequence[Ball] | None = None, since: int = 0
    ) -> list[list[Ball]]:
        """Return for s = 0, 1, ... the mass of s switches before each place, running on from `start` at `since`."""
        n_rows = 2 * self.max_blocks + 1
        start = start or [arb(1)] + [arb(0)] * (n_rows - 1)
        with ctx.workprec(bits):
            opening, closing = self.powers(rate, -self.opening[since:]), self.powers(rate, self.closing[since:])
            rows = [[start[0]] * (len(opening) + 1)]
            for s in range(1, n_rows):
                factors = opening if s % 2 else closing
                rows.append(list(accumulate(map(mul, rows[-1], factors), initial=start[s])))
        return rows

    @staticmethod
    def powers(rate: float, errors: Integers) -> list[Ball]:
        """Return exp(-rate * errors) at the precision in force."""
        distinct, place = np.unique(errors, return_inverse=True)
        powers = [(-as_rate(rate) * int(k)).exp() for k in distinct]
        return [powers[i] for i in place]

    def listed(self) -> ListedErrors:
        """List every labeling with its errors, if there are not too many."""
        n_places = len(self.opening)
        if n_labelings(n_places - 1, self.max_blocks) > MOST_LISTED:
            raise InvalidParameter(
                f"permute-and-flip lists every labeling, and these are more than {MOST_LISTED}; draw by the "
                "exponential mechanism, which does not list them, or take fewer points or blocks."
            )
        labelings = list(every_switch(n_places, self.max_blocks))
        counts = np.array([self.errors_of(switches) for switches in labelings], dtype=np.int64)
        representatives = list(map(self.representative, labelings))
        return ListedErrors(
            counts,
            representatives.__getitem__,
            lambda x: np.array([h.predict(x[None])[0] == 1 for h in representatives]),
        )

    def errors_of(self, switches: Switches) -> int:
        return self.base + int(self.closing[list(switches[1::2])].sum() - self.opening[list(switches[::2])].sum())


def every_switch(n_places: int, max_blocks: int) -> Iterator[Switches]:
    """Yield the switches of every labeling, those with fewer blocks first."""
    for n_blocks in range(max_blocks + 1):
        yield from combinations(range(n_places), 2 * n_blocks)


def n_labelings(n_values: int, max_blocks: int) -> int:
    """Return how many labelings of n_values values in a row have at most max_blocks blocks of ones."""
    return sum(comb(n_values + 1, 2 * n_blocks) for n_blocks in range(max_blocks + 1))
