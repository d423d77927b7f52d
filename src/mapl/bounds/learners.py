"""What a learner of a class of known VC dimension achieves without privacy, with explicit constants.

Every function is proved, or cited, in docs/bounds.md, section 1. All of them fall with the number of rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable

Learner = Callable[[int, int, float], float]
"""From rows, VC dimension and failure probability to how far above the best of the class it may err."""


def log_growth(points: int, vc: int) -> float:
    """Return the log of a bound on how many ways a class can label so many points (Sauer's lemma).

    Examples
    --------
    >>> log_growth(3, 5) == 3 * math.log(2)
    True
    """
    return points * math.log(2) if points <= vc else vc * math.log(math.e * points / vc)


def realizable_error(rows: int, vc: int, beta: float) -> float:
    """Return the error that a consistent classifier exceeds with probability at most beta.

    (2/N)(log2 G(2N) + log2(2/beta)) for N rows and growth function G; needs a class that makes no error at best.
    """
    if rows < 1:
        return 1.0
    return min(1.0, 2 / rows * (log_growth(2 * rows, vc) + math.log(2 / beta)) / math.log(2))


def agnostic_excess(rows: int, vc: int, beta: float) -> float:
    """Return by how much the empirical minimiser's error exceeds gamma, except with probability beta.

    sqrt(2 ln G(N)/N) + sqrt(2 ln(2/beta)/N): Rademacher complexity for the one, Hoeffding for the best classifier.
    """
    if rows < 1:
        return 1.0
    return min(1.0, math.sqrt(2 * log_growth(rows, vc) / rows) + math.sqrt(2 * math.log(2 / beta) / rows))


def uniform_deviation(rows: int, vc: int, beta: float) -> float:
    """Return by how much any classifier's error exceeds its error on the rows, except with probability beta."""
    return min(1.0, math.sqrt(2 * log_growth(rows, vc) / rows) + math.sqrt(math.log(1 / beta) / (2 * rows)))


def relative_deviation(observed: float, rows: int, vc: int, beta: float) -> float:
    """Return the error of any classifier whose error on the rows is `observed`, except with probability beta.

    (sqrt(c) + sqrt(c + observed))^2 with c = (ln G(2N) + ln(4/beta))/N: Vapnik's relative deviations, sharp where
    little is observed.
    """
    c = (log_growth(2 * rows, vc) + math.log(4 / beta)) / rows
    return min(1.0, (math.sqrt(c) + math.sqrt(c + observed)) ** 2)


def rows_needed(learned: Callable[[int], float], target: float) -> int:
    """Return the smallest number of rows for which a falling function is at most the target.

    Examples
    --------
    >>> rows_needed(lambda rows: 1 / rows, 0.3)
    4
    """
    high = 1
    while learned(high) > target:
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if learned(middle) <= target else (middle, high)
    return high
