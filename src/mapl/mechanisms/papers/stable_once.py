"""One private answer by the distance to instability: Algorithm 1 of BTT18 on an exact integer table."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, Self

import numpy as np
from flint import arb, ctx, fmpq

from mapl.accounting import Loss
from mapl.errors import CannotCalibrate, InvalidParameter
from mapl.mechanisms.mechanism import Parameters, PricedByLoss, Task, by_label
from mapl.mechanisms.tables.rungs import LAST_ABSTENTION, MOST_RUNGS, SLACKS, Rungs, to_numerators
from mapl.noise import ONE, Coins
from mapl.types import ABSTAIN, Budget, Floats, Outcome, Stable, State, Tallies

MOST_EPSILON = 30.0
"""Larger budgets are treated as this one; beyond it a table over 2**62 has no digits left."""


@dataclass(frozen=True)
class StableOnce(PricedByLoss):
    """Publish the exact winner of one question if its distance plus discrete Laplace noise exceeds a threshold.

    Since only the comparison is published, the noise is a table: ``rungs`` holds P(d + X > w) for each
    distance d, for X discrete Laplace of scale 1/epsilon and w the smallest integer with P(X > w) <= delta.
    The run halts after its one question.

    Notes
    -----
    *Guarantee.* (epsilon, delta)-differential privacy of one answer. Adjacency: one teacher changes its vote
    arbitrarily; unit: one teacher, hence every record of its shard. Theorem 2.4 of BTT18; proof from the
    integers in docs/proofs/stable-once.md.
    """

    rungs: Rungs
    each: float
    threshold: int

    name: ClassVar[str] = "stable-once"

    @classmethod
    def for_task(cls, task: Task) -> Self:
        """Tabulate the pass probabilities, rounded down, and certify them exactly."""
        if task.budget.delta == 0:
            raise InvalidParameter("delta is 0; this mechanism needs a positive delta, for example 1e-6.")
        epsilon = min(task.budget.epsilon, MOST_EPSILON)
        for slack in SLACKS:
            found = cls(*build(epsilon * (1 - slack), task.budget.delta, epsilon))
            if found.certify(task.budget):
                return found
        raise CannotCalibrate(
            f"delta {task.budget.delta:g} is too small for a table over 2**62; use a delta of at least 1e-12."
        )

    def certify(self, budget: Budget) -> bool:
        """Verify from the integers: neighbouring rungs within e^epsilon of each other, the first at most delta."""
        passing = [int(n) for n in self.rungs.numerators]
        with ctx.workprec(160):
            if not arb(fmpq(passing[0], ONE)) <= arb(budget.delta):
                return False
            factor = arb(self.each).exp()
            return all(
                p <= q and arb(q) <= factor * p and arb(ONE - p) <= factor * (ONE - q) for p, q in pairwise(passing)
            )

    @property
    def parameters(self) -> Parameters:
        return {"epsilon": self.each, "w": self.threshold, "max_questions": 1, "rungs": len(self.rungs)}

    def start(self, coins: Coins) -> State:
        return State()

    def release(self, state: State, block: Stable, coins: Coins) -> Outcome:
        if state.halted or len(block) == 0:
            return Outcome(np.empty(0, dtype=np.int32), state)
        passes = coins.flip(self.rungs.at(block.distances[:1]))
        labels = np.where(passes, block.values[:1], np.int32(ABSTAIN))
        answered = int(passes[0])
        return Outcome(labels, state.after(answered, 1 - answered, halted=True))

    def chances(self, block: Tallies, state: State) -> Floats:
        return by_label(block.values, self.rungs.at(block.distances) / ONE, block.n_classes)

    @property
    def total(self) -> Loss:
        bad_pass = int(self.rungs.numerators[0]) / ONE * (1 + 1e-15)
        return Loss(Loss.pure(self.each).divergences, bad_pass)

    def spent(self, state: State) -> Loss:
        return self.total if state.answered + state.abstained else Loss.nothing()

    def required_distance(self, probability: float) -> int | None:
        return self.rungs.distance_for(probability)

    def chance_if_unanimous(self, n_teachers: int, n_classes: int) -> float:
        return float(self.rungs.at(np.array([(n_teachers - 1) // 2]))[0]) / ONE


def build(narrowed: float, delta: float, epsilon: float) -> tuple[Rungs, float, int]:
    """Tabulate P(d + X > w) for noise slightly wider than 1/epsilon, which pays for the rounding.

    With r = e^-narrowed: P(X > k) = r^(k+1)/(1+r) for k >= 0, and P(X > -k-1) = 1 - r^(k+1)/(1+r).
    """
    log_shared = -math.log1p(math.exp(-narrowed))
    threshold = max(0, math.ceil((log_shared - math.log(delta)) / narrowed) - 1)
    log_passing: list[float] = []
    log_abstaining: list[float] = []
    for d in range(MOST_RUNGS):
        small = -narrowed * (threshold - d + 1 if d <= threshold else d - threshold) + log_shared
        large = math.log1p(-math.exp(small))
        below = d <= threshold
        log_passing.append(small if below else large)
        log_abstaining.append(large if below else small)
        if log_abstaining[-1] < math.log(LAST_ABSTENTION):
            break
    return Rungs(to_numerators(log_passing, log_abstaining)), epsilon, threshold
