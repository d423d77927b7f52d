"""What records add to sums where labels are numbers: how far these lie from a public model, and its square."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapl.data.moments.feature_map import UNIT
from mapl.data.moments.row_map import Vectors
from mapl.data.tables.rows import Rows
from mapl.types import Floats

SQUARES = 0.3
"""How much of a residual goes into its square, where the residual itself is 1; that makes noise 4% larger."""

LONGEST = math.hypot(1.0, SQUARES)
"""The largest norm of both together, where residuals are cut off at 1."""


@dataclass(frozen=True, slots=True, eq=False)
class NumberResiduals:
    """The label of a record, between -1 and 1, minus what a public model predicts, and the square of that.

    Parameters
    ----------
    vectors
        The public map, or `KeptVectors` where rows are vectors already.
    weights
        The model, one column, on a grid so coarse that its scores are exact.
    level
        What the model predicts beside that.
    bound
        Where residuals are cut off, which is what 1 stands for; like the model, it follows from earlier releases.
    """

    vectors: Vectors
    weights: Floats
    level: float
    bound: float

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.weights), 2

    def encode(self, rows: Rows) -> Rows:
        return self.vectors.encode(rows)

    def measure(self, rows: Rows, labels: NDArray[Any]) -> tuple[Floats, Floats]:
        """Return vectors and residuals, of norm at most `LONGEST`."""
        found = self.vectors(rows)
        predicted = np.clip((found @ self.weights)[:, 0] / UNIT + self.level, -1.0, 1.0)
        return found, with_squares(labels - predicted, self.bound)


def with_squares(gaps: Floats, bound: float) -> Floats:
    """Return gaps in parts of a bound and cut off there, and beside each its square; what is no number is 0."""
    cut = np.clip(np.nan_to_num(gaps / bound), -1.0, 1.0)
    return np.stack([cut, SQUARES * (cut * cut)], axis=1)
