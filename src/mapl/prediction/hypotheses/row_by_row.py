"""Anybody's model as a hypothesis: every row is labelled by itself, and nothing the model says of it leaves.

A batch is no sum over its rows. One row for which a model raises takes the labels of all others with it, and a
product of matrices rounds by where a row stands. Then one record would move errors of many.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from mapl.prediction.hypotheses.protocol import Hypothesis, Points
from mapl.prediction.hypotheses.sample import BuiltIn
from mapl.types import Labels, Silent


@dataclass(frozen=True, slots=True, repr=False)
class RowByRow(BuiltIn, Silent):
    """A model that always has an answer: a row for which it fails, or says anything but one label 1, is 0.

    It costs one call for each distinct row. Labels are not remembered from one table to the next, since a released
    hypothesis would then carry private rows along.
    """

    model: Any

    def predict(self, X: NDArray[Any]) -> Labels:
        points = np.ascontiguousarray(X)
        if not points.size:
            return np.zeros(len(points), dtype=np.int32)
        # By their bytes: -0 and 0 may get different labels, as different numbers may.
        whole_rows = points.view(np.dtype((np.void, points.dtype.itemsize * points.shape[1])))[:, 0]
        _, first, place = np.unique(whole_rows, return_index=True, return_inverse=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a warning may quote what it warns about
            labels = [self.label(points[i : i + 1].copy()) for i in first]
        return np.array(labels, dtype=np.int32)[place]

    def label(self, row: Points) -> int:
        try:
            said = np.asarray(self.model.predict(row))
            return int(said.shape == (1,) and bool(said[0] == 1))
        except Exception:
            return 0


def row_by_row(model: Any) -> Hypothesis:
    """Return a rule of mapl's own as it is, for it compares exactly, and any other model row by row."""
    hypothesis: Hypothesis = RowByRow(model) if not isinstance(model, BuiltIn) else cast(Hypothesis, model)
    return hypothesis
