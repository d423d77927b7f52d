"""Integer noise as a table: cumulative probabilities over 2**128, inverted on uniform bits.

The numerators are floors of exactly enclosed values (ball arithmetic), so a draw differs from the ideal
law by at most `NoiseTable.deviation` <= DEVIATION in total variation. A release that uses n draws pays
(1 + e^epsilon) n DEVIATION of delta for that. Proof: docs/proofs/noise.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np
from flint import arb, ctx, fmpz
from numpy.typing import NDArray

from mapl.errors import GuaranteeBroken, InvalidParameter
from mapl.types import finite_positive

PRECISION = 320
TAIL_BITS = 112
DEVIATION = 2.0**-104
"""No table is further than this from its ideal law in total variation."""
MAX_HALF_WIDTH = 2_000_000
LEAST_SCALE = 0.05
GUIDE_BITS = 16
WORD = 1 << 64


@dataclass(frozen=True, slots=True, eq=False)
class NoiseTable:
    """A symmetric law on the integers ``-half_width .. half_width``."""

    kind: str
    scale: float
    half_width: int
    high: NDArray[np.uint64]
    low: NDArray[np.uint64]
    guide: NDArray[np.int64]
    deviation: float

    def numerators(self) -> list[int]:
        """Return the cumulative numerators over 2**128; the last one, 2**128 itself, is left out."""
        return [int(h) * WORD + int(low) for h, low in zip(self.high, self.low, strict=True)]

    def __post_init__(self) -> None:
        for table in (self.high, self.low, self.guide):
            table.setflags(write=False)  # whoever asks for the same noise is given the same tables

    def invert(self, words: NDArray[np.uint64], more: Callable[[int], NDArray[np.uint64]]) -> NDArray[np.int64]:
        """Turn one uniform word per draw into draws, asking for `more` words where one cannot decide.

        A draw is the first k whose cumulative numerator exceeds the 128-bit uniform (word, low word).
        The guide settles most draws from the top bits alone, a search most others; the low word
        matters only where the word equals a numerator's high word.
        """
        index = self.guide.take((words >> np.uint64(64 - GUIDE_BITS)).view(np.int64))
        unsettled = np.flatnonzero(index < 0)
        if unsettled.size:
            asked = words[unsettled]
            index[unsettled] = np.searchsorted(self.high, asked, side="right")
            equal = unsettled[np.searchsorted(self.high, asked, side="left") < index[unsettled]]
            for i, low in zip(equal, more(len(equal)), strict=True):
                index[i] = self._first_above(int(words[i]), int(low))
        index -= self.half_width
        return index

    def _first_above(self, high: int, low: int) -> int:
        k = int(np.searchsorted(self.high, np.uint64(high), side="left"))
        while k < len(self.high) and int(self.high[k]) == high and int(self.low[k]) <= low:
            k += 1
        return k


def _table(kind: str, scale: float, masses: list[arb], missing: arb) -> NoiseTable:
    """Tabulate the symmetric law with unnormalised `masses` of 0, 1, 2, ... and `missing` mass beyond."""
    half_width = len(masses) - 1
    total = masses[0] + 2 * sum(masses[1:], arb(0)) + 2 * missing
    shift = fmpz(1) << 128
    running = arb(0)
    numerators: list[int] = []
    for k in range(-half_width, half_width):
        running += masses[abs(k)]
        numerators.append(_whole((running * shift / total).floor()))
    high = np.array([n >> 64 for n in numerators], dtype=np.uint64)
    low = np.array([n % WORD for n in numerators], dtype=np.uint64)
    firsts = np.arange(1 << GUIDE_BITS, dtype=np.uint64) << np.uint64(64 - GUIDE_BITS)
    lasts = firsts | np.uint64((1 << (64 - GUIDE_BITS)) - 1)
    guide = np.searchsorted(high, firsts, side="left")
    guide[guide != np.searchsorted(high, lasts, side="right")] = -1
    # Mass beyond the table moves to its upper end, and each floor moves less than one part in 2**128.
    deviation = 2 * missing / total + arb(len(numerators)) / arb(shift)
    bound = float(deviation.upper()) * (1 + 1e-9)
    if bound > DEVIATION:
        raise GuaranteeBroken(f"The {kind} table of scale {scale:g} is too coarse; raise TAIL_BITS.")
    return NoiseTable(kind, scale, half_width, high, low, guide.astype(np.int64), bound)


def _whole(ball: arb) -> int:
    """Return the one integer in a ball; at PRECISION bits a floor is never ambiguous in practice."""
    value = ball.unique_fmpz()
    if value is None:
        raise GuaranteeBroken("A noise table could not be rounded exactly; raise the working precision.")
    return int(value)


def _too_wide(kind: str, scale: float) -> InvalidParameter:
    return InvalidParameter(
        f"{kind} noise of scale {scale:g} needs a table of more than {2 * MAX_HALF_WIDTH:,} entries; "
        "use a smaller scale (fewer abstentions or questions, or a larger epsilon)."
    )


def _too_narrow(kind: str, scale: float) -> InvalidParameter:
    return InvalidParameter(f"{kind} noise of scale {scale:g} protects nobody; use at least {LEAST_SCALE}.")


@lru_cache(maxsize=32)
def discrete_gaussian(sigma: float) -> NoiseTable:
    """Tabulate the law proportional to exp(-k^2 / (2 sigma^2)) on the integers."""
    finite_positive(sigma=sigma)
    if sigma < LEAST_SCALE:
        raise _too_narrow("Discrete Gaussian", sigma)
    half_width = int(sigma * (2 * TAIL_BITS * np.log(2)) ** 0.5) + 1
    if half_width > MAX_HALF_WIDTH:
        raise _too_wide("Discrete Gaussian", sigma)
    with ctx.workprec(PRECISION):
        step = (-1 / (2 * arb(sigma) ** 2)).exp()
        square, factor, masses = step * step, step, [arb(1)]
        for _ in range(half_width):
            masses.append(masses[-1] * factor)
            factor *= square
        # The masses fall at least as fast as a geometric series with the last ratio.
        missing = masses[-1] * factor / (1 - factor)
        return _table("discrete Gaussian", sigma, masses, missing)


@lru_cache(maxsize=32)
def discrete_laplace(scale: float) -> NoiseTable:
    """Tabulate the law proportional to exp(-|k| / scale) on the integers."""
    finite_positive(scale=scale)
    if scale < LEAST_SCALE:
        raise _too_narrow("Discrete Laplace", scale)
    half_width = int(scale * (TAIL_BITS * np.log(2))) + 2
    if half_width > MAX_HALF_WIDTH:
        raise _too_wide("Discrete Laplace", scale)
    with ctx.workprec(PRECISION):
        ratio = (-1 / arb(scale)).exp()
        masses = [arb(1)]
        for _ in range(half_width):
            masses.append(masses[-1] * ratio)
        missing = masses[-1] * ratio / (1 - ratio)
        return _table("discrete Laplace", scale, masses, missing)


@lru_cache(maxsize=32)
def rounded_gaussian(sigma: float) -> NoiseTable:
    """Tabulate a normal variable of this deviation, rounded to the nearest integer.

    Added to an integer it is the rounded sum of that integer and a normal variable: a post-processing, so that
    whatever is proved for continuous normal noise holds for it too, at every whole shift.
    """
    finite_positive(sigma=sigma)
    if sigma < LEAST_SCALE:
        raise _too_narrow("Rounded Gaussian", sigma)
    half_width = int(sigma * (2 * TAIL_BITS * np.log(2)) ** 0.5) + 1
    if half_width > MAX_HALF_WIDTH:
        raise _too_wide("Rounded Gaussian", sigma)
    with ctx.workprec(PRECISION):
        scale = 1 / (2 * arb(2).sqrt() * arb(sigma))
        beyond = [(scale * (2 * k + 1)).erfc() / 2 for k in range(half_width + 1)]
        masses = [1 - 2 * beyond[0], *(near - far for near, far in pairwise(beyond))]
        return _table("rounded Gaussian", sigma, masses, beyond[-1])
