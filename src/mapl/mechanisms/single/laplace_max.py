"""Noisy max with discrete Laplace noise: the pure-DP ancestor of the mechanisms that vote."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Self

from mapl.accounting import Loss
from mapl.errors import InvalidParameter
from mapl.mechanisms.mechanism import Parameters, Task
from mapl.mechanisms.single.single import MANY_ORDERS, AnswersEverything, epsilon_for_each
from mapl.mechanisms.tables.noise_law import (
    WIDEST_LAPLACE,
    chance_of_leader,
    law_of_argmax,
    noisy_argmax,
    refuse_wide_noise,
)
from mapl.noise import DEVIATION, Coins, NoiseTable, discrete_laplace
from mapl.types import Floats, Labels, Tallies


@dataclass(frozen=True)
class LaplaceMax(AnswersEverything):
    """Add discrete Laplace noise of scale 2/epsilon to every count, publish the largest, ties to the lowest index.

    Notes
    -----
    *Guarantee.* Each answer is pure epsilon-differentially private up to the noise tables' deviation, which is
    charged to delta. Adjacency: one teacher changes its votes arbitrarily; unit: one teacher, hence every
    record of its shard. Theorem 4 of docs/proofs/single-predictions.md.
    """

    scale: float
    n_classes: int
    n_queries: int

    name: ClassVar[str] = "laplace-max"

    @classmethod
    def for_task(cls, task: Task, *, epsilon_each: float | None = None) -> Self:
        """Take the smallest noise that the budget allows for every question, or that of the given epsilon."""
        if task.budget.delta == 0:
            raise InvalidParameter(
                "delta is 0; laplace-max draws from tables that deviate by up to 2**-100 and needs some delta. "
                "exponential-vote and permute-and-flip are exactly pure."
            )
        each = epsilon_for_each(task, lambda e: noisy(e, task.n_classes), epsilon_each)
        scale = 2 / each * (1 + 1e-12)
        refuse_wide_noise(scale, WIDEST_LAPLACE)
        return cls(scale, task.n_classes, task.n_queries)

    @property
    def epsilon_each(self) -> float:
        return 2 / self.scale * (1 + 1e-15)

    @property
    def parameters(self) -> Parameters:
        return {"n_queries": self.n_queries, "epsilon_each": self.epsilon_each, "scale": self.scale}

    @cached_property
    def noise(self) -> NoiseTable:
        return discrete_laplace(self.scale)

    @cached_property
    def per_answer(self) -> Loss:
        return noisy(self.epsilon_each, self.n_classes)

    def decide(self, block: Tallies, coins: Coins) -> Labels:
        return noisy_argmax(self.noise, block.counts, coins)

    def law(self, block: Tallies) -> Floats:
        return law_of_argmax(self.noise, block.counts)

    def chance_with_lead(self, lead: int, n_classes: int) -> float:
        return chance_of_leader(self.noise, lead, n_classes)


def noisy(epsilon: float, n_classes: int) -> Loss:
    """Return the loss of one answer: pure epsilon, and a delta for each draw that is not the ideal one."""
    untrue_draws = n_classes * (1 + math.exp(min(epsilon, 700.0))) * DEVIATION
    return Loss(Loss.pure(epsilon, MANY_ORDERS).divergences, untrue_draws)
