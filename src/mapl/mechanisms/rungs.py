"""Tables of pass probabilities: built greedily in floating point, rounded to integers, certified exactly.

A table gives the probability of abstaining, y_0 >= y_1 >= ..., at each distance. Neighbouring data move
the distance by one, so a table is private at order a and price c per abstention when every pair
(x, z) that neighbours can see satisfies

    (1-x)^a (1-z)^(1-a) + e^(-c) x^a z^(1-a) <= 1.                                                  (L)

Proofs: docs/proofs/ladder.md and docs/proofs/threshold-ladder.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from flint import arb, ctx, fmpq
from numpy.typing import NDArray

from mapl.noise import ONE
from mapl.types import Distances

Floats = NDArray[np.float64]

LAST_ABSTENTION = 1e-7
MOST_RUNGS = 8_000
SLACKS = (1e-9, 1e-7, 1e-5)
"""Tables are built for a price this much (relatively) below the claimed one, which pays for the rounding;
the smallest slack whose table passes the exact certificate is taken."""


@dataclass(frozen=True, slots=True, eq=False)
class Rungs:
    """Exact pass probabilities by distance: numerators over ONE, the last one held beyond the end."""

    numerators: NDArray[np.int64]

    def at(self, distances: Distances) -> NDArray[np.int64]:
        """Return the pass numerator at each distance."""
        return self.numerators.take(distances, mode="clip")

    def passing(self) -> Floats:
        """Return the pass probabilities as floats, for forecasts."""
        return self.numerators / float(ONE)

    def abstaining(self) -> Floats:
        """Return the abstention probabilities as floats, accurate where they are small."""
        return (ONE - self.numerators) / float(ONE)

    def distance_for(self, probability: float) -> int | None:
        """Return the smallest distance that passes with at least this probability, if the table reaches it."""
        reached = self.abstaining() <= 1 - probability
        return int(np.argmax(reached)) if reached.any() else None

    def __len__(self) -> int:
        return len(self.numerators)


@dataclass(frozen=True, slots=True)
class LogChance:
    """Abstention probabilities y of several candidate tables, as ln(1-y) and ln y without cancellation."""

    passing: Floats
    abstaining: Floats

    @classmethod
    def of_passing(cls, log_passing: Floats) -> LogChance:
        return cls(log_passing, np.log1p(-np.exp(log_passing)))

    @classmethod
    def of_abstaining(cls, log_abstaining: Floats) -> LogChance:
        return cls(np.log1p(-np.exp(log_abstaining)), log_abstaining)

    def where(self, mask: NDArray[np.bool_], other: LogChance) -> LogChance:
        return LogChance(
            np.where(mask, self.passing, other.passing), np.where(mask, self.abstaining, other.abstaining)
        )


def excess(p: LogChance, q: LogChance, order: Floats, price: Floats) -> Floats:
    """Return the left side of (L) minus one, with p in the numerator's role."""
    passing = order * p.passing + (1 - order) * q.passing
    abstaining = order * p.abstaining + (1 - order) * q.abstaining - price
    return np.asarray(np.expm1(np.minimum(passing, 700)) + np.exp(np.minimum(abstaining, 700)))


def lowest_step(x: LogChance, order: Floats, price: Floats, guess: LogChance) -> LogChance:
    """Return the smallest z below x that satisfies (L) against x in both orders, for many candidates at once."""
    z = root(x, order, price, guess, numerator="z")
    if (excess(x, z, order, price) > 0).any():  # seen for no table yet; the certificate would refuse it
        other = root(x, order, price, guess, numerator="x")
        z = z.where(z.abstaining >= other.abstaining, other)
    return z.where(z.abstaining <= x.abstaining, x)


def root(
    x: LogChance, order: Floats, price: Floats, guess: LogChance, *, numerator: Literal["x", "z"]
) -> LogChance:
    """Return the z below x where (L) turns to equality with `numerator` in the numerator's role.

    (L) is convex in z and holds at z = x. Newton's method in the logarithm of whichever of z and 1-z
    is the small one needs a handful of steps.
    """
    z = guess
    weight = 1 - order if numerator == "x" else order
    for _ in range(40):
        p, q = (x, z) if numerator == "x" else (z, x)
        passing = np.minimum(order * p.passing + (1 - order) * q.passing, 700)
        abstaining = np.minimum(order * p.abstaining + (1 - order) * q.abstaining - price, 700)
        pass_term, abstain_term = np.exp(passing), np.exp(abstaining)
        value = np.expm1(passing) + abstain_term
        # d ln(1-z) = -z/(1-z) d ln z, and the mirror image while 1-z is the small one.
        odds = np.exp(z.abstaining - z.passing)
        ramp = odds > 1
        slope = weight * np.where(ramp, pass_term - abstain_term / odds, abstain_term - odds * pass_term)
        step = np.clip(value / slope, -2, 2)
        small = np.minimum(np.where(ramp, z.passing, z.abstaining) - step, -1e-12)
        large = np.log1p(-np.exp(small))
        z = LogChance(np.where(ramp, small, large), np.where(ramp, large, small))
        if np.abs(step).max() < 1e-11:
            break
    return z


def to_numerators(log_passing: Iterable[float], log_abstaining: Iterable[float]) -> NDArray[np.int64]:
    """Round pass probabilities down to numerators over ONE, from whichever of p and 1-p is small."""
    numerators = []
    for lp, ly in zip(log_passing, log_abstaining, strict=True):
        if lp < ly:
            numerators.append(math.floor(math.exp(lp) * ONE))
        else:
            numerators.append(ONE - math.ceil(math.exp(ly) * ONE))
    return np.array(numerators, dtype=np.int64)


class ExactChances:
    """Logarithms of a table's exact rationals in ball arithmetic, each computed once."""

    def __init__(self, numerators: list[int]) -> None:
        self._passing = [arb(fmpq(n, ONE)).log() if n else None for n in numerators]
        self._abstaining = [arb(fmpq(ONE - n, ONE)).log() if n < ONE else None for n in numerators]

    def satisfies(self, i: int, j: int, order: arb, price: arb) -> bool:
        """Say whether (L) certainly holds with rung i in the numerator's role and rung j in the other."""
        total = arb(0)
        for logs, cost in ((self._passing, arb(0)), (self._abstaining, price)):
            p, q = logs[i], logs[j]
            if p is None:
                continue
            if q is None:
                return False
            total += (order * p + (1 - order) * q - cost).exp()
        return bool(total <= 1)


def certified(numerators: NDArray[np.int64], pairs: Iterable[tuple[int, int]], order: float, price: float) -> bool:
    """Verify (L) for every listed ordered pair of rungs from the integers themselves, at 160 bits."""
    with ctx.workprec(160):
        chances = ExactChances(numerators.tolist())
        a, c = arb(order), arb(price)
        return all(chances.satisfies(i, j, a, c) for i, j in pairs)


BOTH_WAYS = ((0, 1), (1, 0))
"""Neighbouring rungs in both roles, as offsets (numerator, denominator)."""


def price_at(rungs: Rungs, order: float, pairs: tuple[tuple[int, int], ...] = BOTH_WAYS) -> float:
    """Return the price of an abstention that makes (L) hold at another order, or infinity if none does.

    `pairs` are the offsets between rungs that neighbours can see.
    """
    passing, abstaining = rungs.passing(), rungs.abstaining()
    with np.errstate(divide="ignore"):
        # ln(1-y) loses nothing by log1p where y is small, and is ln(pass) where passing is small.
        log_passing = np.where(passing < 0.5, np.log(passing), np.log1p(-np.minimum(abstaining, 0.5)))
        log_abstaining = np.log(abstaining)
    worst = 0.0
    for i, j in pairs:
        length = len(rungs) - max(i, j)
        p, q = slice(i, i + length), slice(j, j + length)
        exponent = np.where(passing[p] > 0, order * log_passing[p] + (1 - order) * log_passing[q], -np.inf)
        left = -np.expm1(np.minimum(exponent, 1.0))
        if length <= 0 or left.min() <= 1e-10:
            return math.inf
        prices = order * log_abstaining[p] + (1 - order) * log_abstaining[q] - np.log(left)
        worst = max(worst, float(prices.max(initial=0.0)))
    return worst + 1e-5  # the cancellation in `left` loses at most six digits above its floor
