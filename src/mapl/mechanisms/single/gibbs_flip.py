"""A random teacher's vote, flipped now and then: the agnostic private prediction of Dwork and Feldman."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Self

import numpy as np
from flint import arb, ctx, fmpq

from mapl.accounting import Loss
from mapl.errors import CannotCalibrate, InvalidData
from mapl.mechanisms.mechanism import Parameters, Task
from mapl.mechanisms.single.single import MANY_ORDERS, AnswersEverything, epsilon_for_each
from mapl.noise import ONE, Coins
from mapl.types import Floats, Labels, Tallies

ROUNDING = 1e-12
"""The weights are made for an epsilon this much (relatively) smaller, so that the claim can be rounded up."""


@dataclass(frozen=True)
class GibbsFlip(AnswersEverything):
    """Draw label y with integer weight ``per_vote * n_y + per_label``, that is with chance (1 - C f) n_y / K + f.

    The flip rate f = per_label / (per_vote K + per_label C) is the smallest, up to the integers' resolution,
    with (1 - C f)/(K f) <= e^epsilon - 1. The error exceeds that of an average teacher by at most (C - 1) f.

    Notes
    -----
    *Guarantee.* Each answer is pure epsilon-differentially private; answers compose. Adjacency: one teacher
    changes its votes arbitrarily, K is fixed; unit: one teacher, hence every record of its shard. Theorem 5
    of docs/proofs/single-predictions.md.
    """

    per_vote: int
    per_label: int
    n_teachers: int
    n_classes: int
    n_queries: int

    name: ClassVar[str] = "gibbs-flip"

    @classmethod
    def for_task(cls, task: Task, *, epsilon_each: float | None = None) -> Self:
        """Take the smallest flip rate that the budget allows for every question, or that of the given epsilon."""
        each = epsilon_for_each(task, lambda e: Loss.pure(e, MANY_ORDERS), epsilon_each)
        with ctx.workprec(160):
            odds = arb(each * (1 - ROUNDING)).exp() - 1
            per_label = below(ONE / (odds * task.n_teachers + task.n_classes))
            per_vote = below(odds * per_label)
        if per_vote < 1:
            raise CannotCalibrate(
                f"An epsilon of {each:g} per question leaves a vote no weight at all; ask fewer questions."
            )
        found = cls(per_vote, per_label, task.n_teachers, task.n_classes, task.n_queries)
        if not found.epsilon_each <= each:
            raise CannotCalibrate(f"An epsilon of {each:g} per question could not be rounded; ask fewer questions.")
        return found

    @cached_property
    def epsilon_each(self) -> float:
        """Epsilon of one answer, from the integers, rounded up."""
        with ctx.workprec(160):
            log = arb(fmpq(self.per_vote + self.per_label, self.per_label)).log()
            return max(0.0, math.nextafter(float(log.upper()), math.inf))

    @property
    def flip_rate(self) -> float:
        """The chance f that every label keeps even without a single vote."""
        return self.per_label / (self.per_vote * self.n_teachers + self.per_label * self.n_classes)

    @property
    def parameters(self) -> Parameters:
        return {"n_queries": self.n_queries, "epsilon_each": self.epsilon_each, "flip_rate": self.flip_rate}

    @cached_property
    def per_answer(self) -> Loss:
        return Loss.pure(self.epsilon_each, MANY_ORDERS)

    def decide(self, block: Tallies, coins: Coins) -> Labels:
        if block.n_teachers != self.n_teachers:
            raise InvalidData(
                f"The votes are of {block.n_teachers} teachers and the mechanism was calibrated for "
                f"{self.n_teachers}; calibrate it again."
            )
        return coins.choose(block.counts.astype(np.int64) * self.per_vote + self.per_label)

    def law(self, block: Tallies) -> Floats:
        weights = block.counts * float(self.per_vote) + float(self.per_label)
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))

    def required_distance(self, probability: float) -> int | None:
        """Return None: the chances follow the share of the votes, not the distance."""
        return None


def below(ball: arb) -> int:
    """Return a whole number that no value in the ball is below."""
    mantissa, exponent = ball.lower().man_exp()
    return int(mantissa) << int(exponent) if exponent >= 0 else int(mantissa) >> -int(exponent)
