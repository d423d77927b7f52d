"""The exponential mechanism on votes: a label's chance falls by e^(-epsilon/2) with every vote it trails."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Self

import numpy as np
from flint import arb, ctx, fmpq
from numpy.typing import NDArray

from mapl.accounting import Loss
from mapl.errors import CannotCalibrate
from mapl.mechanisms.mechanism import Parameters, Task
from mapl.mechanisms.single.single import MANY_ORDERS, AnswersEverything, epsilon_for_each
from mapl.noise import ONE, Coins
from mapl.types import Floats, Labels, Tallies

LEAST_WEIGHT = 1 << 28
"""Weights end above this size, so that rounding them to integers moves a ratio by less than 4e-9."""
LONGEST = 200_000
SLACKS = (0.0, 1e-9, 1e-7, 1e-5, 1e-3)


@dataclass(frozen=True, eq=False)
class ExponentialVote(AnswersEverything):
    """Draw label y with probability proportional to ``weights[max(n) - n_y]``, an integer near e^(-epsilon gap/2).

    A vote that moves from a to b changes two gaps by one each, hence the half in the exponent:
    softmax(epsilon * counts) would cost 2 epsilon.

    Notes
    -----
    *Guarantee.* Each answer is pure epsilon-differentially private, and its log-ratios between neighbours span
    an interval of length epsilon (bounded range), so m answers compose like m releases of epsilon^2/8 zCDP.
    Adjacency: one teacher changes its votes arbitrarily; unit: one teacher, hence every record of its shard.
    Theorems 1 and 2 of docs/proofs/single-predictions.md.
    """

    weights: NDArray[np.int64]
    n_classes: int
    n_queries: int

    name: ClassVar[str] = "exponential-vote"

    @classmethod
    def for_task(cls, task: Task, *, epsilon_each: float | None = None) -> Self:
        """Tabulate the weights for the largest epsilon per question that the budget allows, or the given one."""
        each = epsilon_for_each(task, bounded_range_loss, epsilon_each)
        top = ONE >> (task.n_classes - 1).bit_length()  # C weights sum to at most ONE
        return cls(falling_weights(each, top, task.n_teachers), task.n_classes, task.n_queries)

    @cached_property
    def epsilon_each(self) -> float:
        """Epsilon of one answer, from the integers, rounded up."""
        return 2 * steepest(self.weights)

    @property
    def parameters(self) -> Parameters:
        return {"n_queries": self.n_queries, "epsilon_each": self.epsilon_each, "weights": len(self.weights)}

    @cached_property
    def per_answer(self) -> Loss:
        return bounded_range_loss(self.epsilon_each)

    def decide(self, block: Tallies, coins: Coins) -> Labels:
        return coins.choose(self.weights.take(gaps(block), mode="clip"))

    def law(self, block: Tallies) -> Floats:
        weights = self.weights.take(gaps(block), mode="clip").astype(np.float64)
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def gaps(block: Tallies) -> NDArray[np.int64]:
    """Return how many votes each class trails the first by."""
    counts = block.counts.astype(np.int64)
    return np.asarray(counts.max(axis=1, keepdims=True) - counts)


def falling_weights(epsilon: float, top: int, n_teachers: int) -> NDArray[np.int64]:
    """Round ``top * e^(-epsilon gap/2)`` to integers whose steps cost at most epsilon/2 each, exactly.

    The last weight is held beyond the end: a step of nothing is always allowed.
    """
    reach = int(math.log(top / LEAST_WEIGHT) / (epsilon / 2)) + 1
    gap = np.arange(max(2, min(reach, n_teachers + 1, LONGEST)))
    for slack in SLACKS:
        weights: NDArray[np.int64] = np.floor(top * np.exp(-epsilon * (1 - slack) / 2 * gap)).astype(np.int64)
        if 2 * steepest(weights) <= epsilon:
            return weights
    raise CannotCalibrate(
        f"An epsilon of {epsilon:g} per question is too small for integer weights; ask fewer questions."
    )


def steepest(weights: NDArray[np.int64]) -> float:
    """Return an upper bound of max ln(weights[g] / weights[g+1]), from the exact rationals."""
    if len(weights) == 1:
        return 0.0
    ratios = weights[:-1] / weights[1:]
    # Float ratios are true to a few units in the last place; every near-maximum is compared exactly.
    near = np.flatnonzero(ratios >= ratios.max() * (1 - 1e-14))
    worst = max(Fraction(int(weights[g]), int(weights[g + 1])) for g in near)
    with ctx.workprec(160):
        log = arb(fmpq(worst.numerator, worst.denominator)).log()
        return max(0.0, math.nextafter(float(log.upper()), math.inf))


def bounded_range_loss(epsilon: float) -> Loss:
    """Return the loss of an epsilon-DP release whose log-ratios span an interval of length epsilon."""
    pure = Loss.pure(epsilon, MANY_ORDERS)
    # At order infinity the first bound is infinite and the pure one stays.
    return Loss.of({a: min(epsilon * epsilon / 8 * a * (1 + 1e-12), r) for a, r in pure.divergences})
