"""Noisy max: discrete Gaussian noise on every count, publish the argmax; every question is answered."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Self

from mapl.accounting import Loss, largest_integer, smallest_real
from mapl.errors import CannotCalibrate
from mapl.mechanisms.mechanism import Parameters, Task
from mapl.mechanisms.tables.argmax_price import (
    FIRST_TRIED,
    LEAST_NOISE,
    argmax_growth,
    argmax_loss,
    epsilon_if_covered,
    usable,
    usable_noise,
)
from mapl.mechanisms.tables.noise_law import chance_of_leader, lay_out_argmax_law, noisy_argmax
from mapl.noise import Coins, discrete_gaussian
from mapl.types import Floats, Outcome, State, Tallies, positive_integer


@dataclass(frozen=True)
class NoisyMax:
    """Add discrete Gaussian noise to every count and publish the class with the largest, lowest index first.

    Parameters
    ----------
    sigma
        Scale of the noise on each count.
    max_answers
        The run halts after this many answers.
    n_classes
        Two classes have a smaller price than three or more.

    Notes
    -----
    *Guarantee.* (epsilon, delta)-differential privacy for `max_answers` adaptively chosen questions.
    Adjacency: one teacher changes its votes arbitrarily; unit: one teacher, hence every record of its
    shard. The price is the exact maximum of the Renyi divergence over all neighbouring laws of the published
    label (discrete noise, all tie orders), or the certified hockey-stick accounting where that is smaller.
    Proofs: docs/proofs/noisy-max.md and docs/proofs/hockey-stick.md.
    """

    sigma: float
    max_answers: int
    n_classes: int
    budget_delta: float
    budget_epsilon: float

    name: ClassVar[str] = "noisy-max"

    @classmethod
    def for_task(cls, task: Task, *, sigma: float | None = None, max_answers: int | None = None) -> Self:
        """Calibrate the noise for the answers asked, or count the answers that a given noise affords.

        With `sigma` alone the run may answer as many of the task's questions as the budget allows.
        """
        budget = task.budget
        if max_answers is not None:
            positive_integer(max_answers=max_answers)
        usable(budget, task.n_classes)

        if sigma is None:
            answers = max_answers or task.n_queries
            return cls._of(task, calibrate_sigma(task, answers), answers)
        usable_noise(sigma=sigma)
        affordable = largest_integer(lambda n: cls._of(task, sigma, n).fits(), most=max_answers or task.n_queries)
        if affordable < (max_answers or 1):
            raise CannotCalibrate(
                f"sigma {sigma:g} affords {affordable} answers within epsilon {budget.epsilon:g} at delta "
                f"{budget.delta:g}, and {max_answers or 1} were asked; raise sigma or the budget, or ask less."
            )
        return cls._of(task, sigma, affordable)

    @classmethod
    def _of(cls, task: Task, sigma: float, answers: int) -> Self:
        return cls(sigma, answers, task.n_classes, task.budget.delta, task.budget.epsilon)

    def fits(self) -> bool:
        """Say whether all answers together stay within the budget."""
        return self._epsilon(self.max_answers, self.budget_delta) <= self.budget_epsilon

    @property
    def parameters(self) -> Parameters:
        return {
            "sigma": self.sigma,
            "max_answers": self.max_answers,
            "accounting": self.accounting(self.max_answers, self.budget_delta),
        }

    def start(self, coins: Coins) -> State:
        return State()

    def release(self, state: State, block: Tallies, coins: Coins) -> Outcome:
        left = 0 if state.halted else self.max_answers - state.answered
        counts = block.counts[: max(left, 0)]
        labels = noisy_argmax(discrete_gaussian(self.sigma), counts, coins)
        return Outcome(labels, state.after(len(labels), 0, halted=len(labels) >= left))

    def chances(self, block: Tallies, state: State) -> Floats:
        return lay_out_argmax_law(discrete_gaussian(self.sigma), block)

    @property
    def per_answer(self) -> Loss:
        """The loss of one answer."""
        return argmax_loss(self.sigma, self.n_classes)

    @property
    def total(self) -> Loss:
        return self.per_answer * self.max_answers

    def spent(self, state: State) -> Loss:
        return self.per_answer * state.answered

    def epsilon(self, loss_of: State | None, delta: float) -> float:
        return self._epsilon(self.max_answers if loss_of is None else loss_of.answered, delta)

    def accounting(self, answers: int, delta: float) -> str:
        """Name the accounting that gives the smaller epsilon."""
        return "hockey-stick" if self._epsilon(answers, delta) < self._renyi_epsilon(answers, delta) else "Renyi"

    def _renyi_epsilon(self, answers: int, delta: float) -> float:
        return (self.per_answer * answers).epsilon(delta)

    def _epsilon(self, answers: int, delta: float) -> float:
        renyi = epsilon_if_covered(self._renyi_epsilon(answers, delta))
        # The certificate is for the budget's own size, so one serves every count of answers. Releases far
        # past what Renyi accounting affords cannot be affordable either: it is within a fifth of the optimum.
        if answers < 10 or renyi > 1.3 * self.budget_epsilon + 1:
            return renyi
        most = math.ceil(1.2 * self._renyi_limit()) + 5
        if answers > most:
            return renyi
        growth = argmax_growth(self.sigma, self.n_classes, most, 1.02 * self.budget_epsilon, delta)
        rest = delta - self.per_answer.delta * answers
        return renyi if growth is None else min(renyi, growth.epsilon(answers, rest))

    def _renyi_limit(self) -> int:
        return largest_integer(lambda n: self._renyi_epsilon(n, self.budget_delta) <= self.budget_epsilon)

    def required_distance(self, probability: float) -> int | None:
        return None

    def chance_if_unanimous(self, n_teachers: int, n_classes: int) -> float:
        return chance_of_leader(discrete_gaussian(self.sigma), n_teachers - 1, n_classes)


def calibrate_sigma(task: Task, answers: int) -> float:
    """Return the smallest noise, on the private side, at which the Renyi curve affords `answers` answers."""
    budget, classes = task.budget, task.n_classes
    sigma = estimate_sigma(task, answers)
    while classes > 2 and (argmax_loss(sigma, classes) * answers).epsilon(budget.delta) > budget.epsilon:
        sigma *= 1.003 if sigma <= 99 else 1.26
    return sigma


def estimate_sigma(task: Task, answers: int) -> float:
    """Return that noise by the price of two classes, which is found in a moment; more classes cost 0.6% more."""
    budget = task.budget
    usable(budget, task.n_classes * answers)
    margin = 1.0 if task.n_classes == 2 else 1.006

    def affordable(sigma: float) -> bool:
        loss = argmax_loss(sigma, 2) * answers
        widened = Loss.of({a: r * margin for a, r in loss.divergences}, loss.delta)
        return widened.epsilon(budget.delta) <= budget.epsilon

    return smallest_real(affordable, LEAST_NOISE, FIRST_TRIED, rounds=20)
