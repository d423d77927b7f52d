"""The exact law of a noise table: the chances that follow from the very integers that are drawn from."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapl.errors import CannotCalibrate
from mapl.noise import Coins, NoiseTable
from mapl.noise.tables import MAX_HALF_WIDTH, TAIL_BITS
from mapl.types import Counts, Floats, Labels, Tallies

WIDEST_LAPLACE = (MAX_HALF_WIDTH - 3) / (TAIL_BITS * math.log(2))
WIDEST_GAUSSIAN = (MAX_HALF_WIDTH - 3) / math.sqrt(2 * TAIL_BITS * math.log(2))


def refuse_wide_noise(scale: float, widest: float) -> None:
    """Refuse noise that has no table before anything is built or released."""
    if scale > widest:
        raise CannotCalibrate(
            f"The budget asks for integer noise of scale {scale:,.0f}; tables reach {widest:,.0f}. "
            "Raise epsilon, or ask fewer questions (or allow fewer abstentions)."
        )


def at_most(table: NoiseTable, k: NDArray[np.integer[Any]]) -> Floats:
    """Return P(X <= k) elementwise, accurate also where it is tiny."""
    return np.asarray(cumulative(table).take(k + (table.half_width + 1), mode="clip"))


def cumulative(table: NoiseTable) -> Floats:
    """Return P(X <= k) for k = -half_width - 1 .. half_width, from the table's integers."""
    inner = table.high * 2.0**-64 + table.low * 2.0**-128
    return np.concatenate(([0.0], inner, [1.0]))


def above(table: NoiseTable, k: NDArray[np.integer[Any]]) -> Floats:
    """Return P(X > k) elementwise, accurate also where it is tiny."""
    # 2**128 - n has the complemented words of n as digits, plus one.
    inner = ~table.high * 2.0**-64 + (~table.low * 2.0**-128 + 2.0**-128)
    chances = np.concatenate(([1.0], inner, [0.0]))
    return np.asarray(chances.take(k + (table.half_width + 1), mode="clip"))


def masses(table: NoiseTable) -> Floats:
    """Return P(X = k) for k = -half_width .. half_width, as differences of the exact integers."""
    zero = np.zeros(1, dtype=np.uint64)
    high, low = np.concatenate((zero, table.high, zero)), np.concatenate((zero, table.low, zero))
    borrow = (low[1:] < low[:-1]).astype(np.uint64)
    # Unsigned words wrap around, which also makes the final 2**128 come out as a pair of zeros.
    return (high[1:] - high[:-1] - borrow) * 2.0**-64 + (low[1:] - low[:-1]) * 2.0**-128


def noisy_argmax(table: NoiseTable, counts: Counts, coins: Coins) -> Labels:
    """Return for each row the lowest index that maximises count + independent noise."""
    noisy = counts + coins.draw(table, counts.shape)
    return np.asarray(noisy.argmax(axis=1), dtype=np.int32)


def law_of_argmax(table: NoiseTable, counts: Counts) -> Floats:
    """Return for each row the exact law of `noisy_argmax`."""
    width = table.half_width
    lower = cumulative(table)
    mass = np.concatenate(([0.0], masses(table), [0.0]))
    law = np.empty(counts.shape)
    for row, n in enumerate(counts.astype(np.int64)):
        # The winner's noisy count lies within the noise of the largest count.
        positions = n.max() - width + np.arange(2 * width + 1) - n[:, None] + (width + 1)
        strictly_below = lower.take(positions - 1, mode="clip")
        not_above = lower.take(positions, mode="clip")
        here = mass.take(positions, mode="clip")
        after = np.ones(not_above.shape)
        after[:-1] = np.cumprod(not_above[:0:-1], axis=0)[::-1]
        before = np.ones(not_above.shape)
        before[1:] = np.cumprod(strictly_below[:-1], axis=0)
        law[row] = (here * before * after).sum(axis=1)
    return law


def lay_out_argmax_law(table: NoiseTable, block: Tallies) -> Floats:
    """Lay out the law of a mechanism that answers every question by `noisy_argmax` and never abstains."""
    return np.hstack([law_of_argmax(table, block.counts), np.zeros((len(block), 1))])


def chance_of_leader(table: NoiseTable, lead: int, n_classes: int) -> float:
    """Return the chance that the first class wins `noisy_argmax` when it leads all others by the same votes."""
    noise = np.arange(-table.half_width, table.half_width + 1)
    return float((masses(table) * at_most(table, noise + lead) ** (n_classes - 1)).sum())
