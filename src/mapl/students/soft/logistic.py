"""Logistic regression on noisy soft targets, which may lie outside 0 .. 1."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from mapl.data.tables.rows import is_sparse
from mapl.types import Floats

MOST_STEPS = 200
TOLERANCE = 1e-5


class SoftLogistic(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Minimise the mean of ln(1 + e^f) - t f over linear f, with a penalty on its coefficients.

    The gradient in f is the predicted probability minus the target, so noise of mean zero leaves the solution right
    on average, whatever the target's range; cutting targets off at 0 and 1 would not.

    Parameters
    ----------
    classes
        The names of the two classes; targets are probabilities of the second.
    penalty
        Of the squared coefficients, against a loss that counts every row once.
    slope, offset
        What f is multiplied by and moved by in the end, to mend what the penalty flattens (`calibrate_log_odds`).
    """

    def __init__(
        self, classes: Any = (0, 1), penalty: float = 30.0, slope: float = 1.0, offset: float = 0.0
    ) -> None:
        self.classes = classes
        self.penalty = penalty
        self.slope = slope
        self.offset = offset

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit on encoded rows and their targets."""
        rows, weights = design(X), _weights(sample_weight, len(y))
        start = np.zeros(rows.shape[1] + 1)
        found = solution(rows, np.asarray(y, dtype=np.float64), weights, self.penalty, start)
        self.classes_ = np.asarray(self.classes)
        self.coef_, self.intercept_ = found[:-1], float(found[-1])
        return self

    def decision_function(self, X: Any) -> Floats:
        """Return the log-odds of the second class."""
        check_is_fitted(self)
        return np.asarray(self.offset + self.slope * (design(X) @ self.coef_ + self.intercept_))

    def predict_proba(self, X: Any) -> Floats:
        """Return the probabilities of both classes."""
        second = expit(self.decision_function(X))
        return np.column_stack([1 - second, second])

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the likelier class."""
        return np.asarray(self.classes_[(self.decision_function(X) >= 0).astype(np.int64)])


def design(X: Any) -> Any:
    """Return encoded rows as a matrix of doubles."""
    return X.astype(np.float64) if is_sparse(X) else np.asarray(X, dtype=np.float64)


def solution(rows: Any, targets: Floats, weights: Floats, penalty: float, start: Floats) -> Floats:
    """Return the coefficients, the intercept last."""

    def value(found: Floats) -> tuple[float, Floats]:
        f = rows @ found[:-1] + found[-1]
        off = weights * (expit(f) - targets)
        loss = float(weights @ (np.logaddexp(0, f) - targets * f)) + penalty / 2 * float(found[:-1] @ found[:-1])
        return loss, np.append(rows.T @ off + penalty * found[:-1], off.sum())

    scale = TOLERANCE * max(1.0, float(weights.sum()))
    how = {"maxiter": MOST_STEPS, "gtol": scale, "ftol": 1e-9}
    return np.asarray(minimize(value, start, jac=True, method="L-BFGS-B", options=how).x)


def calibrate_log_odds(log_odds: Floats, targets: Floats, weights: Floats) -> tuple[float, float]:
    """Return slope and offset by which held-out log-odds fit their targets best; a slope that is no use is 1."""
    found = solution(log_odds[:, None], targets, weights, 1e-9 * len(targets), np.array([1.0, 0.0]))
    slope, offset = float(found[0]), float(found[1])
    return (slope, offset) if 0.3 <= slope <= 10 else (1.0, 0.0)


def _weights(given: Any, n: int) -> Floats:
    return np.ones(n) if given is None else np.asarray(given, dtype=np.float64)
