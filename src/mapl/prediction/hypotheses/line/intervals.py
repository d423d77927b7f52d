"""Intervals on one feature: unions of at most one, where a labeling's mass is one factor for each end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from numpy.typing import NDArray

from mapl.prediction.hypotheses.line.unions import UnionPatterns, Unions
from mapl.prediction.hypotheses.sample import BuiltIn


@dataclass(frozen=True, slots=True)
class Intervals(BuiltIn):
    """All closed intervals on one feature, and the empty one; VC dimension 2."""

    feature: int = 0

    name: ClassVar[str] = "intervals"
    vc: ClassVar[int] = 2

    def patterns(self, T: NDArray[Any]) -> UnionPatterns:
        """Return the runs of neighbouring values of T; each is represented by its closed hull."""
        return Unions(1, self.feature).patterns(T)

    def n_patterns(self, n_points: int) -> int:
        """Return the most runs of n_points values, reached where they differ: n(n+1)/2 + 1."""
        return n_points * (n_points + 1) // 2 + 1
