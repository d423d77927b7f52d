"""Multinomial logistic regression on noisy rows of probabilities, some of which lie outside 0 .. 1."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from mapl.students.soft.logistic import MOST_STEPS, TOLERANCE, design
from mapl.types import Floats


class SoftMultinomial(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Minimise the mean of ln sum(e^f) - t f over linear f, one per class, with a penalty on their coefficients.

    The gradient in f is the predicted probabilities minus the targets, so noise of mean zero leaves the solution
    right on average. Targets of a row add up to 1, as they are released.

    Parameters
    ----------
    classes
        The names of the classes, in the order of the targets' columns.
    penalty
        Of the squared coefficients, against a loss that counts every row once.
    slope
        What f is multiplied by in the end, to mend what the penalty flattens (`calibrate_slope`).
    """

    def __init__(self, classes: Any = (0, 1, 2), penalty: float = 30.0, slope: float = 1.0) -> None:
        self.classes = classes
        self.penalty = penalty
        self.slope = slope

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit on encoded rows and their targets, one row of probabilities each."""
        rows, targets = design(X), np.asarray(y, dtype=np.float64)
        weights = np.ones(len(targets)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        found = multinomial_solution(rows, targets, weights, self.penalty, None)
        self.classes_ = np.asarray(self.classes)
        self.coef_, self.intercept_ = found[:-1].T.copy(), found[-1].copy()
        return self

    def decision_function(self, X: Any) -> Floats:
        """Return a score for every class."""
        check_is_fitted(self)
        return np.asarray(self.slope * (design(X) @ self.coef_.T + self.intercept_))

    def predict_proba(self, X: Any) -> Floats:
        """Return the probabilities of all classes."""
        return np.asarray(softmax(self.decision_function(X), axis=1))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the likeliest class."""
        return np.asarray(self.classes_[self.decision_function(X).argmax(axis=1)])


def multinomial_solution(
    rows: Any, targets: Floats, weights: Floats, penalty: float, start: Floats | None
) -> Floats:
    """Return the coefficients, a column for each class and the intercepts last."""
    shape = (rows.shape[1] + 1, targets.shape[1])

    def value(flat: Floats) -> tuple[float, Floats]:
        found = flat.reshape(shape)
        loss, off = _loss(rows @ found[:-1] + found[-1], targets, weights)
        loss += penalty / 2 * float((found[:-1] ** 2).sum())
        return loss, np.vstack([rows.T @ off + penalty * found[:-1], off.sum(axis=0)]).ravel()

    how = {"maxiter": MOST_STEPS, "gtol": TOLERANCE * max(1.0, float(weights.sum())), "ftol": 1e-9}
    begin = np.zeros(shape) if start is None else start
    return np.asarray(minimize(value, begin.ravel(), jac=True, method="L-BFGS-B", options=how).x).reshape(shape)


def calibrate_slope(scores: Floats, targets: Floats, weights: Floats) -> float:
    """Return the slope by which held-out scores fit their targets best; one that is no use is 1."""

    def value(slope: Floats) -> tuple[float, Floats]:
        loss, off = _loss(slope[0] * scores, targets, weights)
        return loss, np.array([float((off * scores).sum())])

    found = float(minimize(value, np.ones(1), jac=True, method="L-BFGS-B", bounds=[(0.0, 20.0)]).x[0])
    return found if 0.3 <= found <= 10 else 1.0


def _loss(f: Floats, targets: Floats, weights: Floats) -> tuple[float, Floats]:
    """Return the loss of scores, and its gradient in them."""
    highest = f.max(axis=1)
    shares = np.exp(f - highest[:, None])
    total = shares.sum(axis=1)
    loss = float(weights @ (np.log(total) + highest - np.einsum("ij,ij->i", targets, f)))
    return loss, weights[:, None] * (shares / total[:, None] - targets)
