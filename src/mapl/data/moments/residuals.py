"""What records add to sums: their labels beyond what a public model predicts of them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from mapl.data.moments.feature_map import UNIT
from mapl.data.moments.probabilities import class_chances
from mapl.data.moments.row_map import Vectors
from mapl.data.tables.rows import Rows
from mapl.types import Floats, Labels

LARGEST_WEIGHT, LEAST_WEIGHT = 2.0**20, 2.0**-100
"""Beyond the one a model is cut off, below the other it is none."""


@dataclass(frozen=True, slots=True, eq=False)
class Residuals:
    """The label of a record as zeros and a one, minus what a public model predicts.

    Parameters
    ----------
    vectors
        The public map, or `KeptVectors` where rows are vectors already.
    weights
        The model, one column per class, on a grid so coarse that its scores are exact.
    """

    vectors: Vectors
    weights: Floats

    @property
    def shape(self) -> tuple[int, int]:
        return self.weights.shape[0], self.weights.shape[1]

    def encode(self, rows: Rows) -> Rows:
        return self.vectors.encode(rows)

    def measure(self, rows: Rows, labels: Labels) -> tuple[Floats, Floats]:
        """Return vectors and residuals; the residual of an even guess has norm sqrt(1 - 1/C)."""
        found = self.vectors(rows)
        residuals = -class_chances(self._scores(found))
        residuals[np.arange(len(labels)), labels] += 1.0
        return found, residuals

    def _scores(self, found: Floats) -> Floats:
        """Return exact scores up to what classes share: of two, by how much the second is ahead of the first."""
        if self.shape[1] != 2:
            return np.asarray((found @ self.weights) / UNIT)
        scores = np.zeros((len(found), 2))
        np.divide(found @ (self.weights[:, 1] - self.weights[:, 0]), UNIT, out=scores[:, 1])
        return scores


def on_grid(weights: Floats) -> Floats:
    """Round a public model so coarsely that 53 bits hold every score of a whole vector.

    Whatever the model is, all scores are numbers: one that is none would make what a record adds boundless.
    """
    weights = np.clip(np.nan_to_num(weights), -LARGEST_WEIGHT, LARGEST_WEIGHT)
    largest = float(np.abs(weights).max(initial=0.0))
    if largest < LEAST_WEIGHT:
        return np.zeros_like(weights)
    bits = 53 - int(math.log2(UNIT)) - math.ceil(math.log2(max(2, len(weights)))) - 1
    step = 2.0 ** (math.ceil(math.log2(largest)) - bits)
    return np.asarray(np.rint(weights / step) * step)
