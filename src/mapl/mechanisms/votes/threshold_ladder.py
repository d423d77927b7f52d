"""The threshold-ladder: one secret integer threshold, then a ladder that moves in one direction only."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import ClassVar, Self

import numpy as np
from flint import arb, ctx, fmpq
from numpy.typing import NDArray

from mapl.accounting import ORDERS, Loss, capacity
from mapl.errors import CannotCalibrate, GuaranteeBroken, InvalidParameter
from mapl.mechanisms.mechanism import Parameters, Task, by_label, publish_passes
from mapl.mechanisms.tables.argmax_laws import GaussianLaw
from mapl.mechanisms.tables.argmax_price import SAMPLING, PricedWithSampling, usable
from mapl.mechanisms.tables.rungs import (
    LAST_ABSTENTION,
    MOST_RUNGS,
    SLACKS,
    LogChance,
    Rungs,
    certify_rungs,
    extrapolate,
    price_at,
    root,
)
from mapl.mechanisms.votes.ladder import above_one, usual_orders
from mapl.noise import ONE, Coins, discrete_gaussian
from mapl.types import (
    Budget,
    Distances,
    Floats,
    Outcome,
    Secret,
    Stable,
    State,
    Tallies,
    positive_integer,
)

ONE_WAY = ((0, 1), (0, 2))
"""Neighbours at coupled thresholds see a rung and the first or second one above it, never below."""
THRESHOLD_SHARES = (0.15, 0.25, 0.35, 0.45, 0.55)
FAILURE_SHARES = (0.05, 0.2)
GOAL = 0.01
MOST_ABSTENTIONS = 200
"""Beyond a handful of abstentions the plain ladder is better; this keeps the calibration short."""


@dataclass(frozen=True)
class ThresholdLadder(PricedWithSampling):
    """Draw a secret threshold once; answer with a probability that climbs with the distance above it.

    Parameters
    ----------
    rungs
        Pass probability for each height ``distance - threshold``; entry 0, and every negative height, is zero.
    max_abstentions
        T: the run halts right after the T-th abstention. Answers are unlimited and free.
    sigma, centre
        The secret threshold is `centre` plus discrete Gaussian noise of scale `sigma`.
    order, price
        The Renyi order a of the design and the log-moment c that an abstention costs there.

    Notes
    -----
    *Guarantee.* (epsilon, delta)-differential privacy for any number of adaptively chosen questions.
    Adjacency: one teacher changes its votes arbitrarily; unit: one teacher, hence every record of its
    shard. Proof: docs/proofs/threshold-ladder.md. Better than the ladder
    for up to about seven abstentions.
    """

    rungs: Rungs
    max_abstentions: int
    sigma: float
    centre: int
    order: float
    price: float

    name: ClassVar[str] = "threshold-ladder"

    @classmethod
    def for_task(cls, task: Task, *, max_abstentions: int, order: float | None = None) -> Self:
        """Build and certify the design that needs the least distance for a 99% pass within the budget."""
        positive_integer(max_abstentions=max_abstentions)
        if max_abstentions > MOST_ABSTENTIONS:
            raise InvalidParameter(
                f"max_abstentions is {max_abstentions}; threshold-ladder takes at most {MOST_ABSTENTIONS}. "
                "The ladder is better beyond about 7."
            )
        budget = task.budget
        usable(budget, 1)
        found = _best(budget, max_abstentions, order)
        for slack in SLACKS:
            made = cls(_build(found, slack), max_abstentions, found.sigma, found.centre, found.order, found.price)
            if made.certify(budget):
                return made
        raise GuaranteeBroken("No rounding of this table passed its exact certificate; nothing was released.")

    def certify(self, budget: Budget) -> bool:
        """Verify every hypothesis of the theorem from the integers, in ball arithmetic."""
        numerators = self.rungs.numerators
        with ctx.workprec(160):
            a, rest = arb(self.order), arb(budget.delta) - self._failing() - arb(SAMPLING)
            if not rest > 0 or int(numerators[0]) != 0:
                return False
            room = (a - 1) * arb(budget.epsilon) + rest.log() + a.log() - (a - 1) * (1 - 1 / a).log()
            threshold = a * (a - 1) / (2 * arb(self.sigma) ** 2)
            if not threshold + self.max_abstentions * arb(self.price) <= room:
                return False
        steps = [(i + p, i + q) for p, q in ONE_WAY for i in range(len(numerators) - q)]
        return certify_rungs(numerators, steps, self.order, self.price)

    def _failing(self) -> arb:
        """Bound the chance that the threshold is negative, so that a question with two winners could pass."""
        table = discrete_gaussian(self.sigma)
        below = table.half_width - self.centre - 1  # index of threshold -1
        tail = arb(fmpq(table.numerators()[below], 1 << 128)) if below >= 0 else arb(0)
        return tail + arb(table.deviation)

    @property
    def parameters(self) -> Parameters:
        return {
            "max_abstentions": self.max_abstentions,
            "sigma_threshold": self.sigma,
            "centre": self.centre,
            "order": self.order,
            "price_per_abstention": self.price,
            "rungs": len(self.rungs),
        }

    def start(self, coins: Coins) -> State:
        rho = int(coins.draw(discrete_gaussian(self.sigma), (1,))[0])
        return State(secret=Secret(self.centre + rho))

    def release(self, state: State, block: Stable, coins: Coins) -> Outcome:
        if state.secret is None:
            raise GuaranteeBroken("The run has no threshold; begin it with start(coins).")
        passes = coins.flip(self._at(block.distances, state.secret.value))
        return publish_passes(state, block.values, passes, self.max_abstentions)

    def _at(self, distances: Distances, threshold: int) -> NDArray[np.int64]:
        return self.rungs.at(np.maximum(distances - threshold, 0))

    def chances(self, block: Tallies, state: State) -> Floats:
        """Return the law given the state's threshold, or averaged over thresholds if it has none."""
        if state.secret is not None:
            chance = self._at(block.distances, state.secret.value) / ONE
        else:
            chance = sum(
                (w * self._at(block.distances, s.secret.value) / ONE for w, s in self.starts() if s.secret),
                np.zeros(len(block)),
            )
        return by_label(block.values, chance, block.n_classes)

    def starts(self) -> list[tuple[float, State]]:
        """Return every start state worth mentioning with its probability, for forecasts and audits."""
        reach = math.ceil(9 * self.sigma)
        law = GaussianLaw.beyond(self.sigma, reach)
        return [
            (float(law.point[law.width + rho]), State(secret=Secret(self.centre + rho)))
            for rho in range(-reach, reach + 1)
        ]

    @cached_property
    def per_abstention(self) -> Loss:
        """The loss of one abstention at every order where the table has a finite price."""
        prices = {a: price_at(self.rungs, a, ONE_WAY) for a in ORDERS}
        prices[self.order] = self.price
        return Loss.of({a: c / (a - 1) for a, c in prices.items()})

    @cached_property
    def threshold_loss(self) -> Loss:
        """The once-only loss: the threshold's shift, and the delta of a negative threshold."""
        with ctx.workprec(160):
            delta = float(self._failing().upper()) * (1 + 1e-9) + SAMPLING
        return Loss.of({a: a / (2 * self.sigma**2) * (1 + 1e-14) for a in (*ORDERS, self.order)}, delta)

    @property
    def total(self) -> Loss:
        return self.per_abstention * self.max_abstentions + self.threshold_loss

    def spent(self, state: State) -> Loss:
        return self.per_abstention * state.abstained + self.threshold_loss

    def required_distance(self, probability: float) -> int | None:
        spread = math.ceil(9 * self.sigma)
        law = GaussianLaw.beyond(self.sigma, spread)
        return _distance(self.rungs.abstaining(), law, self.centre, 1 - probability)

    def chance_if_unanimous(self, n_teachers: int, n_classes: int) -> float:
        distance = np.array([(n_teachers - 1) // 2])
        return sum(w * float(self._at(distance, s.secret.value)[0]) / ONE for w, s in self.starts() if s.secret)


@dataclass(frozen=True, slots=True)
class _Design:
    order: float
    price: float
    sigma: float
    centre: int


def _best(budget: Budget, max_abstentions: int, order: float | None) -> _Design:
    """Try orders and splits of the budget; every candidate is valid, the shortest 99% distance wins."""
    orders = usual_orders(budget, 0.9, 3.0) if order is None else np.array([above_one(order)])
    candidates = []
    for a, share, failure in product(orders.tolist(), THRESHOLD_SHARES, FAILURE_SHARES):
        room = capacity(budget.epsilon, budget.delta * (1 - failure) - SAMPLING, a)
        if room > 1e-6:
            sigma = math.sqrt(a * (a - 1) / (2 * share * room)) * (1 + 1e-12)
            centre = _centre(sigma, failure * budget.delta)
            # The price takes what rounding left over; its last digits pay for float error in the sum.
            price = (room - a * (a - 1) / (2 * sigma**2)) / max_abstentions * (1 - 1e-12)
            candidates.append(_Design(a, price, sigma, centre))
    if not candidates:
        raise CannotCalibrate(
            f"epsilon {budget.epsilon:g} and delta {budget.delta:g} cannot pay for {max_abstentions} abstentions "
            "at any order; lower max_abstentions or raise the budget."
        )
    tables = np.exp(np.array([c.abstaining for c in _climb(candidates, 1e-4)])).T
    lengths = []
    for c, table in zip(candidates, tables, strict=True):
        law = GaussianLaw.beyond(c.sigma, math.ceil(7 * c.sigma))
        lengths.append(_distance(np.concatenate([[1.0], np.repeat(table, 2)]), law, c.centre, GOAL) or 1 << 60)
    return candidates[int(np.argmin(lengths))]


def _centre(sigma: float, failure: float) -> int:
    """Return the smallest centre at which the threshold is negative with at most this probability."""
    law = GaussianLaw.beyond(sigma, math.ceil(sigma * 12))
    return int(np.argmax(law.at_most(-np.arange(law.width) - 1) <= failure * (1 - 1e-9)))


def _climb(candidates: list[_Design], goal: float) -> list[LogChance]:
    """Return the greedy tables' values, each of which stands for two heights, until the first reaches the goal."""
    order = np.array([c.order for c in candidates])
    price = np.array([c.price for c in candidates])
    values = [_first(order, price)]
    while values[-1].abstaining.min() > math.log(goal) and len(values) < MOST_RUNGS // 2:
        values.append(root(values[-1], order, price, extrapolate(values), numerator="x", tolerance=1e-7))
    return values


def _first(order: Floats, price: Floats) -> LogChance:
    """Return the lowest step from certain abstention: e^(-c/(a-1))."""
    return LogChance.of_abstaining(-price / (order - 1))


def _build(found: _Design, slack: float) -> Rungs:
    """Build the integer table; every step starts from the rounded value before it."""
    order, price = np.array([found.order]), np.array([found.price * (1 - slack)])
    numerators = [_first(order, price).numerator()]
    values = [LogChance.of_numerator(numerators[0])]
    while values[-1].abstaining[0] > math.log(LAST_ABSTENTION) and len(numerators) < MOST_RUNGS // 2:
        step = root(values[-1], order, price, extrapolate(values), numerator="x")
        numerators.append(max(step.numerator(), numerators[-1]))
        values.append(LogChance.of_numerator(numerators[-1]))
    return Rungs(np.concatenate([[0], np.repeat(np.array(numerators, dtype=np.int64), 2)]))


def _distance(abstaining: Floats, law: GaussianLaw, centre: int, goal: float) -> int | None:
    """Return the smallest distance whose chance of abstaining, averaged over the threshold, is at most `goal`."""
    length = len(abstaining) + centre + 2 * law.width
    distances = np.arange(length)
    heights = np.concatenate([np.ones(length), abstaining, np.full(length + law.width, abstaining[-1])])
    # Average of y(d - centre - rho) over rho, as one convolution; heights start at -length. By hand, since
    # scipy.signal would take longer to import than everything else that the command line needs.
    size = 1 << (len(heights) + len(law.point)).bit_length()
    average = np.fft.irfft(np.fft.rfft(heights, size) * np.fft.rfft(law.point, size), size)
    expected = average[distances - centre + length + law.width]
    reached = expected <= goal
    return int(np.argmax(reached)) if reached.any() else None
