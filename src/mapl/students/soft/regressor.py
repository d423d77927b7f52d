"""Any regressor as a student of soft targets: what it predicts is a probability, cut off at 0 and 1."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from mapl.types import Floats


class SoftRegressor(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Regress noisy probabilities of the second class on encoded rows.

    Parameters
    ----------
    regressor
        An unfitted estimator that predicts numbers.
    classes
        The names of the two classes.
    """

    def __init__(self, regressor: Any, classes: Any = (0, 1)) -> None:
        self.regressor = regressor
        self.classes = classes

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit on encoded rows and their targets; weights count where the regressor takes them."""
        model = clone(self.regressor)
        weighted = sample_weight is not None and has_fit_parameter(model, "sample_weight")
        self.regressor_ = model.fit(X, y, **({"sample_weight": sample_weight} if weighted else {}))
        self.classes_ = np.asarray(self.classes)
        return self

    def predict_proba(self, X: Any) -> Floats:
        """Return the probabilities of both classes."""
        check_is_fitted(self)
        second = np.clip(np.asarray(self.regressor_.predict(X), dtype=np.float64), 0.0, 1.0)
        return np.column_stack([1 - second, second])

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the likelier class."""
        return np.asarray(self.classes_[(self.predict_proba(X)[:, 1] >= 0.5).astype(np.int64)])
