"""From which value on a condition holds, found with few trials."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

PRECISION = 1.01
"""Values are found to within a percent."""


def boundary(
    holds: Callable[[float], bool], low: float, high: float, *, start: float
) -> tuple[float | None, float] | None:
    """Return two values a percent apart, the condition holding from the second on and not at the first.

    The first is None if it holds everywhere; None altogether if it holds nowhere. The condition may begin to hold
    once, not stop again; `start` is where it is expected to.

    >>> below, value = boundary(lambda x: x >= 3.0, 0.01, 100.0, start=1.0)
    >>> 2.97 < below < 3.0 <= value < 3.03
    True
    """
    value, factor = min(max(start, low), high), 2.0
    if holds(value):
        bottom, top = None, value
        while bottom is None and top > low:
            lower = max(top / factor, low)
            if holds(lower):
                top, factor = lower, factor**1.5
            else:
                bottom = lower
        if bottom is None:
            return None, low
    else:
        bottom = top = value
        while not holds(top):
            if top >= high:
                return None
            bottom, top, factor = top, min(top * factor, high), factor**1.5
    while top / bottom > PRECISION:
        middle = math.sqrt(bottom * top)
        bottom, top = (bottom, middle) if holds(middle) else (middle, top)
    return bottom, top


def first_that(holds: Callable[[float], bool], candidates: Sequence[int]) -> float | None:
    """Return the least number for which it holds: on a grid first, since more is not always better, then between.

    >>> first_that(lambda n: 37 <= n <= 80, [1, 10, 50, 100])
    37.0
    """
    previous = 0
    for number in candidates:
        if holds(number):
            low, high = previous, number
            while high - low > max(1, low // 100):
                middle = (low + high) // 2
                low, high = (low, middle) if holds(middle) else (middle, high)
            return float(high)
        previous = number
    return None
