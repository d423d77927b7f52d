"""Thresholds on one feature: everything from a value upwards is 1."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mapl.prediction.hypotheses.line.line import Line
from mapl.prediction.hypotheses.listed import ListedErrors
from mapl.prediction.hypotheses.protocol import Points
from mapl.prediction.hypotheses.sample import BuiltIn, as_ones, as_points
from mapl.types import Flags, Integers, Labels, Silent


@dataclass(frozen=True, slots=True, repr=False)
class Threshold(BuiltIn, Silent):
    """1 from the value upwards; infinity is the rule that never says 1."""

    value: float
    feature: int = 0

    def predict(self, X: NDArray[Any]) -> Labels:
        return (np.asarray(X)[:, self.feature] >= self.value).astype(np.int32)


@dataclass(frozen=True, slots=True)
class Thresholds(BuiltIn):
    """All thresholds on one feature; VC dimension 1."""

    feature: int = 0

    name: ClassVar[str] = "thresholds"
    vc: ClassVar[int] = 1

    def patterns(self, T: NDArray[Any]) -> ThresholdPatterns:
        """Return the upper sets of T; each is represented by the threshold at its smallest value."""
        column = as_points(T, n_features=self.feature + 1)[:, self.feature]
        return ThresholdPatterns(np.unique(column), self.feature)

    def n_patterns(self, n_points: int) -> int:
        """Return the most upper sets of n_points values, reached where they differ."""
        return n_points + 1


@dataclass(frozen=True, slots=True, repr=False)
class ThresholdPatterns(Silent):
    """Pattern i is 1 on all distinct values but the i smallest."""

    values: Points
    feature: int

    def __len__(self) -> int:
        return len(self.values) + 1

    def __iter__(self) -> Iterator[Threshold]:
        return map(self.representative, range(len(self)))

    def representative(self, i: int) -> Threshold:
        return Threshold(threshold(self.values, i), self.feature)

    def errors(self, X: NDArray[Any], y: NDArray[Any]) -> ListedErrors:
        points = as_points(X, n_features=self.feature + 1)
        ones = as_ones(y, n_points=len(points))
        return ListedErrors(
            upper_errors(self.values, points[:, self.feature], ones), self.representative, self.votes
        )

    def votes(self, x: Points) -> Flags:
        return np.asarray(np.arange(len(self)) < np.searchsorted(self.values, x[self.feature], side="right"))


def threshold(values: Points, i: int) -> float:
    """Return the i-th value, or infinity behind the last."""
    return float(values[i]) if i < len(values) else float("inf")


def upper_errors(values: Points, column: Points, ones: Flags) -> Integers:
    """Count for each i the examples below ``values[i]`` labelled 1 and those from it upwards labelled 0."""
    line = Line.of(column, ones)
    n_zeros = len(ones) - int(ones.sum())
    return np.append(line.below(values), line.total) + n_zeros
