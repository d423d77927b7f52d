"""What right guesses about canaries prove: a lower bound on epsilon from one run. Proof: docs/proofs/one-run.md."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import betainc

from mapl.errors import InvalidParameter
from mapl.types import positive_integer

HIGHEST = 50.0
"""The largest epsilon that is looked at."""
ROUNDING = 1e-9
"""How much larger, relatively, a tail is taken than double precision has it."""


def tail(right: int, guesses: int, epsilon: float, delta: float, canaries: int) -> float:
    """Return an upper bound on the chance of so many right guesses under (epsilon, delta)-differential privacy.

    Every canary is in or out by a fair coin of its own, and the neighbouring data differ in one of them. Whoever
    sees all that was released guesses the coins of at most `guesses` canaries, chosen as they like.

    Parameters
    ----------
    canaries
        How many coins were tossed, guessed or not.

    Notes
    -----
    *Guarantee.* Steinke, Nasr and Jagielski (2023), arXiv:2305.08846, Theorem 5.2: with W binomial, of `guesses`
    draws with chance e^epsilon / (1 + e^epsilon), at most
    P[W >= right] + 2 canaries delta max_i P[right > W >= right - i] / i.

    Examples
    --------
    >>> round(tail(10, 10, 0.0, 0.0, 10) * 1024, 6)
    1.0
    """
    positive_integer(guesses=guesses, canaries=canaries)
    if not 0 <= right <= guesses <= canaries:
        raise InvalidParameter(
            f"There are {right} right ones of {guesses} guesses about {canaries} canaries; each number is at most "
            "the next one."
        )
    chance = 1 / (1 + math.exp(-epsilon))
    # P[W >= v] for v = right, right - 1, ..., 0: the regularised incomplete beta function.
    places = np.arange(right, 0, -1)
    at_least = np.append(betainc(places, guesses - places + 1, chance), 1.0)
    steps = np.arange(1, right + 1)
    leap = max(((at_least[1:] - at_least[0]) / steps).tolist(), default=0.0)
    return min(1.0, (float(at_least[0]) + 2 * canaries * delta * leap) * (1 + ROUNDING))


def epsilon_from_guesses(right: int, guesses: int, delta: float, confidence: float, *, canaries: int) -> float:
    """Return an epsilon too small to explain so many right guesses; wrong with chance 1 - confidence at most.

    Zero where the guesses prove nothing. What is above it is not refuted.

    Examples
    --------
    >>> epsilon_from_guesses(5, 10, 0.0, 0.95, canaries=10)
    0.0
    >>> 2.9 < epsilon_from_guesses(60, 60, 0.0, 0.95, canaries=60) < 3.0
    True
    """
    doubt = 1 - confidence
    if tail(right, guesses, 0.0, delta, canaries) > doubt:
        return 0.0
    low, high = 0.0, HIGHEST
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if tail(right, guesses, middle, delta, canaries) <= doubt else (low, middle)
    return low


def guesses_needed(epsilon: float, confidence: float) -> int:
    """Return how many guesses, all right, it takes to refute an epsilon, with delta left aside."""
    return math.ceil(-math.log(1 - confidence) / math.log1p(math.exp(-epsilon)))
