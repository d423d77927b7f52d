"""Normal noise on a very fine grid, from coins alone: a real normal variable, sampled exactly and rounded down.

Tables reach as far as memory does, and sums of real vectors want a finer grid than that. So a table says in which
of its wide steps a normal variable lies, and a position within the step is drawn by rejection. Positions and coins
are real numbers of which only as many bits are drawn as it takes to decide. Proof: docs/proofs/noise.md.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from flint import arb, ctx

from mapl.noise.coins import BLOCK, Coins
from mapl.noise.tables import rounded_gaussian
from mapl.types import Flags, Floats, Integers, Words

DEVIATION_BITS = 40
"""The standard deviation of the noise is 2^40 steps of the grid."""

WIDE_STEPS = 1024
"""How many steps of the table make one standard deviation."""

FINE_BITS = DEVIATION_BITS - 10
"""A step of the table is 2^30 steps of the grid."""

WORD_BITS = 64
DOUBT = 2.0**-45
"""How near a coin may come to its chance before floating point, which is off by less than 2^-50, may not decide."""


def draw_gaussian(coins: Coins, n: int) -> Integers:
    """Return n independent normal variables of standard deviation 2^40, rounded down to whole numbers."""
    noise = np.empty(n, dtype=np.int64)
    table = rounded_gaussian(float(WIDE_STEPS))
    for start in range(0, n, BLOCK):
        block = noise[start : start + BLOCK]
        wide = coins.draw(table, block.shape)
        block[:] = (wide << FINE_BITS) + _position(coins, wide) - (1 << (FINE_BITS - 1))
    return noise


def _position(coins: Coins, wide: Integers) -> Integers:
    """Return where in its wide step each variable lies, in steps of the grid from the lower end.

    A uniform position is kept with a chance in proportion to the normal density there: at least 0.98.
    """
    found = np.empty(wide.shape, dtype=np.int64)
    going = np.arange(wide.size)
    while going.size:
        places, chances = coins.words(going.size), coins.words(going.size)
        kept = _kept(coins, wide[going], places, chances)
        done = going[kept]
        found[done] = (places[kept] >> np.uint64(WORD_BITS - FINE_BITS)).view(np.int64)
        going = going[~kept]
    return found


def _kept(coins: Coins, wide: Integers, places: Words, chances: Words) -> Flags:
    """Say which positions are kept: those whose coin is below exp(-fall)."""
    uniform = chances.astype(np.float64) * 2.0**-WORD_BITS
    gap = np.exp(-_fall(wide, places.astype(np.float64) * 2.0**-WORD_BITS)) - uniform
    kept: Flags = gap > 0
    for i in np.flatnonzero(np.abs(gap) < DOUBT):
        kept[i] = _kept_exactly(int(wide[i]), _bits(coins, int(places[i])), _bits(coins, int(chances[i])))
    return kept


def _fall(wide: Integers, position: Floats) -> Floats:
    """Return by how much the logarithm of the density at a position lies below its maximum in the wide step."""
    # Seen from the end of the step that is nearer to zero: no large numbers are subtracted from each other.
    away, size = np.where(wide < 0, 1.0 - position, position), np.abs(wide)
    squares = away * (away + (2.0 * size - 1.0)) + np.where(size == 0, 0.25, 0.0)
    return np.asarray(squares / (2.0 * WIDE_STEPS**2))


def _kept_exactly(wide: int, positions: Iterator[arb], coins: Iterator[arb]) -> bool:
    """Decide with as many bits of a position and its coin as it takes, in ball arithmetic."""
    with ctx.workprec(16 * WORD_BITS):
        nearest = arb(max(2 * abs(wide) - 1, 0)) / 2
        for position, coin in zip(positions, coins, strict=True):
            at = wide - arb("0.5") + position
            chance = (-(at**2 - nearest**2) / (2 * WIDE_STEPS**2)).exp()
            if coin < chance:
                return True
            if coin > chance:
                return False
    raise AssertionError("bits never end")  # pragma: no cover


def _bits(coins: Coins, first: int) -> Iterator[arb]:
    """Yield ever smaller balls around a uniform real number whose first 64 bits are known."""
    numerator, bits = first, WORD_BITS
    while True:
        # The middle of what is still open, and half of its width.
        yield (arb(2 * numerator + 1) + arb(0, 1)) / arb(2) ** (bits + 1)
        numerator, bits = (numerator << WORD_BITS) + int(coins.words(1)[0]), bits + WORD_BITS
