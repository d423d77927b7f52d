"""The ladder with a noisy max behind it: no question stays unanswered, and consensus stays free."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Self

import numpy as np

from mapl.accounting import ORDERS, Loss, capacity, smallest_real
from mapl.errors import CannotCalibrate, InvalidParameter
from mapl.mechanisms.mechanism import Parameters, Task, until_nth
from mapl.mechanisms.tables.argmax_price import FIRST_TRIED, PricedWithSampling, argmax_loss, usable, usable_noise
from mapl.mechanisms.tables.noise_law import chance_of_leader, law_of_argmax, noisy_argmax
from mapl.mechanisms.votes import ladder as first
from mapl.mechanisms.votes.ladder import Ladder
from mapl.noise import Coins, discrete_gaussian
from mapl.types import Budget, Floats, Outcome, State, Tallies, positive_integer


@dataclass(frozen=True)
class LadderThenMax(PricedWithSampling):
    """Climb the ladder; where it would abstain, publish a noisy argmax instead and say so.

    Parameters
    ----------
    ladder
        Decides whether the exact winner is published; its abstentions are what is paid for.
    sigma
        Discrete Gaussian noise on every count of a question that falls back.
    n_classes
        Two classes have a smaller price than three or more.

    Notes
    -----
    *Guarantee.* (epsilon, delta)-differential privacy for any number of adaptively chosen questions, until
    the ladder has abstained `max_abstentions` times (the last of them is answered, too). Adjacency: one
    teacher changes its votes arbitrarily; unit: one teacher, hence every record of its shard. Proof:
    docs/proofs/noisy-max.md, section 5. Whether an answer is a fallback is public.
    """

    ladder: Ladder
    sigma: float
    n_classes: int

    name: ClassVar[str] = "ladder-then-max"

    @classmethod
    def for_task(cls, task: Task, *, max_abstentions: int, sigma: float | None = None, share: float = 0.5) -> Self:
        """Split the budget between abstentions and their fallback answers, and certify the ladder.

        `share` is the fallback's part of the budget; a given `sigma` fixes the fallback's price instead.
        """
        positive_integer(max_abstentions=max_abstentions)
        if not 0 < share < 1:
            raise InvalidParameter(f"share is {share}; it must lie between 0 and 1, for example 0.5.")
        budget, limit = task.budget, max_abstentions
        usable(budget, task.n_classes * limit)
        noise = _sigma_for(budget, limit, share) if sigma is None else sigma
        usable_noise(sigma=noise)
        answer = argmax_loss(noise, task.n_classes)
        # Only orders at which both stages have a price; sampling takes its delta from the budget.
        rest = Budget(budget.epsilon, budget.delta - answer.delta * limit)
        orders = np.array([a for a, _ in answer.divergences if a <= 128])

        def fallback_price(order: float) -> float:
            return (order - 1) * answer.at(order) * (1 + 1e-14)

        longest = first.longest_table(task.n_teachers)
        found = first.design(rest, limit, longest, orders=orders, also_per_abstention=fallback_price)
        extra = fallback_price(found.order)
        ladder = Ladder.built(found, limit, longest, rest, also_per_abstention=extra)
        return cls(ladder, noise, task.n_classes)

    @property
    def max_abstentions(self) -> int:
        return self.ladder.max_abstentions

    @property
    def parameters(self) -> Parameters:
        return {**self.ladder.parameters, "sigma": self.sigma}

    def start(self, coins: Coins) -> State:
        return State()

    def release(self, state: State, block: Tallies, coins: Coins) -> Outcome:
        passes = coins.flip(self.ladder.rungs.at(block.distances))
        left = self.max_abstentions - state.abstained
        asked = until_nth(~passes, left) if left > 0 and not state.halted else 0
        fallback = ~passes[:asked]
        labels = block.values[:asked].copy()
        open_ = block.counts[:asked][fallback]
        labels[fallback] = noisy_argmax(discrete_gaussian(self.sigma), open_, coins)
        abstained = len(open_)
        return Outcome(labels, state.after(asked - abstained, abstained, halted=abstained >= left), fallback)

    def chances(self, block: Tallies, state: State) -> Floats:
        stable = self.ladder.chances(block, state)
        second_stage = stable[:, -1:] * law_of_argmax(discrete_gaussian(self.sigma), block.counts)
        return np.hstack([stable[:, :-1], np.zeros((len(block), 1)), second_stage])

    @cached_property
    def per_abstention(self) -> Loss:
        """The loss of one abstention together with its fallback answer."""
        return self.ladder.per_abstention + argmax_loss(self.sigma, self.n_classes)

    @property
    def total(self) -> Loss:
        return self.per_abstention * self.max_abstentions + self.ladder.failure

    def spent(self, state: State) -> Loss:
        return self.per_abstention * state.abstained + self.ladder.failure

    def required_distance(self, probability: float) -> int | None:
        return None

    def chance_if_unanimous(self, n_teachers: int, n_classes: int) -> float:
        stable = self.ladder.chance_if_unanimous(n_teachers, n_classes)
        return stable + (1 - stable) * chance_of_leader(discrete_gaussian(self.sigma), n_teachers - 1, n_classes)


def _sigma_for(budget: Budget, limit: int, share: float) -> float:
    """Return the noise whose two-class price takes `share` of the budget's best order for `limit` answers."""

    def affordable(sigma: float) -> bool:
        answer = argmax_loss(sigma, 2)
        return any(
            limit * (a - 1) * answer.at(a) <= share * capacity(budget.epsilon, 0.9 * budget.delta, a)
            for a in ORDERS
        )

    try:
        return smallest_real(affordable, 0.5, FIRST_TRIED, rounds=16)
    except CannotCalibrate:
        raise CannotCalibrate(
            f"epsilon {budget.epsilon:g} cannot pay for {limit} fallback answers; lower max_abstentions."
        ) from None
