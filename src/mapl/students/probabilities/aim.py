"""What a student is to be good at: being right, finding every class, or ranking."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from mapl.data.tables.classes import Classes
from mapl.data.tables.rows import Rows
from mapl.errors import InvalidParameter
from mapl.parameters import spell
from mapl.students.student import Student
from mapl.types import Floats

METRICS = ACCURACY, BALANCED, AUC = "accuracy", "balanced", "auc"
LEAST_SHARE = 1e-3
"""No class counts as rarer than this: probabilities have no more digits than the noise leaves."""


@dataclass(frozen=True, slots=True)
class Aim:
    """By what a student is judged, and what its classes weigh where it decides.

    Parameters
    ----------
    metric
        "accuracy": it says the likeliest class. "balanced": every class counts the same, however rare; it says the
        class whose probability is largest beside its share. "auc": its probabilities are what matters; it decides
        as for accuracy.
    class_weight
        What probabilities are multiplied by before the largest one decides, by the names of classes; 1 for others.
    """

    metric: str = ACCURACY
    class_weight: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.metric not in METRICS:
            raise InvalidParameter(f"The metric is {self.metric!r}; choose one of {', '.join(METRICS)}.")
        for name, weight in self.class_weight.items():
            if not (isinstance(weight, (int, float)) and 0 < weight < math.inf):
                raise InvalidParameter(
                    f"The weight of class {name!r} is {weight!r}; it must be a finite number above 0."
                )
        if self.class_weight and self.metric == BALANCED:
            raise InvalidParameter(
                f"There are weights of classes, and {spell('metric', BALANCED)} weighs each by its share; leave "
                "one of them away."
            )

    def check(self, classes: Classes) -> None:
        """Refuse weights of classes that are not declared, before anything is spent."""
        unknown = [name for name in self.class_weight if name not in classes.names]
        if unknown:
            raise InvalidParameter(
                f"There is a weight for class {unknown[0]!r}; the declared classes are {', '.join(classes.names)}."
            )

    def decided(self, student: Student, rows: Rows) -> Student:
        """Let a student decide as it is judged; PUBLIC rows tell how frequent it takes classes to be."""
        if self.class_weight:
            weights = tuple(float(self.class_weight.get(name, 1.0)) for name in student.classes.names)
            return replace(student, class_weights=weights)
        if self.metric != BALANCED:
            return student
        even = 1 / len(student.classes)
        return replace(student, class_weights=tuple((even / class_shares(student, rows)).tolist()))


def class_shares(student: Student, rows: Rows) -> Floats:
    """Return how frequent a student takes each class to be among PUBLIC rows."""
    return np.asarray(np.maximum(student.predict_proba(rows).mean(axis=0), LEAST_SHARE))


def parse_class_weight(text: str) -> dict[str, float]:
    """Read weights of classes.

    >>> parse_class_weight("yes=5,no=1")
    {'yes': 5.0, 'no': 1.0}
    """
    weights: dict[str, float] = {}
    for part in text.split(","):
        name, _, number = part.rpartition("=")
        try:
            weights[name.strip()] = float(number)
        except ValueError:
            name = ""
        if not name.strip():
            raise InvalidParameter(f"The weights of classes are {text!r}; write them as yes=5,no=1.")
    return weights


def write_class_weight(weights: Mapping[str, float]) -> str | None:
    """Write weights of classes as they are read, None where there are none.

    >>> write_class_weight({"yes": 5.0})
    'yes=5.0'
    """
    return ",".join(f"{name}={float(weight)!r}" for name, weight in weights.items()) or None
