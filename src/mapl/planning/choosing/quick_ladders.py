"""How ladders of many limits would climb, found in a moment and without a certificate: for searching, never to run.

A ladder's log-odds of abstaining fall by one step per vote of distance, and how long a step is depends on where it
starts only. So all steps are solved for side by side, on a grid of log-odds, and the distance at which a table
reaches some log-odds is the number of steps down to it: the integral of one over the step's length, corrected for
steps that are not short.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mapl.accounting import capacity
from mapl.errors import CannotCalibrate
from mapl.mechanisms.tables.rungs import LogChance, root
from mapl.mechanisms.votes.ladder import LEAST_PRICE, MOST_ORDER
from mapl.types import Budget, Floats

ORDER_FACTORS = (0.7, 0.85, 1.0, 1.2, 1.5)
FAILURE_SHARE = 0.05
LEVELS = 56
LAST_ODDS = -16.0
GOAL_ODDS = math.log(0.01 / 0.99)
STEP_TOLERANCE = 1e-5


@dataclass(frozen=True, slots=True)
class QuickLadders:
    """For each limit on abstentions, log-odds of abstaining and the distance to instability that reaches them."""

    limits: NDArray[np.int64]
    odds: Floats
    distances: Floats

    @classmethod
    def of(cls, budget: Budget, limits: Sequence[int]) -> QuickLadders:
        """Trace the ladders of a budget, one for each limit that it can pay for."""
        rows = []
        for limit in limits:
            for factor in ORDER_FACTORS:
                order = max(1.01, 1 + math.log(1 / budget.delta) / budget.epsilon * factor)
                price = capacity(budget.epsilon, budget.delta * (1 - FAILURE_SHARE), order) / limit
                if price > LEAST_PRICE and order < MOST_ORDER:
                    rows.append((limit, order, price, FAILURE_SHARE * budget.delta / limit))
        if not rows:
            raise CannotCalibrate(
                f"epsilon {budget.epsilon:g} and delta {budget.delta:g} cannot pay for {min(limits)} abstentions "
                "at any order; raise the budget."
            )
        limit, order, price, first = np.array(rows).T
        odds = _levels(first)
        distances = _distances(odds, order, price)
        # The order that needs the least distance for a 99% pass serves best, as in the ladder's own design.
        needed = np.array([np.interp(-GOAL_ODDS, -o, d) for o, d in zip(odds, distances, strict=True)])
        best = [min(np.flatnonzero(limit == one), key=lambda i: needed[i]) for one in np.unique(limit)]
        return cls(limit[best].astype(np.int64), odds[best], distances[best])

    def abstaining(self, distances: Floats) -> Floats:
        """Return the chance of abstaining at each distance: one row for each limit."""
        log_odds = np.array(
            [np.interp(distances, reach, odds) for reach, odds in zip(self.distances, self.odds, strict=True)]
        )
        return np.asarray(1 / (1 + np.exp(-log_odds)))


def _levels(first: Floats) -> Floats:
    start = np.log((1 - first) / first)
    return np.asarray(start[:, None] + np.linspace(0, 1, LEVELS) * (LAST_ODDS - start)[:, None])


def _distances(odds: Floats, order: Floats, price: Floats) -> Floats:
    """Return how many steps lead from the first log-odds down to each other one."""
    order, price = order[:, None], price[:, None]
    # While passing is rare a step shrinks its logarithm by 1/a; where abstaining is rare, by a constant.
    guess = odds - np.maximum(np.abs(odds) / order, np.sqrt(2 * price / (order * (order - 1))))
    z = root(LogChance.of_odds(odds), order, price, guess, numerator="z", tolerance=STEP_TOLERANCE)
    steps = np.maximum(odds - z.log_odds, 1e-12)
    widths = odds[:, :-1] - odds[:, 1:]
    summed = np.cumsum(widths * (1 / steps[:, :-1] + 1 / steps[:, 1:]) / 2, axis=1)
    flow = np.concatenate([np.zeros((len(odds), 1)), summed], axis=1)
    corrected = flow + np.log(steps / steps[:, :1]) / 2
    return np.asarray(np.maximum.accumulate(np.maximum(corrected, 0.0), axis=1))
