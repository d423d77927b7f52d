"""Learners whose teachers are kept: a worker sends back what is stored of a model, not the model itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapl.data.tables.classes import UNKNOWN
from mapl.data.tables.rows import Rows
from mapl.teachers.learners.estimator import EstimatorLearner, FittedEstimator
from mapl.teachers.learners.spelling import codes_of
from mapl.teachers.panel.linear_weights import Weights, weights_of
from mapl.types import Labels, Silent

KeptModel = Any
"""What is kept of one teacher: `Weights`, `Onnx` or the model itself, which becomes `Stored`. Private."""


@dataclass(frozen=True, slots=True, repr=False)
class Stored(Silent):
    """One teacher as bytes that are safe to read, and the classes of its shard where it knows these by number."""

    content: bytes
    present: tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class Keeping:
    """Trains as a learner does, and returns what is kept of the fitted model in the place of its predictions.

    Models are taken apart where they were trained, so that one that cannot be counts as a teacher that failed.
    """

    learner: EstimatorLearner
    keep: Callable[[FittedEstimator], KeptModel]

    @property
    def name(self) -> str:
        return self.learner.name

    def prepare(self, questions: Rows) -> Rows:
        return self.learner.prepare(questions)

    def train(self, rows: Rows, labels: Labels, *, n_classes: int, seed: int) -> KeptModel:
        return self.keep(self.learner.train(rows, labels, n_classes=n_classes, seed=seed))


def as_it_is(fitted: FittedEstimator) -> FittedEstimator:
    """Keep a model itself, for whoever stores it."""
    return fitted


def as_weights(fitted: FittedEstimator) -> Weights:
    """Keep a linear model as its weights."""
    weights = weights_of(fitted.estimator, class_codes(fitted))
    if not weights.sound:
        raise ValueError
    return weights


def class_codes(fitted: FittedEstimator) -> NDArray[np.int64]:
    """Return the declared number of each class that a fitted estimator knows, in its own order."""
    own = np.asarray(fitted.estimator.classes_)
    if fitted.present is None:
        return codes_of(own, fitted.classes, len(own))
    places = own.astype(np.int64)
    known = (places >= 0) & (places < len(fitted.present))
    return np.where(known, fitted.present[np.where(known, places, 0)], UNKNOWN)
