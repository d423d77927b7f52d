"""Exact draws: one index by real masses known to any precision, or by permute-and-flip.

The exponential mechanism's masses are exp(-rate * errors), irrational numbers, and for large classes sums of
very many of them. Nothing is rounded: a uniform real is read from the coins word by word, and an index is
taken once ball arithmetic proves that the real lies between its two cumulative masses. One word nearly always
suffices; if not, both the real and the balls are refined.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from functools import cache, lru_cache
from itertools import accumulate, pairwise
from typing import Any, get_args

import numpy as np
from flint import arb, ctx
from numpy.typing import NDArray

from mapl.errors import InvalidParameter
from mapl.noise import ONE, Coins
from mapl.prediction.hypotheses.protocol import Selection
from mapl.types import Integers

WORD = 64
GLANCE = 24
"""Bits of the first word that are looked at alone: few masses matter then, and they nearly always decide."""
GUARD = 64
GLANCE_GUARD = 24
"""Balls are computed with this many bits more than are looked at of the uniform real."""
LAW_BITS = 192
LONGEST = 1 << 20

Ball = Any
"""A `flint.arb`: an interval that surely holds the real number."""


def as_rate(rate: float) -> Ball:
    """Return the rate as an exact ball; it is what one error costs, a positive number."""
    if not (isinstance(rate, (int, float)) and 0 < rate < 1e6):
        raise InvalidParameter(f"rate is {rate}; it must be a positive number below 1e6, the cost of one error.")
    return arb(rate)


def as_selection(by: str) -> str:
    """Return the name of a way to select, if there is one of that name."""
    if by not in get_args(Selection):
        raise InvalidParameter(f"by is {by!r}; it must be one of {', '.join(get_args(Selection))}.")
    return by


def cumulate(masses: Iterable[Ball], bits: int) -> list[Ball]:
    """Return the running sums of the masses at the given precision."""
    with ctx.workprec(bits):
        return list(accumulate(masses))


def pick(ends: Callable[[int], Sequence[Ball]], coins: Coins) -> int:
    """Return i with probability (ends[i] - ends[i-1]) / ends[-1], exactly.

    ``ends(bits)`` encloses the cumulative masses, with radii that shrink to nothing as bits grow.
    """
    uniform, n_bits = int(coins.words(1)[0]), WORD
    place = _place(ends, uniform >> (WORD - GLANCE), GLANCE, GLANCE + GLANCE_GUARD)
    while place is None:
        place = _place(ends, uniform, n_bits, n_bits + GUARD)
        if place is None:
            uniform, n_bits = (uniform << WORD) | int(coins.words(1)[0]), n_bits + WORD
    return place


def _place(ends: Callable[[int], Sequence[Ball]], uniform: int, n_bits: int, precision: int) -> int | None:
    """Return where every real that begins with these bits lies, or None if that is not certain."""
    balls = ends(precision)
    with ctx.workprec(precision):
        cell = balls[-1] / (1 << n_bits)
        low, high = cell * uniform, cell * (uniform + 1)
        # A comparison of balls is true only where it is certain.
        place = bisect_left(balls, True, key=lambda end: not (end <= low))
        sure = place < len(balls) and high <= balls[place] and (place == 0 or balls[place - 1] <= low)
        return place if sure else None


def pick_by_gap(gaps: Integers, rate: float, coins: Coins) -> int:
    """Return index i with probability proportional to exp(-rate * gaps[i]), exactly; the least gap is 0."""
    sizes = np.bincount(gaps)
    present = np.flatnonzero(sizes)
    ends = cache(lambda bits: cumulate(gap_masses(present, sizes[present], rate, bits=bits), bits))
    members = np.flatnonzero(gaps == present[pick(ends, coins)])
    return int(members[coins.below(np.array([len(members)]))[0]])


def gap_masses(gaps: Integers, sizes: Integers, rate: float, *, bits: int) -> list[Ball]:
    """Return sizes * exp(-rate * gaps) for ascending gaps, with all negligible ones in one last ball.

    Together they weigh less than 2**-bits of the first.
    """
    cost = as_rate(rate)
    if not len(gaps):
        return []
    with ctx.workprec(bits):
        # Where to cut is free, as the last ball holds whatever is behind the cut.
        reach = int(gaps[0]) + 1 + int(min((bits * math.log(2) + math.log(sizes.sum())) / rate, 2.0**60))
        near = int(np.searchsorted(gaps, reach))
        masses = [int(size) * (-cost * int(gap)).exp() for gap, size in zip(gaps[:near], sizes[:near], strict=True)]
        if near < len(gaps):
            masses.append(arb(0).union(int(sizes[near:].sum()) * (-cost * reach).exp()))
        return masses


def gap_mass(gaps: Integers, rate: float, *, bits: int) -> Ball:
    """Return the sum of exp(-rate * gap)."""
    sizes = np.bincount(gaps)
    present = np.flatnonzero(sizes)
    return cumulate([arb(0), *gap_masses(present, sizes[present], rate, bits=bits)], bits)[-1]


def as_numerator(share: Ball) -> int:
    """Return a probability as the numerator over 2**62 nearest to the middle of its ball."""
    with ctx.workprec(LAW_BITS):
        nearest = (share.mid() * ONE + arb(1) / 2).floor().unique_fmpz()
    return min(max(int(nearest), 0), ONE)


def permute_and_flip(gaps: Integers, rate: float, coins: Coins) -> int:
    """Return the first index, in random order, whose coin accepts it.

    Every index flips its own coin whatever the order, so the first accepted one is a uniform one of the
    accepted ones; the least gap, 0, is always accepted.
    """
    accepted = np.flatnonzero(coins.flip(accepting_numerators(rate).take(gaps, mode="clip")))
    return int(accepted[coins.below(np.array([len(accepted)]))[0]])


def permute_and_flip_law(gaps: Integers, rate: float) -> NDArray[np.float64]:
    """Return the chance of every index, to about 1e-12: p_i times the integral of the others' rejections.

    At place t of the order each other index comes earlier with probability t and then has to reject; the
    integrand falls like exp(-t * sum p), so panels that halve towards 0 with 64 Gauss nodes each hold it.
    """
    chances = accepting_numerators(rate).take(gaps, mode="clip") / ONE
    kinds, kind, sizes = np.unique(chances, return_inverse=True, return_counts=True)
    nodes, weights = np.polynomial.legendre.leggauss(64)
    edges = np.concatenate(([0.0], 0.5 ** np.arange(len(gaps).bit_length() + 6, -1, -1)))
    law = np.zeros(len(kinds))
    for left, right in pairwise(edges):
        half = (right - left) / 2
        t = left + half * (nodes + 1)
        logs = np.log1p(-np.outer(t, kinds))
        law += half * weights @ np.exp((logs @ sizes)[:, None] - logs)
    return np.asarray((kinds * law)[kind])


@lru_cache(maxsize=16)
def accepting_numerators(rate: float) -> Integers:
    """Return numerators over 2**62 near exp(-rate * gap) that never fall by more than the factor exp(-rate) a step.

    Each is the last one times a fraction just above exp(-rate), rounded up; the last is held for all larger gaps.
    """
    with ctx.workprec(256):
        factor = int(((-as_rate(rate)).exp() * (1 << 128)).upper().ceil().unique_fmpz())
    table = [ONE]
    while len(table) < LONGEST:
        following = -(-table[-1] * factor >> 128)
        if following == table[-1]:
            break
        table.append(following)
    return np.array(table, dtype=np.int64)
