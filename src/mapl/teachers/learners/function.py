"""A plain function `train(X, y) -> predict` as a learner."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapl.data.tables.classes import Classes
from mapl.data.tables.rows import Rows, for_learner, n_rows
from mapl.errors import InvalidData
from mapl.teachers.learners.spelling import codes_of, natural
from mapl.types import Labels, Silent


@dataclass(frozen=True, slots=True)
class FunctionLearner:
    """Calls `function(X, y)` on each shard; it returns a function that maps rows to one class name per row."""

    name: str
    function: Callable[[Rows, NDArray[Any]], Callable[[Rows], Any]]
    classes: Classes

    def prepare(self, questions: Rows) -> Rows:
        return for_learner(questions)

    def train(self, rows: Rows, labels: Labels, *, n_classes: int, seed: int) -> FittedFunction:
        predict = self.function(for_learner(rows), natural(self.classes)[labels])
        if not callable(predict):
            raise InvalidData(
                f"{self.name} returned a {type(predict).__name__}; it must return a function that maps rows to one "
                "class name per row."
            )
        return FittedFunction(predict, self.classes)


@dataclass(frozen=True, slots=True, repr=False)
class FittedFunction(Silent):
    """A prediction function and how to read what it says. Private."""

    predict: Callable[[Rows], Any]
    classes: Classes

    def __call__(self, rows: Rows) -> NDArray[np.int64]:
        return codes_of(self.predict(rows), self.classes, n_rows(rows))
