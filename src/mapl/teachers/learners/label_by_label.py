"""Several labels of the same rows: a teacher sees its shard once, and learns every label from it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mapl.data.tables.classes import UNKNOWN
from mapl.data.tables.rows import Rows, n_rows, take
from mapl.teachers.learners.learner import Learner, Predict
from mapl.types import Labels, Silent


@dataclass(frozen=True, slots=True)
class LabelByLabel:
    """Trains the inner learner on each column of labels; all these models are one teacher.

    A ballot counts one vote per question, so questions are handed over label after label: all rows for the first
    label, all rows for the second, and so on (`repeat_questions`). They are prepared once.
    """

    inner: Learner
    n_labels: int

    @property
    def name(self) -> str:
        return f"{self.inner.name}, label by label"

    @property
    def own_process(self) -> bool:
        return bool(getattr(self.inner, "own_process", False))

    def prepare(self, questions: Rows) -> Rows:
        return self.inner.prepare(take(questions, np.arange(n_rows(questions) // self.n_labels, dtype=np.int64)))

    def train(self, rows: Rows, labels: Labels, *, n_classes: int, seed: int) -> FittedLabels:
        return FittedLabels(
            tuple(
                self._one(rows, np.ascontiguousarray(labels[:, j]), n_classes=n_classes, seed=seed)
                for j in range(self.n_labels)
            )
        )

    def _one(self, rows: Rows, column: Labels, *, n_classes: int, seed: int) -> Predict | int:
        """Learn one label: the only class that the shard has of it, or a model; UNKNOWN where that fails."""
        present = np.unique(column)
        if len(present) == 1:
            return int(present[0])
        try:
            return self.inner.train(rows, column, n_classes=n_classes, seed=seed)
        except Exception:  # one label that cannot be learned does not silence the teacher on the others
            return UNKNOWN


@dataclass(frozen=True, slots=True, repr=False)
class FittedLabels(Silent):
    """What a teacher learned about each label. Private."""

    each: tuple[Predict | int, ...]

    def __call__(self, rows: Rows) -> NDArray[np.int64]:
        return np.concatenate([self._votes(one, rows) for one in self.each])

    @staticmethod
    def _votes(one: Predict | int, rows: Rows) -> NDArray[np.int64]:
        fixed = np.full(n_rows(rows), one if isinstance(one, int) else UNKNOWN, dtype=np.int64)
        if isinstance(one, int):
            return fixed
        try:
            votes = np.asarray(one(rows)).astype(np.int64)
        except Exception:
            return fixed
        return votes if votes.shape == fixed.shape else fixed


def repeat_questions(questions: Rows, n_labels: int) -> Rows:
    """Return questions as `LabelByLabel` takes them: all of them, once for each label."""
    return take(questions, np.tile(np.arange(n_rows(questions), dtype=np.int64), n_labels))
