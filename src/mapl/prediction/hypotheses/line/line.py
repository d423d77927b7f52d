"""A sample along one feature: how many more ones than zeros lie below any value."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mapl.prediction.hypotheses.protocol import Points
from mapl.types import Flags, Integers, Silent


@dataclass(frozen=True, slots=True, repr=False)
class Line(Silent):
    """The values in ascending order; ``running[k]`` is the number of ones minus zeros among the k smallest."""

    values: Points
    running: Integers

    @classmethod
    def of(cls, column: Points, ones: Flags) -> Line:
        order = np.argsort(column)
        signs = np.where(ones, 1, -1)[order]
        return cls(column[order], np.concatenate(([0], np.cumsum(signs, dtype=np.int64))))

    @property
    def total(self) -> int:
        return int(self.running[-1])

    def below(self, bounds: Points) -> Integers:
        """Return the ones minus zeros strictly below each bound."""
        return np.asarray(self.running[np.searchsorted(self.values, bounds, side="left")])

    def up_to(self, bounds: Points) -> Integers:
        """Return the ones minus zeros below or at each bound."""
        return np.asarray(self.running[np.searchsorted(self.values, bounds, side="right")])
