"""BTT18's Algorithm 2 with the corrected distance: noise, threshold and number of teachers for a cutoff."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Self

from mapl.errors import CannotCalibrate
from mapl.mechanisms.papers.sparse_vector import scale_by_concentration
from mapl.types import ADJACENCY, UNIT

CONTESTED = 3
"""A question is contested if more than one teacher in three is wrong on it."""


class Constants(StrEnum):
    """Whose constants: the sharpest that are proved here, or those printed in the paper."""

    derived = "derived"
    printed = "printed"


@dataclass(frozen=True, slots=True)
class Algorithm2:
    """The settings that make every uncontested question pass, and what they cost.

    Parameters
    ----------
    cutoff
        T: the loop runs while at most T abstentions were made, so T + 1 thresholds are drawn and paid for.
    scale
        lambda: thresholds carry Laplace noise of scale lambda, questions of scale 2 lambda.
    threshold
        w, rounded up to a whole number of votes.
    distance
        The distance to instability from which on all questions pass, except with probability beta/2.
    teachers
        k: enough that at most a third of them being wrong leaves that distance.
    """

    cutoff: int
    scale: float
    threshold: int
    distance: int
    teachers: int

    @classmethod
    def calibrated(
        cls, cutoff: int, m: int, *, epsilon: float, delta: float, beta: float, constants: Constants
    ) -> Self:
        """Take the constants; all results grow with the cutoff, and fall with epsilon.

        *Derived*: lambda solves the zCDP equation for T' = T + 1 thresholds at delta/2, w is
        2 lambda ln(4T'/(3 delta)) and k = 6 (distance + 1). *Printed*: lambda = sqrt(32 T ln(2/delta))/epsilon,
        w = 2 lambda ln(2m/delta) and k = 34 sqrt(2) lambda ln(4mT/min(delta, beta/2)). docs/bounds.md, section 2.
        """
        if constants == Constants.printed:
            scale = math.sqrt(32 * cutoff * math.log(2 / delta)) / epsilon
            threshold = math.ceil(2 * scale * math.log(2 * m / delta))
        else:
            scale = scale_by_concentration(cutoff + 1, epsilon, delta)
            threshold = math.ceil(2 * scale * math.log(4 * (cutoff + 1) / (3 * delta)))
        of_questions = math.ceil(2 * scale * math.log(2 * m / beta))
        of_thresholds = math.ceil(scale * math.log(2 * (cutoff + 1) / beta))
        distance = threshold + of_questions + of_thresholds + 1
        teachers = 2 * CONTESTED * (distance + 1)
        if constants == Constants.printed:
            log = math.log(4 * m * cutoff / min(delta, beta / 2))
            # The printed number is enough wherever the printed noise is proved private; the maximum says so.
            teachers = max(teachers, math.ceil(34 * math.sqrt(2) * scale * log))
        return cls(cutoff, scale, threshold, distance, teachers)

    def bad_pass(self, m: int) -> float:
        """Return a bound on the chance that a question whose winner differs between neighbours is ever answered."""
        return 2 / 3 * self.epochs(m) * math.exp(-self.threshold / (2 * self.scale))

    def epochs(self, m: int) -> int:
        """Return how many thresholds m questions can use up."""
        return min(self.cutoff + 1, m)

    def epsilon(self, m: int, delta: float) -> float:
        """Return what is spent: epochs of 2/lambda-DP, by zCDP at what bad passes leave of delta, or purely."""
        epochs = self.epochs(m)
        left = delta - self.bad_pass(m)
        if left <= 0:
            return math.inf
        rho = 2 * epochs / self.scale**2
        return min(rho + 2 * math.sqrt(rho * math.log(1 / left)), 2 * epochs / self.scale)


def largest_proved(delta: float) -> float:
    """Return the epsilon up to which the printed constants are proved private for every cutoff and every m.

    rho <= epsilon^2/(8 ln(2/delta)) for T >= 1, and bad passes cost at most delta/3.
    """
    return 8 * (1 - math.sqrt(0.5)) * math.log(2 / delta)


def refuse_unproved(epsilon: float, delta: float, constants: Constants) -> None:
    """Refuse the printed constants where their privacy has no proof."""
    if constants == Constants.printed and epsilon > largest_proved(delta):
        raise CannotCalibrate(
            f"The printed constants are proved private up to epsilon {largest_proved(delta):.4g} at delta "
            f"{delta:g} (adjacency: {ADJACENCY}; unit: {UNIT}), and epsilon is {epsilon:g}; take the derived "
            "constants."
        )


def count_contested(m: int, rate: float, beta: float) -> int:
    """Return how many of m independent questions are contested at most, except with probability beta.

    If the teachers err at a mean rate q, a question is contested with probability at most 3q (Markov), and
    Bernstein's inequality bounds the count by M + L/3 + sqrt(L^2/9 + 2 M L), M = 3qm, L = ln(1/beta). At least one
    and at most m; grows with the rate.
    """
    mean = CONTESTED * min(1.0, rate) * m
    log = math.log(1 / beta)
    return min(m, max(1, math.floor(mean + log / 3 + math.sqrt(log * log / 9 + 2 * mean * log))))
