"""What a budget means for an attacker: how well anybody can tell two neighbouring data sets apart."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

from mapl.types import Budget

FALSE_ALARMS = (0.001, 0.01, 0.05, 0.1)
LARGEST_EPSILON = 700.0
"""Beyond this e to the epsilon is no floating-point number any more, and the attacker wins anyway."""

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Risk:
    """Bounds on every attack that guesses from a release whether one unit's records were in the data.

    They hold for any attacker with any knowledge, because they follow from (epsilon, delta) alone.
    """

    odds_factor: float
    """How much the odds of any conclusion can move, delta aside: e to the epsilon."""
    hits: tuple[Point, ...]
    """Pairs of a false-positive rate and the best true-positive rate at that rate."""
    advantage: float
    """The largest true-positive rate minus false-positive rate."""
    accuracy: float
    """The largest share of right guesses when both answers were equally likely before."""
    curve: tuple[Point, ...]
    """The corners of the best attacker's curve, from no alarms to alarms only."""

    @classmethod
    def of(cls, budget: Budget) -> Self:
        """Turn a budget into attack risk."""
        epsilon = min(budget.epsilon, LARGEST_EPSILON)
        advantage = largest_advantage(epsilon, budget.delta)
        corners = (0.0, (1 - budget.delta) / (1 + math.exp(epsilon)), 1 - budget.delta, 1.0)
        return cls(
            odds_factor=math.exp(epsilon),
            hits=tuple((rate, hit_rate(epsilon, budget.delta, rate)) for rate in FALSE_ALARMS),
            advantage=advantage,
            accuracy=(1 + advantage) / 2,
            curve=tuple((rate, hit_rate(epsilon, budget.delta, rate)) for rate in corners),
        )

    @property
    def sharpest(self) -> Point:
        """The point of the curve where the advantage is largest."""
        return self.curve[1]


def hit_rate(epsilon: float, delta: float, false_alarms: float) -> float:
    """Return the best true-positive rate at a false-positive rate (Dong, Roth, Su, arXiv 1905.02383, equation 5).

    Two lines, because the promise holds for alarms and for silence, in both directions; the attacker has the lower.

    >>> hit_rate(1.0, 0.01, 0.0), hit_rate(1.0, 0.01, 1.0)
    (0.01, 1.0)
    """
    alarms = delta + math.exp(epsilon) * false_alarms
    silence = 1 - math.exp(-epsilon) * (1 - delta - false_alarms)
    return min(alarms, silence, 1.0)


def largest_advantage(epsilon: float, delta: float) -> float:
    """Return hits minus false alarms where both lines of `hit_rate` meet.

    It is (e^epsilon - 1 + 2 delta) / (e^epsilon + 1), written with the hyperbolic tangent of half of epsilon, which
    neither overflows nor cancels.

    >>> largest_advantage(0.0, 0.01)
    0.01
    """
    return delta + (1 - delta) * math.tanh(epsilon / 2)
