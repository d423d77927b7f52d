"""What a budget means for an attacker: how well anybody can tell two neighbouring data sets apart."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

import numpy as np

from mapl.types import Budget

FALSE_ALARMS = (0.001, 0.01, 0.05, 0.1)
LARGEST_EPSILON = 700.0
"""Beyond this e to the epsilon is no floating-point number any more, and the attacker wins anyway."""

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Risk:
    """Bounds on every attack that guesses from a release whether one unit's records were in the data.

    They hold for any attacker with any knowledge, because they follow from (epsilon, delta) alone (Dong, Roth
    and Su, arXiv 1905.02383, equation 5).
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
        """Turn a budget into attack risk with riskcal."""
        from riskcal import analysis  # slow to import, and needed for reports only

        epsilon = min(budget.epsilon, LARGEST_EPSILON)

        def hit_rate(false_alarms: float) -> float:
            return float(1 - analysis.get_beta_from_adp(epsilon, budget.delta, np.float64(false_alarms)))

        advantage = float(analysis.get_advantage_from_adp(epsilon, budget.delta))
        corner = (1 - budget.delta) / (1 + math.exp(epsilon))
        corners = (0.0, corner, 1 - budget.delta, 1.0)
        return cls(
            odds_factor=math.exp(epsilon),
            hits=tuple((rate, hit_rate(rate)) for rate in FALSE_ALARMS),
            advantage=advantage,
            accuracy=(1 + advantage) / 2,
            curve=tuple((rate, hit_rate(rate)) for rate in corners),
        )

    @property
    def sharpest(self) -> Point:
        """The point of the curve where the advantage is largest."""
        return self.curve[1]
