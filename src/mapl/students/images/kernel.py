"""The default student on images: clean the released labels, then a Gaussian kernel."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from mapl.students.strategies.cleaning import clean_labels
from mapl.types import Singles

MOST_ANCHORS = 10_000
"""Kernels of more rows do not fit; a fixed choice of them is taken, after all labels have served to clean."""

SHARPNESS, PENALTY = 0.3, 0.3
TYPICAL_ROWS = 500
DISTANCES_AT_ONCE = 1 << 23
LEAST_WEIGHT = 1e-6


class KernelStudent(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Kernel ridge regression of the classes on encoded rows, after the labels were cleaned.

    Parameters
    ----------
    n_spectral
        How many columns at the front are spectral coordinates. They serve to clean the labels and for nothing else;
        0 takes the labels as they are.
    sharpness
        The kernel of two rows is exp(-sharpness * squared distance / median squared distance).
    penalty
        What is added to the diagonal of the kernel.
    """

    def __init__(self, n_spectral: int = 0, sharpness: float = SHARPNESS, penalty: float = PENALTY) -> None:
        self.n_spectral = n_spectral
        self.sharpness = sharpness
        self.penalty = penalty

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit on encoded rows and their labels."""
        rows = np.asarray(X, np.float32)
        self.classes_, places = np.unique(y, return_inverse=True)
        codes = places.astype(np.int32)
        weights = np.ones(len(rows)) if sample_weight is None else np.asarray(sample_weight, np.float64)
        weights = np.maximum(weights / max(weights.mean(), LEAST_WEIGHT), LEAST_WEIGHT)
        if self.n_spectral:
            codes = clean_labels(rows[:, : self.n_spectral], codes, len(self.classes_), weights=weights)
        chosen = anchors_among(len(rows))
        self.anchors_ = np.ascontiguousarray(rows[chosen, self.n_spectral :])
        targets = np.eye(len(self.classes_), dtype=np.float32)[codes[chosen]]
        self.shares_ = targets.mean(axis=0)
        self.rate_ = self.sharpness / typical_gap(self.anchors_)
        kernel = self._kernel(self.anchors_)
        kernel[np.diag_indices(len(kernel))] += np.asarray(self.penalty / weights[chosen], np.float32)
        self.dual_ = cho_solve(cho_factor(kernel, overwrite_a=True), targets - self.shares_)
        return self

    def decision_function(self, X: Any) -> Singles:
        """Return a score per class; of two classes, by how much the second leads."""
        scores = self._scores(X)
        return np.asarray(scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class with the highest score."""
        best = self._scores(X).argmax(axis=1)
        return np.asarray(self.classes_[best])

    def _scores(self, X: Any) -> Singles:
        check_is_fitted(self)
        points = np.asarray(X, np.float32)[:, self.n_spectral :]
        return np.asarray(weigh(points, self.anchors_, self.rate_, self.dual_) + self.shares_)

    def _kernel(self, points: Singles) -> Singles:
        return gaussian(points, self.anchors_, self.rate_)


def anchors_among(n: int) -> NDArray[np.int64]:
    """Return which of n rows the kernel is made of."""
    return np.sort(np.random.default_rng(0).permutation(n)[:MOST_ANCHORS])


def weigh(points: Singles, anchors: Singles, rate: float, dual: Singles) -> Singles:
    """Return what the kernel of points and anchors says, block by block; memory is bounded by a block."""
    step = max(1, DISTANCES_AT_ONCE // len(anchors))
    blocks = [points[start : start + step] for start in range(0, max(1, len(points)), step)]
    return np.concatenate([gaussian(block, anchors, rate) @ dual for block in blocks])


def gaussian(points: Singles, others: Singles, rate: float) -> Singles:
    """Return the kernel of all pairs of rows."""
    gaps = _gaps(points, others)
    gaps *= np.float32(-rate)
    return np.exp(gaps, out=gaps)


def typical_gap(points: Singles) -> float:
    """Return the median squared distance of rows, 1 where there is none."""
    some = points[np.linspace(0, len(points) - 1, min(len(points), TYPICAL_ROWS)).astype(np.int64)]
    return float(np.median(_gaps(some, points))) or 1.0


def _gaps(points: Singles, others: Singles) -> Singles:
    """Squared distances."""
    gaps: Singles = points @ others.T
    gaps *= -2
    gaps += (others**2).sum(axis=1)
    gaps += (points**2).sum(axis=1)[:, None]
    return np.maximum(gaps, 0, out=gaps)
