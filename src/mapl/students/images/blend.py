"""A linear model of images beside a kernel that it taught: each is right about others than the other one."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from mapl.students.images.kernel import SHARPNESS, anchors_among, gaussian, typical_gap, weigh
from mapl.students.moments.linear import LinearStudent
from mapl.types import Floats

PENALTY = 0.01
"""What is added to the diagonal of the kernel: little, since probabilities of a linear model have little noise."""

KERNEL = 0.8
"""How much the kernel counts, and the linear model the rest; that one is the surer of the two."""

DOUBT, SURENESS = 0.5, 2.0
"""The powers of the linear model's probabilities that count, and of both together that are told."""


class BlendStudent(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Predict classes of encoded images by a linear model and by a kernel regression of its probabilities.

    Borders between classes of images bend. A linear model of sums cannot follow them; a kernel that learns what it
    says about public rows rounds its borders off by where these lie.

    Parameters
    ----------
    linear
        The model of moments.
    n_spectral
        How many columns of encoded rows, at the front, the kernel does without.
    """

    def __init__(self, linear: LinearStudent, n_spectral: int = 0) -> None:
        self.linear = linear
        self.n_spectral = n_spectral

    @property
    def classes_(self) -> NDArray[Any]:
        return self.linear.classes_

    def fit(self, X: Any, y: Any = None) -> Self:
        """Let the kernel learn from encoded PUBLIC rows; labels are what the linear model says about them."""
        rows = np.asarray(X, np.float32)
        chosen = rows[anchors_among(len(rows))]
        chances = self.linear.predict_proba(chosen)
        self.anchors_ = np.ascontiguousarray(chosen[:, self.n_spectral :])
        self.rate_ = SHARPNESS / typical_gap(self.anchors_)
        self.shares_ = chances.mean(axis=0).astype(np.float32)
        kernel = gaussian(self.anchors_, self.anchors_, self.rate_)
        kernel[np.diag_indices(len(kernel))] += np.float32(PENALTY)
        self.dual_ = cho_solve(cho_factor(kernel, overwrite_a=True), chances.astype(np.float32) - self.shares_)
        return self

    def predict_proba(self, X: Any) -> Floats:
        """Return a probability for every encoded row and class."""
        check_is_fitted(self, "dual_")
        rows = np.asarray(X, np.float32)
        points = np.ascontiguousarray(rows[:, self.n_spectral :])
        told = np.maximum(weigh(points, self.anchors_, self.rate_, self.dual_) + self.shares_, 0.0)
        doubtful = self.linear.predict_proba(rows) ** DOUBT
        both = KERNEL * _shares(told.astype(np.float64)) + (1 - KERNEL) * _shares(doubtful)
        return _shares(both**SURENESS)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the likeliest class of every encoded row."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])


def _shares(numbers: Floats) -> Floats:
    """Return numbers that are not negative as parts of their sum, equal ones where that is 0."""
    total = numbers.sum(axis=1, keepdims=True)
    even = np.full_like(numbers, 1 / numbers.shape[1])
    return np.asarray(np.divide(numbers, total, out=even, where=total > 0))
