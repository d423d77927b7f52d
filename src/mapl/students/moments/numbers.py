"""The linear model of moments as a scikit-learn regressor of encoded rows, for a student file."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, RegressorMixin

from mapl.data.moments.feature_map import UNIT, FeatureMap
from mapl.data.tables.number_range import NumberRange
from mapl.types import Floats


class LinearNumbers(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Predict numbers of a declared range by a linear model of a public feature map.

    There is nothing to fit: `fit` returns it as it is. Its parameters are arrays and numbers, so that a model file
    can hold it.

    Parameters
    ----------
    turn
        The array of a `FeatureMap`.
    weights
        One line per feature, a single column.
    level
        What is predicted beside that, from -1 to 1 like the scores.
    low, high
        The ends of the range.
    """

    def __init__(self, turn: Floats, weights: Floats, level: float, low: float, high: float) -> None:
        self.turn = turn
        self.weights = weights
        self.level = level
        self.low = low
        self.high = high

    def fit(self, X: Any, y: Any = None) -> Self:
        """Return the model itself; it was made of released sums."""
        return self

    def predict(self, X: NDArray[Any]) -> Floats:
        """Return a number for every encoded row."""
        scores = FeatureMap(self.turn)(X) @ self.weights / UNIT
        return NumberRange(self.low, self.high).restored(np.asarray(scores)[:, 0] + self.level)

    def __sklearn_is_fitted__(self) -> bool:
        return True
