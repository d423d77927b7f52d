"""The linear model of moments as a scikit-learn classifier of encoded rows, for a student file."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from mapl.data.moments.feature_map import UNIT, FeatureMap
from mapl.data.moments.probabilities import class_chances
from mapl.types import Floats


class LinearStudent(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Predict classes by a linear model of a public feature map.

    There is nothing to fit: `fit` returns it as it is. Its parameters are arrays, so that a model file can hold it.

    Parameters
    ----------
    turn
        The array of a `FeatureMap`.
    weights
        One line per feature, one column per class.
    classes
        The names of the classes, in the order of the columns.
    """

    def __init__(self, turn: Floats, weights: Floats, classes: NDArray[Any]) -> None:
        self.turn = turn
        self.weights = weights
        self.classes = classes

    @property
    def classes_(self) -> NDArray[Any]:
        return np.asarray(self.classes)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Return the model itself; it was made of released sums."""
        return self

    def decision_function(self, X: NDArray[Any]) -> Floats:
        """Return a score for every encoded row and class."""
        return np.asarray(FeatureMap(self.turn)(X) @ self.weights / UNIT)

    def predict_proba(self, X: NDArray[Any]) -> Floats:
        """Return a probability for every encoded row and class."""
        return class_chances(self.decision_function(X))

    def predict(self, X: NDArray[Any]) -> NDArray[Any]:
        """Return the likeliest class of every encoded row."""
        return np.asarray(self.classes_[self.decision_function(X).argmax(axis=1)])

    def __sklearn_is_fitted__(self) -> bool:
        return True
