"""Classes of two-class classifiers that are searched exactly, for comparison."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mapl.students.active.erm import Contest
from mapl.types import Floats, Labels


@dataclass(frozen=True, slots=True)
class FiniteClass:
    """Any finite list of classifiers, searched exactly; each is a row of ``calls`` on the points 0, 1, 2, ...

    Rows are numbers of points: matrices of one column.
    """

    calls: NDArray[np.int32]

    @property
    def dimension(self) -> int:
        return max(1, int(np.log2(len(self.calls))))  # 2^d classifiers are needed to shatter d points

    def contest(self, seen: Floats, labels: Labels, rows: Floats) -> Contest:
        at, asked = seen[:, 0].astype(np.int64), rows[:, 0].astype(np.int64)
        errors = (self.calls[:, at] != labels).mean(axis=1) if len(at) else np.zeros(len(self.calls))
        best = int(errors.argmin())
        calls = self.calls[best, asked]
        differs = self.calls[:, asked] != calls
        return Contest(calls, float(errors[best]), np.where(differs, errors[:, None], np.inf).min(axis=0))
