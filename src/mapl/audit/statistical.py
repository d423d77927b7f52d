"""Frequencies of the real `release` with real coins, against its exact law and against its claim."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import betaincinv

from mapl.audit.histograms import Integers, Law
from mapl.audit.secrets import secrets_of
from mapl.noise import Coins
from mapl.types import ABSTAIN, Tallies


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


def observed(law: Law, counts: Integers, draws: int, coins: Coins) -> Integers:
    """Ask one question many times; return how often each column of `chances` came out.

    A secret is drawn anew for every question; without one, questions share runs as long as the limits allow.
    """
    n_classes = len(counts)
    together = draws if secrets_of(law) is None else 1
    seen = np.zeros(2 * n_classes + 1, dtype=np.int64)
    done = 0
    while done < draws:
        block = Tallies(np.tile(counts, (min(together, draws - done), 1)))
        outcome = law.release(law.start(coins), block, coins)
        column = np.where(outcome.labels == ABSTAIN, n_classes, outcome.labels)
        if outcome.fallback is not None:
            column = np.where(outcome.fallback, column + n_classes + 1, column)
        seen += np.bincount(column, minlength=len(seen))
        done += len(outcome.labels)
    return seen


def epsilon_lower_bound(hits: int, neighbour_hits: int, draws: int, delta: float, confidence: float) -> float:
    """Return an epsilon that the mechanism exceeds, at this confidence, given an event's hits on both sides."""
    p, q = clopper_pearson(hits, draws, confidence).low, clopper_pearson(neighbour_hits, draws, confidence).high
    return math.log((p - delta) / q) if p > delta else 0.0
