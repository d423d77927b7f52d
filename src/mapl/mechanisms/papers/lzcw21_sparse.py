"""LZCW21 Algorithm 2: the sparse vector with the constants printed by Liu, Zhu, Chaudhuri and Wang."""

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


@dataclass(frozen=True)
class LZCW21Sparse(SparseVector):
    """Algorithm 2 of Liu, Zhu, Chaudhuri and Wang (2021) with printed constants; it halts at T abstentions.

    Printed: lambda = (sqrt(2T(epsilon + ln(2/delta))) + sqrt(2T ln(2/delta)))/epsilon, the exact solution of
    rho + 2 sqrt(rho ln(2/delta)) = epsilon for T epochs of 2/lambda-DP, and w = 3 lambda ln(2(l + T)/delta).

    Notes
    -----
    *Guarantee.* (epsilon, delta)-differential privacy. Adjacency: one teacher changes its votes arbitrarily;
    unit: one teacher. Theorem 1 of docs/proofs/sparse-vector.md.
    """

    name: ClassVar[str] = "lzcw21-sparse"

    @classmethod
    def for_task(cls, task: Task, *, max_abstentions: int) -> Self:
        """Take the printed constants with l = the number of questions."""
        positive_integer(max_abstentions=max_abstentions)
        epsilon, delta = check_budget(task.budget)
        scale = refuse_unfit_noise(scale_by_concentration(max_abstentions, epsilon, delta))
        return cls(
            scale=scale,
            threshold=math.ceil(3 * scale * math.log(2 * (task.n_queries + max_abstentions) / delta)),
            epochs=max_abstentions,
            max_questions=task.n_queries,
            order=best_order(max_abstentions, scale, delta),
        ).within(task.budget)
