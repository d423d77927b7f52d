"""The ladder with a link behind it: no question stays unanswered, and consensus stays free."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Self

import numpy as np

from mapl.accounting import ORDERS, Loss, capacity
from mapl.errors import CannotCalibrate, InvalidParameter
from mapl.mechanisms.mechanism import Parameters, PricedByLoss, Task, until_nth
from mapl.mechanisms.tables.offset_table import LinkDesign, OffsetTable, two_sided
from mapl.mechanisms.votes import ladder as first
from mapl.mechanisms.votes import link as second
from mapl.mechanisms.votes.ladder import FAILURE_SHARES, Ladder
from mapl.mechanisms.votes.link import LEAST_DIVERGENCE, above_one, build_certified_table
from mapl.noise import ONE, Coins
from mapl.types import Budget, Distances, Floats, Outcome, State, Tallies, positive_integer


@dataclass(frozen=True)
class LadderThenLink(PricedByLoss):
    """Climb the ladder; where it would abstain, publish the link's answer instead and say so.

    Parameters
    ----------
    ladder
        Decides whether the exact winner is published; its abstentions are what is paid for.
    fallback
        Chance of the less likely label by offset from the tie, used on those abstentions only.
    divergence
        What one fallback answer costs at the ladder's order, on top of the abstention.

    Notes
    -----
    *Guarantee.* (epsilon, delta)-differential privacy for any number of adaptively chosen two-class
    questions, until the ladder has abstained `max_abstentions` times (the last of them is answered, too).
    Adjacency: one teacher changes its votes arbitrarily; unit: one teacher, hence every record of its
    shard. Theorem 3 of docs/proofs/link.md. Whether an answer is a fallback is public.
    """

    ladder: Ladder
    fallback: OffsetTable
    divergence: float

    name: ClassVar[str] = "ladder-then-link"

    @classmethod
    def for_task(cls, task: Task, *, max_abstentions: int, share: float = 0.5, order: float | None = None) -> Self:
        """Split the budget between abstentions and their fallback answers, and certify both tables."""
        positive_integer(max_abstentions=max_abstentions)
        if task.n_classes != 2:
            raise InvalidParameter(
                f"There are {task.n_classes} classes; ladder-then-link answers two-class questions. "
                "Use ladder-then-max instead."
            )
        if not 0 < share < 1:
            raise InvalidParameter(f"share is {share}; it must lie between 0 and 1, for example 0.5.")
        if order is not None:
            above_one(order)
        budget = task.budget
        # The ladder keeps some delta for itself; what the fallback may spend assumes that it keeps the most.
        rest = budget.delta * (1 - max(FAILURE_SHARES))

        def fallback_price(order: float) -> float:
            return share * max(0.0, capacity(budget.epsilon, rest, order)) / max_abstentions

        longest = first.longest_table(task.n_teachers)
        orders = None if order is None else np.array([order])
        found = first.design(budget, max_abstentions, longest, orders=orders, also_per_abstention=fallback_price)
        divergence = fallback_price(found.order) / (found.order - 1) * (1 - 1e-12)
        if divergence < LEAST_DIVERGENCE:
            raise CannotCalibrate(
                f"A share of {share:g} of the budget cannot pay for {max_abstentions} fallback answers at this "
                "order; lower max_abstentions, raise share, or leave the order to mapl."
            )
        fallback = build_certified_table(
            LinkDesign(found.order, divergence),
            odd=task.n_teachers % 2 == 1,
            longest=second.longest_table(task.n_teachers),
        )
        extra = log_moment(found.order, divergence)
        ladder = Ladder.built(found, max_abstentions, longest, budget, also_per_abstention=extra)
        return cls(ladder, fallback, divergence)

    @property
    def max_abstentions(self) -> int:
        return self.ladder.max_abstentions

    @property
    def fallback_price(self) -> float:
        """The log-moment that a fallback answer adds to its abstention's, rounded up."""
        return log_moment(self.ladder.order, self.divergence)

    def certify(self, budget: Budget) -> bool:
        """Verify every hypothesis of Theorem 3 from the integers, in ball arithmetic."""
        return self.fallback.certified(LinkDesign(self.ladder.order, self.divergence)) and self.ladder.certify(
            budget, also_per_abstention=self.fallback_price
        )

    @property
    def parameters(self) -> Parameters:
        return {
            **self.ladder.parameters,
            "fallback_divergence": self.divergence,
            "fallback_offsets": len(self.fallback),
        }

    def start(self, coins: Coins) -> State:
        return State()

    def release(self, state: State, block: Tallies, coins: Coins) -> Outcome:
        leads = self.fallback.leads(block)
        # Two coins per question, in the order of the questions, so that blocks of any size agree.
        numerators = np.column_stack([self.ladder.rungs.at(block.distances), self.fallback.at(leads)])
        passes, loses = coins.flip(numerators).T
        left = self.max_abstentions - state.abstained
        asked = until_nth(~passes, left) if left > 0 and not state.halted else 0
        labels = np.where(passes, block.values, (leads > 0) ^ loses)[:asked]
        fallback = ~passes[:asked]
        abstained = int(np.count_nonzero(fallback))
        after = state.after(asked - abstained, abstained, halted=abstained >= left)
        return Outcome(labels.astype(np.int32), after, fallback)

    def chances(self, block: Tallies, state: State) -> Floats:
        stable = self.ladder.chances(block, state)
        second_stage = stable[:, -1:] * two_sided(self.fallback, block)[:, :-1]
        never = np.zeros((len(block), 1))
        return np.hstack([stable[:, :-1], never, second_stage])

    @cached_property
    def per_abstention(self) -> Loss:
        """The loss of one abstention together with its fallback answer."""
        answer = {**{a: self.fallback.worst(a) for a in ORDERS}, self.ladder.order: self.divergence}
        return self.ladder.per_abstention + Loss.of(answer)

    @property
    def total(self) -> Loss:
        return self.per_abstention * self.max_abstentions + self.ladder.failure

    def spent(self, state: State) -> Loss:
        return self.per_abstention * state.abstained + self.ladder.failure

    def failing(self, distances: Distances) -> Floats:
        """Return the largest chance that a winner at each distance is not the published label."""
        abstaining = (ONE - self.ladder.rungs.at(distances)) / ONE
        losing = self.fallback.losing.take(distances, mode="clip") / ONE
        return np.asarray(abstaining * losing)

    def required_distance(self, probability: float) -> int | None:
        distances = np.arange(max(len(self.ladder.rungs), len(self.fallback)))
        reached = self.failing(distances) <= 1 - probability
        return int(np.argmax(reached)) if reached.any() else None

    def chance_if_unanimous(self, n_teachers: int, n_classes: int) -> float:
        return 1 - float(self.failing(np.array([(n_teachers - 1) // 2]))[0])


def log_moment(order: float, divergence: float) -> float:
    """Return a divergence as a log-moment at its order, rounded up."""
    return (order - 1) * divergence * (1 + 1e-15)
