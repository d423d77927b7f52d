"""The papers' student: a question without an answer gets an arbitrary label."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from mapl.errors import InvalidParameter
from mapl.students.fitting import Learning, fit_model
from mapl.students.lesson import Lesson
from mapl.types import ABSTAIN


@dataclass(frozen=True, slots=True)
class Imputed:
    """Label every unanswered row arbitrarily, then learn from all rows.

    Algorithm 3 of BTT18 and step 4 of PATE-PSQ (Algorithm 3 of LZCW21) do this, because their bounds count an
    abstention as one wrong label. The choice must not look at data: a fixed class, or coins of a known seed.
    """

    fill: int | Literal["random"] = 0
    name: ClassVar[str] = "imputed"

    def __post_init__(self) -> None:
        if self.fill != "random" and (isinstance(self.fill, bool) or not isinstance(self.fill, int)):
            raise InvalidParameter(f"fill is {self.fill!r}; give the number of a class, or 'random'.")

    def fit(self, learning: Learning, lesson: Lesson) -> Any:
        n, n_classes = len(lesson.codes), len(lesson.classes)
        if self.fill == "random":
            arbitrary = np.random.default_rng(lesson.seed).integers(n_classes, size=n, dtype=np.int32)
        elif 0 <= self.fill < n_classes:
            arbitrary = np.full(n, self.fill, dtype=np.int32)
        else:
            raise InvalidParameter(f"fill is {self.fill}; the classes are numbered from 0 to {n_classes - 1}.")
        return fit_model(learning, lesson.relabelled(np.where(lesson.codes == ABSTAIN, arbitrary, lesson.codes)))
