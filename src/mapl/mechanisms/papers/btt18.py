"""BTT18 Algorithm 2: the sparse vector with the constants printed by Bassily, Thakkar and Thakurta."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Self

from mapl.errors import InvalidParameter
from mapl.mechanisms.mechanism import Parameters, Task
from mapl.mechanisms.papers.sparse_vector import SparseVector, best_order, check_budget, refuse_unfit_noise
from mapl.types import positive_integer


@dataclass(frozen=True)
class BTT18(SparseVector):
    """Algorithm 2 of Bassily, Thakkar and Thakurta (2018) with its printed constants and the corrected distance.

    Printed: lambda = sqrt(32 T ln(2/delta))/epsilon, w = 2 lambda ln(2m/delta) and the number of teachers
    k = 34 sqrt(2) lambda ln(4 m T / min(delta, beta/2)) that its utility theorem asks for. Its loop runs while
    ``c <= T``, so T + 1 abstentions are published and T + 1 epochs are paid for. The printed distance gap - 1
    moves by two when a vote changes; the distance to instability is used instead.

    Notes
    -----
    *Guarantee.* (epsilon, delta)-differential privacy, as its Theorem 3.1 claims; `total` is mapl's own price
    of the same run, usually below the claim, and settings for which it is not are refused. Adjacency: one
    teacher changes its votes arbitrarily; unit: one teacher. Theorem 1 of docs/proofs/sparse-vector.md.
    """

    printed_teachers: float

    name: ClassVar[str] = "btt18"

    @classmethod
    def for_task(cls, task: Task, *, max_abstentions: int, beta: float | None = None) -> Self:
        """Take the printed constants.

        `beta` is the failure probability of the utility theorem and enters only the printed number of
        teachers; it is 2 delta if not given, which is where it stops to matter.
        """
        positive_integer(max_abstentions=max_abstentions)
        epsilon, delta, m = *check_budget(task.budget), task.n_queries
        if beta is not None and not 0 < beta < 1:
            raise InvalidParameter(f"beta is {beta}; it is a failure probability, above 0 and below 1.")
        failing = delta if beta is None else min(delta, beta / 2)
        scale = refuse_unfit_noise(math.sqrt(32 * max_abstentions * math.log(2 / delta)) / epsilon)
        return cls(
            scale=scale,
            threshold=math.ceil(2 * scale * math.log(2 * m / delta)),
            epochs=max_abstentions + 1,
            max_questions=m,
            order=best_order(max_abstentions + 1, scale, delta),
            printed_teachers=34 * math.sqrt(2) * scale * math.log(4 * m * max_abstentions / failing),
        ).within(task.budget)

    @property
    def parameters(self) -> Parameters:
        return {**super().parameters, "max_abstentions": self.epochs - 1, "k": math.ceil(self.printed_teachers)}
