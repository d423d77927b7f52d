"""Sparse vector with a refreshed threshold on integer noise: the papers' way to pay for abstentions only."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Protocol, Self, TypeVar

import numpy as np

from mapl.accounting import ORDERS, Loss
from mapl.errors import CannotCalibrate, GuaranteeBroken, InvalidData, InvalidParameter
from mapl.mechanisms.mechanism import Floats, Parameters, PricedByLoss, Task, by_label
from mapl.mechanisms.noise_law import WIDEST_LAPLACE, above, refuse_wide_noise
from mapl.noise import DEVIATION, Coins, NoiseTable, discrete_laplace
from mapl.types import (
    ABSTAIN,
    Budget,
    Distances,
    Outcome,
    Secret,
    Stable,
    StableAnswers,
    State,
    Tallies,
    finite_positive,
    positive_integer,
)

SMALLEST_SCALE = 0.1
"""Noise below a tenth of a vote protects nobody; such settings are refused."""

FOR_EVER = 1 << 40
"""The number of questions that an unlimited run is priced for, and halts at."""


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
        threshold: Secret | None = drawn(state)
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


@dataclass(frozen=True)
class BTT18(SparseVector):
    """Algorithm 2 of Bassily, Thakkar and Thakurta (2018) with its printed constants and the corrected distance.

    Printed: lambda = sqrt(32 T ln(2/delta))/epsilon, w = 2 lambda ln(2m/delta) and the number of teachers
    k = 34 sqrt(2) lambda ln(4 m T / min(delta, beta/2)) that its utility theorem asks for. Its loop runs while
    ``c <= T``, so T + 1 abstentions are published and T + 1 epochs are paid for. The printed distance gap - 1
    moves by two when a vote changes; the distance to instability is used instead.

    Notes
    -----
    *Guarantee.* (epsilon, delta)-differential privacy, as its Theorem 3.1 claims; `total` is mapl's own price
    of the same run, usually below the claim, and settings for which it is not are refused. Adjacency: one
    teacher changes its votes arbitrarily; unit: one teacher. Theorem 1 of docs/proofs/sparse-vector.md.
    """

    printed_teachers: float

    name: ClassVar[str] = "btt18"

    @classmethod
    def for_task(cls, task: Task, *, max_abstentions: int, beta: float | None = None) -> Self:
        """Take the printed constants.

        `beta` is the failure probability of the utility theorem and enters only the printed number of
        teachers; it is 2 delta if not given, which is where it stops to matter.
        """
        positive_integer(max_abstentions=max_abstentions)
        epsilon, delta, m = *checked(task.budget), task.n_queries
        if beta is not None and not 0 < beta < 1:
            raise InvalidParameter(f"beta is {beta}; it is a failure probability, above 0 and below 1.")
        failing = delta if beta is None else min(delta, beta / 2)
        scale = calibrated(math.sqrt(32 * max_abstentions * math.log(2 / delta)) / epsilon)
        return cls(
            scale=scale,
            threshold=math.ceil(2 * scale * math.log(2 * m / delta)),
            epochs=max_abstentions + 1,
            max_questions=m,
            order=best_order(max_abstentions + 1, scale, delta),
            printed_teachers=34 * math.sqrt(2) * scale * math.log(4 * m * max_abstentions / failing),
        ).within(task.budget)

    @property
    def parameters(self) -> Parameters:
        return {**super().parameters, "max_abstentions": self.epochs - 1, "k": math.ceil(self.printed_teachers)}


@dataclass(frozen=True)
class LZCW21Sparse(SparseVector):
    """Algorithm 2 of Liu, Zhu, Chaudhuri and Wang (2021) with printed constants; it halts at T abstentions.

    Printed: lambda = (sqrt(2T(epsilon + ln(2/delta))) + sqrt(2T ln(2/delta)))/epsilon, the exact solution of
    rho + 2 sqrt(rho ln(2/delta)) = epsilon for T epochs of 2/lambda-DP, and w = 3 lambda ln(2(l + T)/delta).

    Notes
    -----
    *Guarantee.* (epsilon, delta)-differential privacy. Adjacency: one teacher changes its votes arbitrarily;
    unit: one teacher. Theorem 1 of docs/proofs/sparse-vector.md.
    """

    name: ClassVar[str] = "lzcw21-sparse"

    @classmethod
    def for_task(cls, task: Task, *, max_abstentions: int) -> Self:
        """Take the printed constants with l = the number of questions."""
        positive_integer(max_abstentions=max_abstentions)
        epsilon, delta = checked(task.budget)
        scale = calibrated(concentrated_scale(max_abstentions, epsilon, delta))
        return cls(
            scale=scale,
            threshold=math.ceil(3 * scale * math.log(2 * (task.n_queries + max_abstentions) / delta)),
            epochs=max_abstentions,
            max_questions=task.n_queries,
            order=best_order(max_abstentions, scale, delta),
        ).within(task.budget)


@dataclass(frozen=True)
class StableQueries(SparseVector):
    """The generic online release of any stable query, its threshold free of the number of questions.

    lambda as in `LZCW21Sparse`, w = 2 lambda ln(4T/(3 delta)): before the first bad pass each epoch meets at
    most one bad question, so the union runs over the T epochs and not over the questions.

    Notes
    -----
    *Guarantee.* (epsilon, delta)-differential privacy for queries whose distance moves by at most one between
    neighbours and is zero on both sides where their values differ. Adjacency and unit: whatever that contract
    was proved for; for votes, one teacher changes its votes arbitrarily. Theorem 1 of
    docs/proofs/sparse-vector.md.
    """

    name: ClassVar[str] = "stable-queries"

    @classmethod
    def for_task(cls, task: Task, *, max_abstentions: int) -> Self:
        """Spend half of delta on the composition of the epochs and half on bad passes."""
        positive_integer(max_abstentions=max_abstentions)
        epsilon, delta = checked(task.budget)
        scale = calibrated(concentrated_scale(max_abstentions, epsilon, delta))
        return cls(
            scale=scale,
            threshold=math.ceil(2 * scale * math.log(4 * max_abstentions / (3 * delta))),
            epochs=max_abstentions,
            max_questions=FOR_EVER,
            order=best_order(max_abstentions, scale, delta),
        ).within(task.budget)


Data = TypeVar("Data")
Value = TypeVar("Value")


class ReleasesStable(Protocol):
    """The part of a mechanism that a stable query needs: it looks at nothing but values and distances."""

    def start(self, coins: Coins) -> State: ...

    def release(self, state: State, block: StableAnswers, coins: Coins) -> Outcome: ...


def answer_stable_queries(
    mechanism: ReleasesStable, data: Data, queries: Iterable[Callable[[Data], tuple[Value, int]]], coins: Coins
) -> Iterator[Value | None]:
    """Ask stable queries one at a time; yield each released value, or None for an abstention, until the halt.

    Each query returns its value on the data and the value's distance to instability: a whole number that
    moves by at most one between neighbouring data sets and is zero on both where their values differ. The
    next query is taken from `queries` only after the previous answer was handed over, so a generator may
    choose it by the answers. Works with every mechanism that reads distances only: the sparse vectors, the
    ladder, `stable-once`.

    Examples
    --------
    >>> from mapl.mechanisms.mechanism import Task
    >>> from mapl.noise import SeededCoins
    >>> from mapl.types import Budget
    >>> def at_least_a_thousand_rows(data):
    ...     return len(data) >= 1000, abs(len(data) - 1000) - (len(data) < 1000)
    >>> mechanism = StableQueries.for_task(Task(Budget(1.0, 1e-6), 1, 2, 1), max_abstentions=1)
    >>> list(answer_stable_queries(mechanism, range(9000), [at_least_a_thousand_rows], SeededCoins(1)))
    [True]
    """
    state = mechanism.start(coins)
    pending = iter(queries)
    while not state.halted and (query := next(pending, None)) is not None:
        value, distance = query(data)
        if isinstance(distance, bool) or not isinstance(distance, (int, np.integer)):
            raise InvalidData("A stable query returned a distance that is not a whole number; return an int.")
        block = StableAnswers(np.zeros(1, dtype=np.int32), np.array([distance], dtype=np.int64))
        outcome = mechanism.release(state, block, coins)
        state = outcome.state
        yield None if outcome.labels[0] == ABSTAIN else value


def drawn(state: State) -> Secret:
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


def concentrated_scale(epochs: int, epsilon: float, delta: float) -> float:
    """Return the lambda for which `epochs` epochs of 2/lambda-DP cost epsilon at delta/2 by the zCDP formula."""
    log = math.log(2 / delta)
    return (math.sqrt(2 * epochs * (epsilon + log)) + math.sqrt(2 * epochs * log)) / epsilon


def best_order(epochs: int, scale: float, delta: float) -> float:
    """Return the order at which rho a + ln(2/delta)/(a-1) is smallest, for rho = 2 epochs / lambda^2."""
    return 1 + scale * math.sqrt(math.log(2 / delta) / (2 * epochs))


def checked(budget: Budget) -> tuple[float, float]:
    if budget.delta == 0:
        raise InvalidParameter("delta is 0; this mechanism needs a positive delta, for example 1e-6.")
    finite_positive(epsilon=budget.epsilon)
    return budget.epsilon, budget.delta


def calibrated(scale: float) -> float:
    """Refuse noise that is too wide to tabulate or too small to mean anything."""
    refuse_wide_noise(2 * scale, WIDEST_LAPLACE)
    if scale < SMALLEST_SCALE:
        raise CannotCalibrate(
            f"The budget asks for noise of scale {scale:.2g} only, less than {SMALLEST_SCALE} votes; that protects "
            "nobody. Choose a smaller epsilon."
        )
    return scale
