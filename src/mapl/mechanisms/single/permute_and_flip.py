"""Permute and flip: walk through the labels in random order, take the first whose coin accepts it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mapl.accounting import Loss
from mapl.mechanisms.mechanism import Parameters, Task
from mapl.mechanisms.single.exponential_vote import falling_weights, gaps, steepest
from mapl.mechanisms.single.single import MANY_ORDERS, AnswersEverything, epsilon_for_each
from mapl.noise import ONE, Coins
from mapl.types import Floats, Labels, Tallies


@dataclass(frozen=True, eq=False)
class PermuteAndFlip(AnswersEverything):
    """Accept labels in random order, y with probability ``accepting[max(n) - n_y] / ONE``, near e^(-epsilon gap/2).

    The winner is always accepted, so every question gets a label, and never a worse one on average than from
    the exponential mechanism at the same epsilon (McKenna and Sheldon 2020).

    Notes
    -----
    *Guarantee.* Each answer is pure epsilon-differentially private; answers compose. Adjacency: one teacher
    changes its votes arbitrarily; unit: one teacher, hence every record of its shard. Theorem 3 of
    docs/proofs/single-predictions.md, for any table that starts at one and falls by at most e^(epsilon/2)
    a step.
    """

    accepting: NDArray[np.int64]
    n_classes: int
    n_queries: int

    name: ClassVar[str] = "permute-and-flip"

    @classmethod
    def for_task(cls, task: Task, *, epsilon_each: float | None = None) -> Self:
        """Tabulate the coins for the largest epsilon per question that the budget allows, or the given one."""
        each = epsilon_for_each(task, pure, epsilon_each)
        return cls(falling_weights(each, ONE, task.n_teachers), task.n_classes, task.n_queries)

    @cached_property
    def epsilon_each(self) -> float:
        """Epsilon of one answer, from the integers, rounded up."""
        return 2 * steepest(self.accepting)

    @property
    def parameters(self) -> Parameters:
        return {"n_queries": self.n_queries, "epsilon_each": self.epsilon_each, "coins": len(self.accepting)}

    @cached_property
    def per_answer(self) -> Loss:
        return pure(self.epsilon_each)

    def decide(self, block: Tallies, coins: Coins) -> Labels:
        order = shuffle(len(block), block.n_classes, coins)
        accepting = self.accepting.take(gaps(block), mode="clip")
        accepts = coins.flip(np.take_along_axis(accepting, order, axis=1))
        first = accepts.argmax(axis=1)[:, None]
        return np.take_along_axis(order, first, axis=1)[:, 0].astype(np.int32)

    def law(self, block: Tallies) -> Floats:
        """Return p_y times the integral over t of the product over z != y of (1 - p_z t), for each y.

        t is the place of y in the order: each other label comes earlier with probability t, and then has to
        reject. The integrand is a polynomial of degree C - 1, which Gauss-Legendre nodes integrate exactly.
        """
        accepting = self.accepting.take(gaps(block), mode="clip") / ONE
        nodes, weights = np.polynomial.legendre.leggauss((block.n_classes + 1) // 2)
        law = np.zeros_like(accepting)
        for t, weight in zip((nodes + 1) / 2, weights / 2, strict=True):
            rejecting = 1 - accepting * t
            law += weight * accepting * rejecting.prod(axis=1, keepdims=True) / rejecting
        return law


def pure(epsilon: float) -> Loss:
    return Loss.pure(epsilon, MANY_ORDERS)


def shuffle(rows: int, n_classes: int, coins: Coins) -> NDArray[np.int64]:
    """Return a uniformly random order of the classes for each row (Fisher-Yates)."""
    order = np.tile(np.arange(n_classes), (rows, 1))
    row = np.arange(rows)
    for last in range(n_classes - 1, 0, -1):
        other = coins.below(np.full(rows, last + 1, dtype=np.int64))
        moved = order[row, other]
        order[row, other] = order[row, last]
        order[row, last] = moved
    return order
