"""Two-sided geometric noise, the discrete Laplace law, from coins alone: exact on all integers, without a table."""

from __future__ import annotations

from decimal import ROUND_CEILING, Context, Decimal, localcontext

import numpy as np
from numpy.typing import NDArray

from mapl.noise.coins import BLOCK, ONE, Coins

DIGITS = 60
"""Decimal digits of an exponential before it is rounded up; a chance has 62 bits, or 19 digits."""


def decay(epsilon: float, parts: int = 1) -> int:
    """Return a numerator over 2^62, at most two above the smallest one, that is at least exp(-epsilon / parts)."""
    with localcontext(Context(prec=DIGITS)):
        exponential = (-Decimal(epsilon) / parts).exp() * ONE
        return int(exponential.to_integral_value(ROUND_CEILING)) + 1


def two_sided_geometric(coins: Coins, numerator: int, n: int) -> NDArray[np.int64]:
    """Return n independent integers, k with chance (1 - a) / (1 + a) a^|k|, where a = numerator / 2^62.

    Two runs of heads have lengths with a geometric law, and their difference has this one. Coins decide how long
    this takes, data do not. Drawn in blocks that stay in the processor's cache.
    """
    noise = np.empty(n, dtype=np.int64)
    for start in range(0, n, BLOCK):
        block = noise[start : start + BLOCK]
        block[:] = _heads(coins, numerator, block.size) - _heads(coins, numerator, block.size)
    return noise


def _heads(coins: Coins, numerator: int, n: int) -> NDArray[np.int64]:
    """Return how many heads come before the first tail, n times."""
    runs = np.zeros(n, dtype=np.int64)
    going = np.arange(n)
    while going.size:
        going = going[coins.flip(np.full(going.size, numerator, dtype=np.int64))]
        runs[going] += 1
    return runs
