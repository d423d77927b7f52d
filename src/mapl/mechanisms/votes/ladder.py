"""The ladder: answer with a probability that climbs with the distance to instability."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Self

import numpy as np
from flint import arb, ctx, fmpq

from mapl.accounting import ORDERS, Loss, capacity
from mapl.errors import CannotCalibrate, GuaranteeBroken, InvalidParameter
from mapl.mechanisms.mechanism import Parameters, PricedByLoss, Task, by_label, publish_passes
from mapl.mechanisms.tables.rungs import (
    LAST_ABSTENTION,
    MOST_RUNGS,
    LogChance,
    Rungs,
    certify_rungs,
    extrapolate,
    lowest_step,
    price_at,
)
from mapl.noise import ONE, Coins
from mapl.types import Budget, Floats, Outcome, Stable, State, Tallies, finite_positive, positive_integer

FAILURE_SHARES = (0.02, 0.05, 0.1)
RACE_RUNGS = 700
RACE_TOLERANCE, BUILD_TOLERANCE = 1e-7, 1e-9
"""Steps end this much on the private side of the root; a race only compares candidates."""
RARE = 1e-3
"""Below this chance of abstaining a table goes on geometrically."""
LEAST_FIRST = 1 << 12
"""Numerators below this round too coarsely to build on."""
MOST_ABSTENTIONS = 100_000
LEAST_PRICE, MOST_ORDER = 1e-7, 1e5
"""Beyond these a table could not be told from one that never answers."""
GOAL = 0.01
"""Ladders are designed for the shortest distance at which they abstain with this probability."""


@dataclass(frozen=True, slots=True)
class LadderDesign:
    """What fixes a ladder before rounding: the order, the price of an abstention and the first pass probability."""

    order: float
    price: float
    first: float

    def slacks(self) -> tuple[float, ...]:
        """Return relative reductions of the price to build with, which pay for floating-point error in turn.

        The error grows with the order, and counts against the price.
        """
        least = max(1e-9, 1e-13 * self.order / self.price)
        return least, 100 * least, 10_000 * least


@dataclass(frozen=True)
class Ladder(PricedByLoss):
    """Publish the exact winner with probability ``rungs.at(distance)``, abstain otherwise, halt at the limit.

    Parameters
    ----------
    rungs
        Pass probability for each distance to instability, exact numerators over 2**62.
    max_abstentions
        T: the run halts right after the T-th abstention. Answers are unlimited and free.
    order, price
        The Renyi order a that the table was built for and the log-moment c that an abstention costs there.

    Notes
    -----
    *Guarantee.* (epsilon, delta)-differential privacy for any number of adaptively chosen questions.
    Adjacency: one teacher changes its votes arbitrarily; unit: one teacher, hence every record of its
    shard. Theorem 2 of docs/proofs/ladder.md.
    """

    rungs: Rungs
    max_abstentions: int
    order: float
    price: float

    name: ClassVar[str] = "ladder"

    @classmethod
    def for_task(cls, task: Task, *, max_abstentions: int, order: float | None = None) -> Self:
        """Build and certify the ladder that needs the least distance for a 99% pass within the budget."""
        positive_integer(max_abstentions=max_abstentions)
        longest = longest_table(task.n_teachers)
        orders = None if order is None else np.array([above_one(order)])
        found = design(task.budget, max_abstentions, longest, orders=orders)
        return cls.built(found, max_abstentions, longest, task.budget)

    @classmethod
    def built(
        cls, found: LadderDesign, limit: int, longest: int, budget: Budget, *, also_per_abstention: float = 0.0
    ) -> Self:
        """Build the table of a design with the smallest slack that passes the exact certificate."""
        for slack in found.slacks():
            ladder = cls(build(found, longest, slack), limit, found.order, found.price)
            if ladder.certify(budget, also_per_abstention=also_per_abstention):
                return ladder
        raise GuaranteeBroken("No rounding of this ladder passed its exact certificate; nothing was released.")

    def certify(self, budget: Budget, *, also_per_abstention: float = 0.0) -> bool:
        """Verify every hypothesis of Theorem 2 from the integers, in ball arithmetic."""
        with ctx.workprec(160):
            failing = arb(fmpq(int(self.rungs.numerators[0]) * self.max_abstentions, ONE))
            a, rest = arb(self.order), arb(budget.delta) - failing
            if not rest > 0:
                return False
            room = (a - 1) * arb(budget.epsilon) + rest.log() + a.log() - (a - 1) * (1 - 1 / a).log()
            if not self.max_abstentions * (arb(self.price) + arb(also_per_abstention)) <= room:
                return False
        steps = [(d, d + 1) for d in range(len(self.rungs) - 1)]
        return certify_rungs(self.rungs.numerators, steps + [(j, i) for i, j in steps], self.order, self.price)

    @property
    def parameters(self) -> Parameters:
        return {
            "max_abstentions": self.max_abstentions,
            "order": self.order,
            "price_per_abstention": self.price,
            "rungs": len(self.rungs),
        }

    def start(self, coins: Coins) -> State:
        return State()

    def release(self, state: State, block: Stable, coins: Coins) -> Outcome:
        passes = coins.flip(self.rungs.at(block.distances))
        return publish_passes(state, block.values, passes, self.max_abstentions)

    def chances(self, block: Tallies, state: State) -> Floats:
        return by_label(block.values, self.rungs.at(block.distances) / ONE, block.n_classes)

    @cached_property
    def per_abstention(self) -> Loss:
        """The loss of one abstention at every order where the table has a finite price."""
        prices = {a: price_at(self.rungs, a) for a in ORDERS}
        prices[self.order] = self.price
        return Loss.of({a: c / (a - 1) for a, c in prices.items()})

    @property
    def failure(self) -> Loss:
        """The once-only delta: the chance that a question whose winner differs is ever answered."""
        delta = int(self.rungs.numerators[0]) * self.max_abstentions / ONE * (1 + 1e-15)
        return Loss.of(dict.fromkeys((*ORDERS, self.order), 0.0), delta)

    @property
    def total(self) -> Loss:
        return self.per_abstention * self.max_abstentions + self.failure

    def spent(self, state: State) -> Loss:
        return self.per_abstention * state.abstained + self.failure

    def required_distance(self, probability: float) -> int | None:
        return self.rungs.distance_for(probability)

    def chance_if_unanimous(self, n_teachers: int, n_classes: int) -> float:
        return float(self.rungs.at(np.array([(n_teachers - 1) // 2]))[0]) / ONE


def above_one(order: float) -> float:
    """Return a Renyi order, refusing what is none."""
    if not 1 < order < math.inf:
        raise InvalidParameter(f"order is {order}; a Renyi order is a finite number above 1.")
    return order


def longest_table(n_teachers: int) -> int:
    """Return how many rungs K teachers can reach; a table cut there holds its last value, which is always sound."""
    return min(n_teachers // 2 + 1, MOST_RUNGS)


def usual_orders(budget: Budget, low: float = 0.7, high: float = 1.7) -> Floats:
    """Return the Renyi orders among which the best one for this budget has always been found."""
    return np.maximum(1 + math.log(1 / budget.delta) / budget.epsilon * np.linspace(low, high, 16), 1.01)


def design(
    budget: Budget,
    max_abstentions: int,
    longest: int,
    *,
    orders: Floats | None = None,
    also_per_abstention: Callable[[float], float] = lambda order: 0.0,
) -> LadderDesign:
    """Race candidate ladders upwards; the first to reach a 99% pass wins.

    Every candidate is a valid design, so the search can be coarse without being unsafe.
    """
    if budget.delta == 0:
        raise InvalidParameter("delta is 0; this mechanism needs a positive delta, for example 1e-6.")
    finite_positive(epsilon=budget.epsilon)
    if max_abstentions > MOST_ABSTENTIONS:
        raise CannotCalibrate(
            f"max_abstentions is {max_abstentions} and no table is built for more than {MOST_ABSTENTIONS}; "
            "lower max_abstentions or raise the budget."
        )
    candidates = []
    for order in usual_orders(budget) if orders is None else orders:
        for share in FAILURE_SHARES:
            room = capacity(budget.epsilon, budget.delta * (1 - share), float(order))
            price = room / max_abstentions - also_per_abstention(float(order))
            if price > LEAST_PRICE and order < MOST_ORDER:
                candidates.append(LadderDesign(float(order), price, share * budget.delta / max_abstentions))
    if not candidates:
        raise CannotCalibrate(
            f"epsilon {budget.epsilon:g} and delta {budget.delta:g} cannot pay for {max_abstentions} abstentions "
            "at any order; lower max_abstentions or raise the budget."
        )
    winner = _race(candidates, longest)
    if orders is not None:
        return winner
    step = math.log(1 / budget.delta) / budget.epsilon / 15
    nearby = np.linspace(winner.order - 0.8 * step, winner.order + 0.8 * step, 9).clip(1.01)
    return design(budget, max_abstentions, longest, orders=nearby, also_per_abstention=also_per_abstention)


def _race(candidates: list[LadderDesign], longest: int) -> LadderDesign:
    order, price, first = (np.array([getattr(d, f) for d in candidates]) for f in ("order", "price", "first"))
    final = climb(order, price, first, min(longest, RACE_RUNGS), GOAL, tolerance=RACE_TOLERANCE)[-1]
    return candidates[int(np.argmin(final.abstaining))]


def build(found: LadderDesign, longest: int, slack: float) -> Rungs:
    """Build one greedy table of integers; every step starts from the rounded rung before it.

    A slack in the price pays for the floating-point error of the steps; the certificate has the last word.
    """
    order, price = np.array([found.order]), np.array([found.price * (1 - slack)])
    numerators = [math.floor(found.first * ONE)]
    if numerators[0] < LEAST_FIRST:
        raise CannotCalibrate(
            "delta is too small for this many abstentions: the first pass probability would be below 2^-50. "
            "Raise delta or lower max_abstentions."
        )
    rungs = [LogChance.of_numerator(numerators[0])]
    guess = _first_step(rungs[0], order)
    while rungs[-1].abstaining[0] > math.log(RARE) and len(numerators) < longest:
        step = lowest_step(rungs[-1], order, price, guess, tolerance=BUILD_TOLERANCE)
        numerators.append(max(step.numerator(), numerators[-1]))
        rungs.append(LogChance.of_numerator(numerators[-1]))
        guess = extrapolate(rungs)
    return Rungs(np.array(numerators + _geometric_tail(numerators, longest), dtype=np.int64))


def _geometric_tail(numerators: list[int], longest: int) -> list[int]:
    """Go on with the last two rungs' ratio of abstentions.

    Where abstaining is rare (L) hardly depends on its size but through their ratio, and what is left of the
    dependence makes smaller ones easier.
    """
    abstaining = [ONE - n for n in numerators[-2:]]
    if len(abstaining) < 2 or not abstaining[1] < abstaining[0]:
        return []
    ratio, last = abstaining[1] / abstaining[0], abstaining[1]
    tail: list[int] = []
    while last > LAST_ABSTENTION * ONE and len(numerators) + len(tail) < longest:
        last = math.ceil(last * ratio)
        tail.append(ONE - last)
    return tail


def _first_step(first: LogChance, order: Floats) -> Floats:
    """Guess the second rung's log-odds: while passing is rare, its logarithm shrinks by (a-1)/a."""
    return LogChance.of_passing(first.passing * (order - 1) / order).log_odds


def climb(
    order: Floats, price: Floats, first: Floats, longest: int, goal: float, *, tolerance: float = 1e-12
) -> list[LogChance]:
    """Build candidate tables side by side until one of them abstains with probability `goal` or less."""
    rungs = [LogChance.of_passing(np.log(first))]
    guess = _first_step(rungs[0], order)
    while rungs[-1].abstaining.min() > math.log(goal) and len(rungs) < longest:
        rungs.append(lowest_step(rungs[-1], order, price, guess, tolerance=tolerance))
        guess = extrapolate(rungs)
    return rungs
