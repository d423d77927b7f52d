"""Flip an answer now and then: from (inner, eta)-private predictions to a pure epsilon, and back.

A prediction is *(inner, eta)-private* if its chance p and a neighbour's p' obey p <= e^inner p' + eta, for both
answers. It has *odds* within inner if, but for a part eta of the coins, a neighbour multiplies p/(1-p) by a factor
within e^(+-inner). The exponential mechanism has, permute-and-flip has not. Theorems 2 to 4 of
docs/proofs/stable-prediction.md.
"""

from __future__ import annotations

import math
from fractions import Fraction

from flint import arb, ctx, fmpq

from mapl.errors import CannotCalibrate, InvalidParameter
from mapl.prediction.hypotheses.draw import Ball
from mapl.prediction.prices.padded_stumps import refuse_unknown
from mapl.types import RecordAdjacency

BITS = 160
MOST_INNER = 700.0
Real = float | Fraction


def pure_epsilon(inner: float, eta: Real, flip: Real, *, odds: bool = False) -> float:
    """Return the smallest pure epsilon that flipping with chance `flip` surely yields, rounded up.

    It is the largest log-ratio of flipped chances, over the corners of the region of allowed pairs; with odds the
    region has a curved side, with one peak.

    Examples
    --------
    >>> round(pure_epsilon(1.0, 0.1, flip_for(1.0, 0.1)), 9)
    1.0
    >>> pure_epsilon(1.5, 0.1, 0.1, odds=True) < 0.9 < 1.2 < pure_epsilon(1.5, 0.1, 0.1)
    True
    """
    refuse_outside(inner, eta, flip)
    if flip == 0:
        return math.inf if eta else inner
    with ctx.workprec(BITS):
        e, f, grown = ball(eta), ball(flip), arb(inner).exp()
        signal = 1 - 2 * f
        least = f + signal * e
        ratios = [least / f]
        if not odds:
            p = (1 - e) / (grown + 1)
            ratios.append((signal * grown * p + least) / (signal * p + f))
        elif not grown * f <= least:
            steep = (grown - 1) * least + signal * (1 - e) * grown
            p = ((least * least + (grown * f - least) * steep / (grown - 1)).sqrt() - least) / steep
            peak = grown / (1 + (grown - 1) * p) ** 2
            ratios.append(peak if peak.is_finite() else grown)  # it is at most that, where its place is in doubt
        return max(up(ratio.log()) for ratio in ratios)


def flip_for(epsilon: float, eta: float) -> float:
    """Return the smallest flip that makes (epsilon, eta)-private predictions purely epsilon-private."""
    return eta / (math.expm1(min(epsilon, MOST_INNER)) + 2 * eta)


def inner_for(epsilon: float, eta: float, flip: float, *, odds: bool = False) -> float:
    """Return the largest inner, up to rounding, that this flip makes purely epsilon-private; 0 if there is none.

    Both are roots of quadratics at most; `pure_epsilon` must confirm what is used.
    """
    r = math.exp(epsilon)
    signal = 1 - 2 * flip
    least, part = flip + signal * eta, signal * (1 - eta)
    spare = r * flip - least
    if spare < -1e-15 * r:
        return 0.0
    room = 1 - flip - r * flip
    if room <= 1e-12 * r:  # flips alone are private enough
        return MOST_INNER
    if not odds:
        return max(0.0, math.log((r * (part + flip) - least) / room))
    half = part * (room * (r - 1) + 2 * r * max(spare, 0.0))
    return math.log1p((half + math.sqrt(max(half**2 - (room * part * (r - 1)) ** 2, 0.0))) / room**2)


def stability(inner: float, eta: Real, *, odds: bool = False, adjacency: RecordAdjacency = "replace-one") -> float:
    """Return by how much the chance of an answer moves at most, rounded up.

    Where a record is replaced both sides have a part eta that may do anything; where it is added, one side has.

    Examples
    --------
    >>> round(stability(0.2, 0.1), 3), round(stability(0.2, 0.1, odds=True), 3)
    (0.19, 0.145)
    """
    refuse_unknown(adjacency)
    refuse_outside(inner, eta, 0.0)
    with ctx.workprec(BITS):
        e, grown = ball(eta), arb(inner).exp()
        if adjacency == "replace-one":
            return min(1.0, up(e + (1 - e) * (arb(inner) / (4 if odds else 2)).tanh()))
        if not (1 - e) * grown > 1:
            return min(1.0, up(e))
        gain = (((1 - e) * grown).sqrt() - 1) ** 2 / (grown - 1) if odds else ((1 - e) * grown - 1) / (grown + 1)
        return min(1.0, up(e + gain))


def ball(value: Real) -> Ball:
    """Return the number as a ball at the precision in force."""
    return arb(fmpq(value.numerator, value.denominator)) if isinstance(value, Fraction) else arb(value)


def up(value: Ball) -> float:
    """Return a float that is surely not below the real number in the ball, which must not be lost."""
    if math.isnan(float(value.upper())):
        raise CannotCalibrate("A bound could not be computed for these rates and chances; take less extreme ones.")
    return max(0.0, math.nextafter(float(value.upper()), math.inf))


def refuse_outside(inner: float, eta: Real, flip: Real) -> None:
    if not 0 <= inner <= MOST_INNER:
        raise InvalidParameter(f"inner is {inner}; it must lie between 0 and {MOST_INNER:g}, usually near epsilon.")
    if not 0 <= eta <= 1:
        raise InvalidParameter(f"eta is {float(eta):g}; it is a part of the coins and must lie between 0 and 1.")
    if not 0 <= flip < 0.5:
        raise InvalidParameter(
            f"flip is {float(flip):g}; it must be below 1/2, where the answer is a fair coin, and not negative."
        )
