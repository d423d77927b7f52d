"""Frequencies of the real `release` with real coins, against its exact law and against its claim."""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy.special import betaincinv


@dataclass(frozen=True, slots=True)
class Interval:
    """A confidence interval of a probability."""

    low: float
    high: float

    def __contains__(self, chance: float) -> bool:
        return self.low <= chance <= self.high


def clopper_pearson(hits: int, draws: int, confidence: float) -> Interval:
    """Return the exact interval: each end is missed with probability at most (1 - confidence) / 2."""
    tail = (1 - confidence) / 2
    low = 0.0 if hits == 0 else float(betaincinv(hits, draws - hits + 1, tail))
    high = 1.0 if hits == draws else float(betaincinv(hits + 1, draws - hits, 1 - tail))
    return Interval(low, high)


def epsilon_lower_bound(hits: int, neighbour_hits: int, draws: int, delta: float, confidence: float) -> float:
    """Return an epsilon that the mechanism exceeds, at this confidence, given an event's hits on both sides."""
    p, q = clopper_pearson(hits, draws, confidence).low, clopper_pearson(neighbour_hits, draws, confidence).high
    return math.log((p - delta) / q) if p > delta else 0.0
