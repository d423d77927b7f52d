"""The weights of one linear teacher, and whose votes follow from such weights alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapl.types import Floats, Silent

MOST = 2.0**300
"""Weights and features beyond this are a failure; below it no product of two halves overflows."""


@dataclass(frozen=True, slots=True, repr=False)
class Weights(Silent):
    """One linear teacher: a row of weights, or one per class, and the class number of each. Private."""

    coef: Floats
    intercept: Floats
    codes: NDArray[np.int64]

    @property
    def sound(self) -> bool:
        """Whether every number is one to compute with."""
        numbers = np.concatenate([self.coef.ravel(), self.intercept.ravel()])
        return bool(self.shaped and (np.abs(numbers) <= MOST).all())

    @property
    def shaped(self) -> bool:
        """Whether there are as many scores as classes, or one for two of them."""
        one_each = len(self.codes) == max(2, len(self.coef)) and len(self.intercept) == len(self.coef)
        return one_each and len(self.coef) != 2


def weights_of(model: Any, codes: NDArray[np.int64]) -> Weights:
    """Return the weights of a fitted linear classifier, whose classes have these numbers."""
    coef = np.atleast_2d(np.asarray(model.coef_, dtype=np.float64))
    intercept = np.broadcast_to(np.asarray(model.intercept_, dtype=np.float64).ravel(), (len(coef),))
    return Weights(coef, intercept.copy(), np.asarray(codes, dtype=np.int64))


def is_linear(model: Any) -> bool:
    """Say whether a classifier of scikit-learn decides by the largest of its linear scores, and by nothing else."""
    from sklearn.linear_model import RidgeClassifier
    from sklearn.linear_model._base import LinearClassifierMixin

    kind = type(model)
    return getattr(kind, "decision_function", None) is LinearClassifierMixin.decision_function and getattr(
        kind, "predict", None
    ) in (LinearClassifierMixin.predict, RidgeClassifier.predict)
