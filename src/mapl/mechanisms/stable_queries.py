"""Stable queries: the online release of anything that brings a value and its distance to instability."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Self

from mapl.mechanisms.mechanism import Task
from mapl.mechanisms.papers.sparse_vector import (
    SparseVector,
    best_order,
    check_budget,
    refuse_unfit_noise,
    scale_by_concentration,
)
from mapl.types import positive_integer

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
        epsilon, delta = check_budget(task.budget)
        scale = refuse_unfit_noise(scale_by_concentration(max_abstentions, epsilon, delta))
        return cls(
            scale=scale,
            threshold=math.ceil(2 * scale * math.log(4 * max_abstentions / (3 * delta))),
            epochs=max_abstentions,
            max_questions=FOR_EVER,
            order=best_order(max_abstentions, scale, delta),
        ).within(task.budget)
