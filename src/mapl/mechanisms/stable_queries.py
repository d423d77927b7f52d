"""Stable queries: the online release of anything that brings a value and its distance to instability."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar, Protocol, Self, TypeVar

import numpy as np

from mapl.errors import InvalidData
from mapl.mechanisms.mechanism import Task
from mapl.mechanisms.sparse_vector import SparseVector, best_order, calibrated, checked, concentrated_scale
from mapl.noise import Coins
from mapl.types import ABSTAIN, Outcome, StableAnswers, State, positive_integer

FOR_EVER = 1 << 40
"""The number of questions that an unlimited run is priced for, and halts at."""


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
