"""The linear models of moments with their encoder, for predictions alone and without scikit-learn.

They say what a Pipeline of `Encoder` and `LinearStudent` or `LinearNumbers` says, to the last bit. scikit-learn
itself takes seconds to import, which is most of what a few predictions cost.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mapl.data.encoding.layout import RowLayout
from mapl.data.moments.feature_map import UNIT, FeatureMap
from mapl.data.moments.probabilities import class_chances
from mapl.data.tables.number_range import NumberRange
from mapl.data.tables.rows import Rows
from mapl.types import Floats


@dataclass(frozen=True, slots=True, eq=False)
class QuickLinear:
    """Predict classes of rows that are not encoded yet."""

    layout: RowLayout
    turn: Floats
    weights: Floats
    classes_: NDArray[Any]
    takes_any_rows: ClassVar[bool] = True

    def decision_function(self, rows: Rows) -> Floats:
        """Return a score for every row and class."""
        return _scores(self.layout, self.turn, self.weights, rows)

    def predict_proba(self, rows: Rows) -> Floats:
        """Return a probability for every row and class."""
        return class_chances(self.decision_function(rows))

    def predict(self, rows: Rows) -> NDArray[Any]:
        """Return the likeliest class of every row."""
        return np.asarray(self.classes_[self.decision_function(rows).argmax(axis=1)])


@dataclass(frozen=True, slots=True, eq=False)
class QuickNumbers:
    """Predict numbers of a declared range for rows that are not encoded yet."""

    layout: RowLayout
    turn: Floats
    weights: Floats
    level: float
    low: float
    high: float
    takes_any_rows: ClassVar[bool] = True

    def predict(self, rows: Rows) -> Floats:
        """Return a number for every row."""
        scores = _scores(self.layout, self.turn, self.weights, rows)
        return NumberRange(self.low, self.high).restored(scores[:, 0] + self.level)


def _scores(layout: RowLayout, turn: Floats, weights: Floats, rows: Rows) -> Floats:
    layout.check(rows)
    return np.asarray(FeatureMap(turn)(layout.encode(rows)) @ weights / UNIT)
