"""Sparse vector with a refreshed threshold on integer noise: the papers' way to pay for abstentions only."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Self

import numpy as np

from mapl.accounting import ORDERS, Loss
from mapl.errors import CannotCalibrate, GuaranteeBroken, InvalidParameter
from mapl.mechanisms.mechanism import Parameters, PricedByLoss, by_label
from mapl.mechanisms.tables.noise_law import WIDEST_LAPLACE, above, refuse_wide_noise
from mapl.noise import DEVIATION, Coins, NoiseTable, discrete_laplace
from mapl.types import (
    ABSTAIN,
    Budget,
    Distances,
    Floats,
    Outcome,
    Secret,
    Stable,
    State,
    Tallies,
    finite_positive,
)

SMALLEST_SCALE = 0.1
"""Noise below a tenth of a vote protects nobody; such settings are refused."""


@dataclass(frozen=True)
class SparseVector(PricedByLoss):
    """Publish the exact value while its noisy distance exceeds a noisy threshold; abstain and redraw it otherwise.

    Parameters
    ----------
    scale
        lambda: the threshold carries discrete Laplace noise of scale lambda, each question of scale 2 lambda.
    threshold
        w: the integer that the noisy distance has to exceed, up to the threshold's own noise.
    epochs
        T': the run halts right after the T'-th abstention; the threshold lives from one abstention to the next.
    max_questions
        The run halts after this many questions, answered or not.
    order
        The Renyi order of the paper's own calibration, priced next to the common grid.

    Notes
    -----
    *Guarantee.* (epsilon, delta)-differential privacy for adaptively chosen questions. Adjacency: one teacher
    changes its votes arbitrarily; unit: one teacher, hence every record of its shard. Theorem 1 of
    docs/proofs/sparse-vector.md: every epoch is pure 2/lambda-DP, and a question whose value differs between
    neighbours is ever answered with probability at most T' P(X - Z > w).
    """

    scale: float
    threshold: int
    epochs: int
    max_questions: int
    order: float

    name: ClassVar[str] = "sparse-vector"

    def within(self, budget: Budget) -> Self:
        """Return this mechanism if mapl's own accounting puts it within the budget; refuse otherwise."""
        epsilon = self.total.epsilon(budget.delta)
        if not epsilon <= budget.epsilon:
            raise CannotCalibrate(
                f"{self.name} costs epsilon {epsilon:.4g} at delta {budget.delta:g} with these settings, above the "
                f"budget of {budget.epsilon:g}: the paper's constants do not cover them. Lower epsilon, or allow "
                "fewer abstentions than questions."
            )
        return self

    @property
    def parameters(self) -> Parameters:
        return {
            "max_abstentions": self.epochs,
            "epochs": self.epochs,
            "lambda": self.scale,
            "w": self.threshold,
            "max_questions": self.max_questions,
        }

    @property
    def max_abstentions(self) -> int:
        """The number of abstentions at which the run halts, whatever the paper calls its cut-off."""
        return self.epochs

    @cached_property
    def threshold_noise(self) -> NoiseTable:
        return discrete_laplace(self.scale)

    @cached_property
    def question_noise(self) -> NoiseTable:
        return discrete_laplace(2 * self.scale)

    def start(self, coins: Coins) -> State:
        return State(secret=self.noisy_threshold(coins))

    def noisy_threshold(self, coins: Coins) -> Secret:
        """Draw the threshold of a new epoch."""
        return Secret(self.threshold + int(coins.draw(self.threshold_noise, (1,))[0]))

    def release(self, state: State, block: Stable, coins: Coins) -> Outcome:
        if state.halted:
            return Outcome(np.empty(0, dtype=np.int32), state)
        left = self.max_questions - state.answered - state.abstained
        distances, labels = block.distances[:left], block.values[:left].copy()
        noisy = distances + coins.draw(self.question_noise, distances.shape)
        threshold: Secret | None = threshold_in_force(state)
        asked = abstained = 0
        while threshold is not None:
            asked = first_at_most(noisy, threshold.value, asked)
            if asked == len(noisy):
                break
            labels[asked] = ABSTAIN
            asked, abstained = asked + 1, abstained + 1
            last = state.abstained + abstained == self.epochs
            threshold = None if last else self.noisy_threshold(coins)
        halted = threshold is None or asked == left
        after = state.after(asked - abstained, abstained, halted=halted, secret=None if halted else threshold)
        return Outcome(labels[:asked], after)

    def chances(self, block: Tallies, state: State) -> Floats:
        """Return the law given the threshold in force, or, if none is drawn, that of an epoch's first question."""
        if state.secret is None:
            distances, where = np.unique(block.distances, return_inverse=True)
            passing = np.array([self.chance_at(int(d)) for d in distances])[where]
        else:
            passing = above(self.question_noise, state.secret.value - block.distances)
        return by_label(block.values, passing, block.n_classes)

    @cached_property
    def per_epoch(self) -> Loss:
        """The loss of one threshold: everything published from its drawing to the next abstention."""
        orders = (*ORDERS, self.order)
        return Loss.pure(2 / self.scale * (1 + 1e-15), orders)

    @cached_property
    def failure(self) -> Loss:
        """The once-only delta: a bad question passes, or a table's draw is not the ideal one (Theorem 1, (2))."""
        bad_pass = tail(self.threshold, self.scale) * (1 + 1e-12) + 2 * DEVIATION
        untrue_draws = (1 + math.exp(2 / self.scale)) * (1 + self.max_questions) * DEVIATION
        delta = self._most_epochs * (bad_pass + untrue_draws) * (1 + 1e-12)
        return Loss.of(dict.fromkeys((*ORDERS, self.order, math.inf), 0.0), delta)

    @property
    def _most_epochs(self) -> int:
        return min(self.epochs, self.max_questions)

    @property
    def total(self) -> Loss:
        return self.per_epoch * self._most_epochs + self.failure

    def spent(self, state: State) -> Loss:
        # The epoch that is still open has told something too.
        return self.per_epoch * min(state.abstained + 1, self._most_epochs) + self.failure

    def chance_at(self, distance: int) -> float:
        """Return the probability that a question at this distance passes, over both noises."""
        return tail(self.threshold - distance, self.scale)

    def required_distance(self, probability: float) -> int | None:
        low, high = -1, self.threshold + 1
        while self.chance_at(high) < probability:
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.chance_at(middle) >= probability else (middle, high)
        return high

    def chance_if_unanimous(self, n_teachers: int, n_classes: int) -> float:
        return self.chance_at((n_teachers - 1) // 2)


def threshold_in_force(state: State) -> Secret:
    """Return the threshold in force; a state that has none cannot answer."""
    if state.secret is None:
        raise GuaranteeBroken("This state holds no threshold: it is halted, or was not made by `start`.")
    return state.secret


def first_at_most(noisy: Distances, threshold: int, start: int) -> int:
    """Return the first position from `start` on whose noisy distance is at most the threshold, or the length."""
    window = 256
    while start < len(noisy):
        below = noisy[start : start + window] <= threshold
        hit = int(below.argmax())
        if below[hit]:
            return start + hit
        start, window = start + window, 2 * window
    return len(noisy)


def tail(k: int, scale: float) -> float:
    """Return P(X - Z > k) for discrete Laplace X of scale 2 lambda and Z of scale lambda, in closed form.

    With r = e^(-1/(2 lambda)) and k >= 0 it is ((1+r) r^(k+1) - r^(2k+3)/(1+r^2)) / (1+r+r^2).
    """
    if k < 0:
        return 1 - tail(-k - 1, scale)
    step = -1 / (2 * scale)
    r = math.exp(step)
    return ((1 + r) * math.exp((k + 1) * step) - math.exp((2 * k + 3) * step) / (1 + r * r)) / (1 + r + r * r)


def scale_by_concentration(epochs: int, epsilon: float, delta: float) -> float:
    """Return the lambda for which `epochs` epochs of 2/lambda-DP cost epsilon at delta/2 by the zCDP formula."""
    log = math.log(2 / delta)
    return (math.sqrt(2 * epochs * (epsilon + log)) + math.sqrt(2 * epochs * log)) / epsilon


def best_order(epochs: int, scale: float, delta: float) -> float:
    """Return the order at which rho a + ln(2/delta)/(a-1) is smallest, for rho = 2 epochs / lambda^2."""
    return 1 + scale * math.sqrt(math.log(2 / delta) / (2 * epochs))


def check_budget(budget: Budget) -> tuple[float, float]:
    if budget.delta == 0:
        raise InvalidParameter("delta is 0; this mechanism needs a positive delta, for example 1e-6.")
    finite_positive(epsilon=budget.epsilon)
    return budget.epsilon, budget.delta


def refuse_unfit_noise(scale: float) -> float:
    """Refuse noise that is too wide to tabulate or too small to mean anything."""
    refuse_wide_noise(2 * scale, WIDEST_LAPLACE)
    if scale < SMALLEST_SCALE:
        raise CannotCalibrate(
            f"The budget asks for noise of scale {scale:.2g} only, less than {SMALLEST_SCALE} votes; that protects "
            "nobody. Choose a smaller epsilon."
        )
    return scale
