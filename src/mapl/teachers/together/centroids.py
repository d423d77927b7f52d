"""Nearest centroids: the mean of every class, and whose is closest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mapl.teachers.together.family import Solved, Stack, one_score
from mapl.teachers.together.naive_bayes import class_sizes

MOST = 1e5
"""Squares of larger numbers leave too few digits to a difference of distances."""


@dataclass(frozen=True, slots=True)
class Centroids:
    """scikit-learn's NearestCentroid: of |x - c|^2 all but |x|^2, which all classes share, is linear in x."""

    scalable: ClassVar[bool] = True
    narrows: ClassVar[bool] = False

    def features(self, rows: Any) -> Any:
        return rows

    def solve(self, stack: Stack) -> Solved:
        rows, members = stack.rows, stack.members()
        means = (members @ rows) / class_sizes(members)
        halves = (means[:, :, None, :] @ means[:, :, :, None])[:, :, 0, 0] / 2
        coef, intercept = one_score(means, -halves)
        # scikit-learn refuses a shard whose rows are all the same.
        settled = (rows.max(axis=1) > rows.min(axis=1)).any(axis=1) & (np.abs(rows).max(axis=(1, 2)) <= MOST)
        return Solved(coef, intercept, settled)
