"""Calibration that ends on the private side of the root."""

from __future__ import annotations

from collections.abc import Callable

from mapl.errors import CannotCalibrate


def smallest_real(affordable: Callable[[float], bool], low: float, high: float, *, rounds: int = 60) -> float:
    """Return a value in (low, high], within bisection error of the smallest affordable one, that is affordable.

    `affordable` must stay true once it is true. More noise is always affordable, so this calibrates noise.
    """
    while not affordable(high):
        low, high = high, high * 2
        if high > 1e12:
            raise CannotCalibrate("No noise below 1e12 meets the budget; raise epsilon or delta, or ask less.")
    for _ in range(rounds):
        middle = (low + high) / 2
        if high - low <= 1e-9 * high:
            break
        low, high = (low, middle) if affordable(middle) else (middle, high)
    return high


def largest_integer(affordable: Callable[[int], bool], *, most: int = 1 << 40) -> int:
    """Return the largest whole number, from 0 to `most`, that is affordable."""
    if most < 1 or not affordable(1):
        return 0
    low, high = 1, 2
    while high <= most and affordable(high):
        low, high = high, high * 2
    high = min(high, most + 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if affordable(middle) else (low, middle)
    return low
