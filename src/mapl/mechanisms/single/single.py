"""Single private predictions: every question gets a label, each at the same price, up to a number of questions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np

from mapl.accounting import ORDERS, Loss, smallest_real
from mapl.errors import CannotCalibrate, InvalidData, InvalidParameter
from mapl.mechanisms.mechanism import PricedByLoss, Task
from mapl.noise import Coins
from mapl.types import Floats, Labels, Outcome, State, Tallies, finite_positive

MOST_EPSILON_EACH = 30.0
"""Larger budgets for one question are treated as this one; integer weights have no digits for more."""

MANY_ORDERS = (*ORDERS, 192.0, 256.0, 384.0, 512.0, 1024.0, 2048.0, 4096.0)
"""Small budgets split over many questions are read at large orders."""

ROUNDING = 1e-9
"""A given epsilon per question is lowered by this much (relatively), so that m times it may equal the budget."""

FURTHEST = 1 << 30


class AnswersEverything(PricedByLoss, ABC):
    """What mechanisms share that label every question at one price: a limit, a sum, and no abstentions."""

    n_classes: int
    n_queries: int

    @property
    @abstractmethod
    def per_answer(self) -> Loss:
        """The loss of one answer."""

    @abstractmethod
    def decide(self, block: Tallies, coins: Coins) -> Labels:
        """Draw a label for each question of the block."""

    @abstractmethod
    def law(self, block: Tallies) -> Floats:
        """Return the exact law of `decide`: one row per question, one column per class."""

    def start(self, coins: Coins) -> State:
        return State()

    def release(self, state: State, block: Tallies, coins: Coins) -> Outcome:
        self.refuse_other_classes(block)
        left = 0 if state.halted else self.n_queries - state.answered
        asked = block.first(left)
        labels = self.decide(asked, coins) if len(asked) else np.empty(0, dtype=np.int32)
        return Outcome(labels, state.after(len(asked), 0, halted=len(asked) >= left))

    def refuse_other_classes(self, block: Tallies) -> None:
        if block.n_classes != self.n_classes:
            raise InvalidData(
                f"The votes have {block.n_classes} classes and the mechanism was calibrated for {self.n_classes}; "
                "calibrate it again."
            )

    def chances(self, block: Tallies, state: State) -> Floats:
        return np.column_stack([self.law(block), np.zeros(len(block))])

    @property
    def total(self) -> Loss:
        return self.per_answer * self.n_queries

    def spent(self, state: State) -> Loss:
        return self.per_answer * state.answered

    def required_distance(self, probability: float) -> int | None:
        """Return the distance that is enough even when all other classes tie for the second place."""

        # Of the tallies with a given distance d, a lead of 2d of the first class over all others is the hardest.
        def chance_at(distance: int) -> float:
            return self.chance_with_lead(2 * distance, self.n_classes)

        low, high = -1, 1
        while chance_at(high) < probability:
            low, high = high, 2 * high
            if high > FURTHEST:
                return None
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if chance_at(middle) >= probability else (middle, high)
        return high

    def chance_if_unanimous(self, n_teachers: int, n_classes: int) -> float:
        return self.chance_with_lead(n_teachers, n_classes)

    def chance_with_lead(self, lead: int, n_classes: int) -> float:
        """Return the chance of the first class when it leads all others by the same number of votes."""
        counts = np.zeros((1, n_classes), dtype=np.int64)
        counts[0, 0] = lead
        return float(self.law(Tallies(counts))[0, 0])


def epsilon_for_each(task: Task, loss_of: Callable[[float], Loss], given: float | None) -> float:
    """Return the epsilon of one question: the given one if the budget covers it, or else the largest affordable.

    `loss_of(e)` is the loss of one question at epsilon e. Composition is priced at every order of the loss,
    that of pure differential privacy (order infinity, m times e) among them, so delta may be 0.
    """
    epsilon, delta, m = task.budget.epsilon, task.budget.delta, task.n_queries

    def affordable(scale: float) -> bool:
        return (loss_of(1 / scale) * m).epsilon(delta) <= epsilon

    if given is not None:
        finite_positive(epsilon_each=given)
        if given > MOST_EPSILON_EACH:
            raise InvalidParameter(f"epsilon_each is {given:g}; it must be at most {MOST_EPSILON_EACH:g}.")
        given *= 1 - ROUNDING
        cost = (loss_of(given) * m).epsilon(delta)
        if not cost <= epsilon:
            raise CannotCalibrate(
                f"{m} questions at epsilon_each {given:g} cost epsilon {cost:.4g} at delta {delta:g}, above the "
                f"budget of {epsilon:g}. Lower epsilon_each, ask less, or leave epsilon_each to mapl."
            )
        return given
    if affordable(1 / MOST_EPSILON_EACH):
        return MOST_EPSILON_EACH
    return 1 / smallest_real(affordable, 1 / MOST_EPSILON_EACH, 2 * m / epsilon)
