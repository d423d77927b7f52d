"""Tables of pass probabilities: built greedily in floating point, rounded to integers, certified exactly.

A table gives the probability of abstaining, y_0 >= y_1 >= ..., at each distance. Neighbouring data move
the distance by one, so a table is private at order a and price c per abstention when every pair
(x, z) that neighbours can see satisfies

    (1-x)^a (1-z)^(1-a) + e^(-c) x^a z^(1-a) <= 1.                                                  (L)

Proofs: docs/proofs/ladder.md and docs/proofs/threshold-ladder.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from flint import arb, ctx, fmpq
from numpy.typing import NDArray

from mapl.noise import ONE
from mapl.types import Distances, Floats

LAST_ABSTENTION = 1e-7
MOST_RUNGS = 5_000
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
    def of_odds(cls, log_odds: Floats) -> LogChance:
        """Make chances of ln(y / (1-y)), accurate at both ends."""
        return cls(-np.logaddexp(0, log_odds), -np.logaddexp(0, -log_odds))

    @classmethod
    def of_passing(cls, log_passing: Floats) -> LogChance:
        """Make chances of ln(1-y), for rare passes."""
        return cls(log_passing, np.log1p(-np.exp(log_passing)))

    @classmethod
    def of_abstaining(cls, log_abstaining: Floats) -> LogChance:
        """Make chances of ln y, for rare abstentions."""
        return cls(np.log(-np.expm1(log_abstaining)), log_abstaining)

    @classmethod
    def of_numerator(cls, numerator: int) -> LogChance:
        """Make the chance of one rounded rung."""
        return cls(*(np.log(np.array([n / ONE])) for n in (numerator, ONE - numerator)))

    @property
    def log_odds(self) -> Floats:
        return self.abstaining - self.passing

    def numerator(self) -> int:
        """Round the first candidate's pass probability down to a numerator over ONE."""
        return int(to_numerators(self.passing[:1], self.abstaining[:1])[0])

    def where(self, mask: NDArray[np.bool_], other: LogChance) -> LogChance:
        return LogChance(
            np.where(mask, self.passing, other.passing), np.where(mask, self.abstaining, other.abstaining)
        )


def extrapolate(rungs: Sequence[LogChance]) -> Floats:
    """Guess the next rung's log-odds from up to three before it."""
    last = [r.log_odds for r in rungs[-3:]]
    if len(last) == 1:
        return last[0] - 1
    if len(last) == 2:
        return 2 * last[1] - last[0]
    return 3 * last[2] - 3 * last[1] + last[0]


def excess(p: LogChance, q: LogChance, order: Floats, price: Floats) -> Floats:
    """Return the left side of (L) minus one, with p in the numerator's role."""
    passing = order * p.passing + (1 - order) * q.passing
    abstaining = order * p.abstaining + (1 - order) * q.abstaining - price
    return np.asarray(np.expm1(np.minimum(passing, 700)) + np.exp(np.minimum(abstaining, 700)))


def lowest_step(
    x: LogChance, order: Floats, price: Floats, guess: Floats, *, tolerance: float = 1e-12
) -> LogChance:
    """Return the smallest z below x that satisfies (L) against x in both orders, for many candidates at once."""
    z = root(x, order, price, guess, numerator="z", tolerance=tolerance)
    if (excess(x, z, order, price) > tolerance).any():  # seen for no table yet; the certificate would refuse it
        other = root(x, order, price, guess, numerator="x", tolerance=tolerance)
        z = z.where(z.abstaining >= other.abstaining, other)
    return z


def root(
    x: LogChance,
    order: Floats,
    price: Floats,
    guess: Floats,
    *,
    numerator: Literal["x", "z"],
    tolerance: float = 1e-12,
) -> LogChance:
    """Return the z below x where (L) turns to equality with `numerator` in the numerator's role.

    (L) is convex in z, holds at z = x and fails far below, so the log-odds of the root are bracketed. Newton's
    method from the `guess` needs a handful of steps; a step that leaves the bracket is replaced by bisection.
    """
    t_high = x.log_odds
    t_low = t_high - 80
    t = np.clip(guess, t_low, t_high)
    weight = 1 - order if numerator == "x" else order
    for _ in range(100):
        z = LogChance.of_odds(t)
        p, q = (x, z) if numerator == "x" else (z, x)
        passing = np.minimum(order * p.passing + (1 - order) * q.passing, 700)
        abstaining = np.minimum(order * p.abstaining + (1 - order) * q.abstaining - price, 700)
        value = np.expm1(passing) + np.exp(abstaining)
        t_high, t_low = np.where(value <= 0, t, t_high), np.where(value > 0, t, t_low)
        # d ln z = (1-z) dt and d ln(1-z) = -z dt.
        # A slope beyond all floats makes Newton's step 0 or nothing, and the bracket is halved instead.
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            slope = weight * (np.exp(abstaining + z.passing) - np.exp(passing + z.abstaining))
            step = value / slope
        newton = t - step
        # Far below the root (L) fails exponentially and Newton would crawl.
        inside = (newton > t_low) & (newton < t_high) & (value < 20)
        moved = np.where(inside, newton, (t_low + t_high) / 2)
        done = np.abs(moved - t) < tolerance * (1 + np.abs(t))
        t = moved
        if done.all():
            break
    # Newton comes from the side where (L) fails; a step of the tolerance leads to the other.
    return LogChance.of_odds(np.where(done, np.minimum(t + 4 * tolerance * (1 + np.abs(t)), t_high), t_high))


def to_numerators(log_passing: Iterable[float], log_abstaining: Iterable[float]) -> NDArray[np.int64]:
    """Round pass probabilities down to numerators over ONE, from whichever of p and 1-p is small."""
    rounded = [
        math.floor(math.exp(lp) * ONE) if lp < ly else ONE - math.ceil(math.exp(ly) * ONE)
        for lp, ly in zip(log_passing, log_abstaining, strict=True)
    ]
    return np.array(rounded, dtype=np.int64)


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


def certify_rungs(
    numerators: NDArray[np.int64], pairs: Iterable[tuple[int, int]], order: float, price: float
) -> bool:
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
        if length <= 0:
            continue
        with np.errstate(invalid="ignore"):
            gain, cost = order * log_passing[p], (1 - order) * log_passing[q]
            left = np.where(passing[p] > 0, -np.expm1(np.minimum(gain + cost, 1.0)), 1.0)
            # Where the two nearly cancel, their rounding is all that is left of the difference.
            size = np.where(passing[p] > 0, np.abs(gain) + np.abs(cost), 1.0)
        if (left <= 1e-7 * size).any():
            return math.inf
        prices = order * log_abstaining[p] + (1 - order) * log_abstaining[q] - np.log(left)
        worst = max(worst, float(prices.max(initial=0.0)))
    return worst + 1e-6  # the cancellation in `left` leaves at least eight digits above its floor
