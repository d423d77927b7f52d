"""Estimators with fit and predict as learners: cloned, seeded and fitted on one shard at a time."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapl.data.tables.classes import UNKNOWN, Classes
from mapl.data.tables.rows import Rows, for_learner, n_rows
from mapl.errors import InvalidParameter
from mapl.teachers.learners.spelling import codes_of, natural, one_per_row
from mapl.teachers.learners.unfitted import refuse_fitted
from mapl.types import Labels, Silent

WANT_CODES = ("xgboost", "skorch")
"""Libraries that take the numbers 0, 1, ... of the classes in the shard, and no other labels."""


@dataclass(frozen=True, slots=True)
class EstimatorLearner:
    """Fits a clone of a scikit-learn style estimator or Pipeline on each shard.

    Where the Pipeline begins with mapl's stateless `Encoder`, questions are encoded once for all teachers.
    """

    name: str
    estimator: Any
    classes: Classes
    codes_only: bool = field(init=False)

    def __post_init__(self) -> None:
        from sklearn.base import is_regressor

        if isinstance(self.estimator, type):
            raise InvalidParameter(
                f"The learner is the class {self.estimator.__name__}; hand over an instance: "
                f"{self.estimator.__name__}()."
            )
        if hasattr(self.estimator, "__sklearn_tags__") and is_regressor(self.estimator):
            raise InvalidParameter(
                f"{type(self.estimator).__name__} predicts numbers; teachers vote for classes, so hand over a "
                "classifier."
            )
        refuse_fitted(self.estimator)
        object.__setattr__(self, "codes_only", _wants_codes(self.estimator))

    @property
    def encoder(self) -> Any | None:
        """The stateless Encoder that rows go through first, None where the estimator takes them as they are."""
        return _encoder_and_model(self.estimator)[0]

    def prepare(self, questions: Rows) -> Rows:
        encoder = self.encoder
        return for_learner(questions) if encoder is None else encoder.transform(questions)

    def train(self, rows: Rows, labels: Labels, *, n_classes: int, seed: int) -> FittedEstimator:
        encoder, model = _encoder_and_model(self.estimator)
        features = for_learner(rows) if encoder is None else encoder.transform(rows)
        estimator = fresh(model, seed)
        if self.codes_only:
            present, targets = np.unique(labels, return_inverse=True)
            estimator.fit(features, targets.astype(np.int64))
            return FittedEstimator(estimator, self.classes, present.astype(np.int64))
        estimator.fit(features, natural(self.classes)[labels])
        return FittedEstimator(estimator, self.classes, None)


@dataclass(frozen=True, slots=True, repr=False)
class FittedEstimator(Silent):
    """A fitted estimator and how to read its predictions. Private."""

    estimator: Any
    classes: Classes
    present: NDArray[np.int64] | None

    def __call__(self, rows: Rows) -> NDArray[np.int64]:
        predicted = self.estimator.predict(rows)
        if self.present is None:
            return codes_of(predicted, self.classes, n_rows(rows))
        places = one_per_row(predicted, n_rows(rows)).astype(np.int64)
        known = (places >= 0) & (places < len(self.present))
        return np.where(known, self.present[np.where(known, places, 0)], UNKNOWN)


def _encoder_and_model(estimator: Any) -> tuple[Any | None, Any]:
    """Part a Pipeline that begins with our Encoder into that and the rest."""
    from sklearn.pipeline import Pipeline

    from mapl.data.encoding.encoder import Encoder

    if not isinstance(estimator, Pipeline) or not isinstance(estimator.steps[0][1], Encoder):
        return None, estimator
    (_, encoder), *rest = estimator.steps
    return (encoder, rest[0][1]) if len(rest) == 1 else (encoder, Pipeline(rest))


def fresh(estimator: Any, seed: int) -> Any:
    """Return an unfitted copy in which every random_state that was left open is the seed."""
    if not hasattr(estimator, "get_params"):
        return copy.deepcopy(estimator)
    from sklearn.base import clone

    unfitted = clone(estimator)
    left_open = {
        name: seed
        for name, value in unfitted.get_params(deep=True).items()
        if value is None and (name == "random_state" or name.endswith("__random_state"))
    }
    return unfitted.set_params(**left_open) if left_open else unfitted


def _wants_codes(estimator: Any) -> bool:
    """Say whether an estimator, or one it is built of, comes from a library that takes contiguous codes only."""
    nested = estimator.get_params(deep=True).values() if hasattr(estimator, "get_params") else ()
    libraries = {base.__module__.split(".")[0] for part in (estimator, *nested) for base in type(part).__mro__}
    return not libraries.isdisjoint(WANT_CODES)
