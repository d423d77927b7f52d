"""How right a noisy argmax is at many scales of noise at once: a quick continuous stand-in for exact laws.

It only searches: what it finds is calibrated and forecast exactly afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Self

import numpy as np

from mapl.accounting import Loss
from mapl.mechanisms import Task
from mapl.mechanisms.tables.argmax_price import MOST_SIGMA_EXACT
from mapl.planning.choosing.expectation import Expected
from mapl.planning.votes.agreement import Agreement
from mapl.types import Budget, Floats

PRICE, TEST_PRICE, LOOSE_PRICE = 0.64, 0.32, 1.0
"""A noisy argmax costs about PRICE / sigma^2 of zCDP, a one-bit test half of that; for three or more classes and
wide noise only LOOSE_PRICE is proved."""
RANKS = 3
"""Only the classes with most votes are followed; a label beyond them counts as wrong."""
NODES = 24


@dataclass(frozen=True, slots=True)
class NoiseGrid:
    """Typical questions laid out for a search over noise: counts by rank, weights, chances of the truth by rank."""

    ranked: Floats
    weights: Floats
    truth: Floats
    n_teachers: int

    @classmethod
    def of(cls, task: Task, agreement: Expected) -> Self:
        """Lay the declared agreement out for K teachers."""
        counts = np.asarray(agreement.tallies(task.n_teachers, task.n_classes).counts, dtype=np.float64)
        order = np.argsort(-counts, axis=1, kind="stable")
        known = None if isinstance(agreement, Agreement) else agreement.truth(task.n_teachers, task.n_classes)
        if known is None:
            truth = np.zeros_like(counts)
            truth[:, 0] = 1.0
        else:
            truth = np.take_along_axis(known, order, axis=1)
        return cls(np.take_along_axis(counts, order, axis=1), agreement.weights(), truth, task.n_teachers)

    @property
    def plurality(self) -> float:
        """How often the winner is the true label."""
        return float(self.weights @ self.truth[:, 0])

    def right(self, sigmas: Floats) -> Floats:
        """Return for each noise (row) and question (column) the chance that the noisy argmax is the true label."""
        from scipy.special import ndtr

        nodes, mass = np.polynomial.hermite_e.hermegauss(NODES)
        mass = mass / mass.sum()
        out = np.zeros((len(sigmas), len(self.ranked)))
        for rank in range(min(RANKS, self.ranked.shape[1])):
            ahead = self.ranked[:, [rank]] - np.delete(self.ranked, rank, axis=1)
            for row, sigma in enumerate(sigmas):
                beaten = ndtr(nodes[None, :, None] + ahead[:, None, :] / sigma).prod(axis=2)
                out[row] += self.truth[:, rank] * (beaten @ mass)
        return out

    def passing(self, thresholds: Floats, sigmas: Floats) -> Floats:
        """Return the chance that the largest count plus noise reaches a threshold, one row for each pair."""
        from scipy.special import ndtr

        lead = self.ranked[None, None, :, 0] - thresholds[:, None, None]
        return np.asarray(ndtr(lead / sigmas[None, :, None]).reshape(-1, len(self.ranked)))


@lru_cache(maxsize=64)
def affordable_zcdp(budget: Budget) -> float:
    """Return the zCDP that a budget pays for."""
    low, high = 0.0, 1.0
    while Loss.zcdp(high).epsilon(budget.delta) <= budget.epsilon:
        high *= 2
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if Loss.zcdp(middle).epsilon(budget.delta) <= budget.epsilon else (low, middle)
    return low


def price(sigmas: Floats, n_classes: int) -> Floats:
    """Return about what one noisy argmax costs, in zCDP."""
    tight = (n_classes == 2) | (sigmas <= MOST_SIGMA_EXACT)
    return np.where(tight, PRICE, LOOSE_PRICE) / sigmas**2
