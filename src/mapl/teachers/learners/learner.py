"""What a teacher is made of: anything that learns from rows and labels and then votes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from mapl.data.tables.classes import Classes
from mapl.data.tables.rows import Rows
from mapl.data.tables.schema import Schema
from mapl.errors import InvalidParameter
from mapl.teachers.learners.command import Command, CommandLearner
from mapl.teachers.learners.estimator import EstimatorLearner
from mapl.teachers.learners.function import FunctionLearner
from mapl.teachers.learners.presets import preset
from mapl.types import Labels

if TYPE_CHECKING:
    from mapl.data.encoding.encoder import Encoder

Predict = Callable[[Rows], NDArray[np.int64]]
"""A fitted teacher: maps prepared questions to class numbers, UNKNOWN for what names no class."""


class Learner(Protocol):
    """How teachers are trained. A learner sees one shard at a time, and must keep nothing from it for the next."""

    @property
    def name(self) -> str: ...

    def prepare(self, questions: Rows) -> Rows:
        """Bring public rows into the form that predictions take, once for all teachers."""
        ...

    def train(self, rows: Rows, labels: Labels, *, n_classes: int, seed: int) -> Predict:
        """Learn from one shard. All randomness must come from the seed or from the global generators."""
        ...


def as_learner(
    given: Any, classes: Classes, schema: Schema | None = None, encoder: Encoder | None = None
) -> Learner:
    """Make a learner of what a user hands over.

    Parameters
    ----------
    given
        The name of a preset, an estimator with fit and predict (or a whole Pipeline), a function
        ``train(X, y) -> predict``, a `Command`, or a learner.
    classes
        The declared classes; estimators and functions get their names, as whole numbers if all names are such.
    schema
        The declared columns, from which presets build their encoder.
    encoder
        The encoder of the run, fitted on public rows (`mapl.data.encoding.choice`), which presets take instead.
    """
    if isinstance(given, str):
        return EstimatorLearner(given, preset(given).build(schema, encoder), classes)
    if isinstance(given, Command):
        return CommandLearner(given, classes, "label" if schema is None or schema.label is None else schema.label)
    if hasattr(given, "train") and hasattr(given, "prepare"):
        learner: Learner = given
        return learner
    if hasattr(given, "fit") and hasattr(given, "predict"):
        return EstimatorLearner(type(given).__name__, given, classes)
    if callable(given):
        return FunctionLearner(getattr(given, "__name__", type(given).__name__), given, classes)
    raise InvalidParameter(
        f"The learner is of type {type(given).__name__}; hand over the name of a preset, an estimator with fit and "
        "predict, a function train(X, y) that returns a prediction function, or a Command."
    )
