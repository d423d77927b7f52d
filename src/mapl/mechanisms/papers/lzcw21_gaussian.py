"""Gaussian noise on the votes, priced by the closed form: Algorithm 1 of Liu, Zhu, Chaudhuri and Wang (2021)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mapl.accounting import ORDERS, Loss
from mapl.errors import InvalidParameter
from mapl.mechanisms.mechanism import Parameters, Task
from mapl.mechanisms.single.single import MOST_EPSILON_EACH, AnswersEverything
from mapl.mechanisms.tables.noise_law import (
    WIDEST_GAUSSIAN,
    above,
    at_most,
    chance_of_leader,
    law_of_argmax,
    noisy_argmax,
    refuse_wide_noise,
)
from mapl.noise import DEVIATION, Coins, NoiseTable, discrete_gaussian
from mapl.types import Budget, Floats, Labels, State, Tallies


@dataclass(frozen=True)
class LZCW21Gaussian(AnswersEverything):
    """Publish whether the second class, with discrete Gaussian noise, reaches half of the votes.

    It answers l questions. With more than two classes every count gets noise of sigma sqrt(2), and the largest
    noisy count wins, ties to the lowest index.
    Printed: sigma = sqrt(l/2) (sqrt(ln(1/delta) + epsilon) + sqrt(ln(1/delta)))/epsilon.

    Notes
    -----
    *Guarantee.* (epsilon, delta)-differential privacy of l = n_queries adaptively chosen questions, by the
    closed form rho + 2 sqrt(rho ln(1/delta)) with rho = l/(2 sigma^2); tighter accounts of the same noise are
    in noisy-max, on purpose not here. Adjacency: one teacher changes its votes arbitrarily; unit: one teacher,
    hence every record of its shard. Theorem 1 of docs/proofs/lzcw21-gaussian.md.
    """

    sigma: float
    n_classes: int
    n_queries: int
    promised: Budget

    name: ClassVar[str] = "lzcw21-gaussian"

    @classmethod
    def for_task(cls, task: Task) -> Self:
        """Take the printed sigma for l = the number of questions."""
        delta, questions = task.budget.delta, task.n_queries
        if delta == 0:
            raise InvalidParameter("delta is 0; this mechanism needs a positive delta, for example 1e-6.")
        epsilon = min(task.budget.epsilon, MOST_EPSILON_EACH)
        log = math.log(1 / delta)
        sigma = math.sqrt(questions / 2) * (math.sqrt(log + epsilon) + math.sqrt(log)) / epsilon
        # One part in 10^9 pays for the tables' deviation and the rounding of the square roots.
        found = cls(sigma * (1 + 1e-9), task.n_classes, questions, Budget(epsilon, delta))
        refuse_wide_noise(found.noise_scale, WIDEST_GAUSSIAN)
        return found

    @property
    def noise_scale(self) -> float:
        """One changed vote moves the one noisy count of two classes by 1, and otherwise two counts by 1 each."""
        return self.sigma if self.n_classes == 2 else self.sigma * math.sqrt(2)

    @cached_property
    def noise(self) -> NoiseTable:
        return discrete_gaussian(self.noise_scale)

    @property
    def parameters(self) -> Parameters:
        return {"n_queries": self.n_queries, "sigma": self.sigma, "noise_scale": self.noise_scale}

    def decide(self, block: Tallies, coins: Coins) -> Labels:
        if self.n_classes == 2:
            ones = block.counts[:, 1].astype(np.int64)
            return (ones + coins.draw(self.noise, ones.shape) >= half(block)).astype(np.int32)
        return noisy_argmax(self.noise, block.counts, coins)

    def law(self, block: Tallies) -> Floats:
        if self.n_classes != 2:
            return law_of_argmax(self.noise, block.counts)
        needed = half(block) - block.counts[:, 1].astype(np.int64)
        return np.column_stack([at_most(self.noise, needed - 1), above(self.noise, needed - 1)])

    def chance_with_lead(self, lead: int, n_classes: int) -> float:
        if self.n_classes == 2:
            return super().chance_with_lead(lead, n_classes)
        return chance_of_leader(self.noise, lead, n_classes)

    @property
    def rho(self) -> float:
        """The zCDP cost of one answer."""
        return 1 / (2 * self.sigma**2) * (1 + 1e-15)

    @cached_property
    def per_answer(self) -> Loss:
        orders = (*ORDERS, 1 + math.sqrt(math.log(1 / self.promised.delta) / (self.rho * self.n_queries)))
        ideal = Loss.zcdp(self.rho, orders)
        return Loss(ideal.divergences, self._untrue_draws(1) * (1 + math.exp(self.promised.epsilon)))

    def _untrue_draws(self, answers: int) -> float:
        return answers * (1 if self.n_classes == 2 else self.n_classes) * DEVIATION

    def epsilon(self, loss_of: State | None, delta: float) -> float:
        """Return the paper's closed form for the answers given, or for all of them."""
        answers = self.n_queries if loss_of is None else loss_of.answered
        if answers == 0:
            return 0.0
        if delta <= 0:
            return math.inf
        rough = epsilon_in_closed_form(self.rho * answers, delta / 2)
        # Real draws replace ideal ones on both sides: docs/proofs/lzcw21-gaussian.md, (2).
        lost = self._untrue_draws(answers) * (1 + math.exp(min(rough, 700.0)))
        return epsilon_in_closed_form(self.rho * answers, delta - lost) if lost <= delta / 2 else math.inf


def half(block: Tallies) -> NDArray[np.int64]:
    """Return the least whole number of votes that is at least half of them."""
    total = block.counts.sum(axis=1, dtype=np.int64)
    return np.asarray(total - total // 2)


def epsilon_in_closed_form(rho: float, delta: float) -> float:
    """Return the epsilon that rho-zCDP has at delta by Bun and Steinke's conversion."""
    return (rho + 2 * math.sqrt(rho * math.log(1 / delta))) * (1 + 1e-15)
