"""What a unit that judges thinks of a student: a whole number, at most what the choice is priced for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

import numpy as np

from mapl.data.tables.rows import Rows
from mapl.students.probabilities.aim import ACCURACY, AUC, BALANCED, class_shares
from mapl.students.student import Student
from mapl.types import Integers, Labels

MOST_POINTS = {ACCURACY: 1, BALANCED: 16, AUC: 64}
"""How many points one unit has, by what students are judged by; the price of the choice grows with them, and so do
the points of everybody else."""


@dataclass(frozen=True, slots=True, eq=False)
class Judgement:
    """How units judge a student: by what is released and by their own record.

    Parameters
    ----------
    metric
        "accuracy": a point where its label is predicted. "balanced": as many points as its class weighs. "auc": how
        near the probabilities are to what is so, by their squared distance: areas under curves compare units with
        each other and are no sums over them, while of two students the one with the nearer probabilities ranks
        better as a rule.
    class_points
        What a unit of each class has where the metric is balanced.
    """

    metric: str = ACCURACY
    class_points: Integers | None = None

    @classmethod
    def among(cls, metric: str, students: Iterable[Student | None], public: Rows) -> Self:
        """Let all students be judged alike: how rare a class is they tell together, of PUBLIC rows."""
        if metric != BALANCED:
            return cls(metric)
        told = [class_shares(student, public) for student in students if student is not None]
        if not told:
            return cls(metric, np.zeros(0, np.int64))
        shares = np.mean(told, axis=0)
        points = np.rint(MOST_POINTS[BALANCED] * shares.min() / shares).astype(np.int64)
        return cls(metric, np.maximum(points, 1))

    def points(self, student: Student, rows: Rows, labels: Labels) -> Integers:
        """Return the points of each unit, whatever a student does between 0 and `MOST_POINTS`. Private."""
        most = MOST_POINTS[self.metric]
        if self.metric == AUC:
            so = labels[:, None] == np.arange(len(student.classes))
            near = 1 - ((student.predict_proba(rows) - so) ** 2).sum(axis=1) / 2
            given = np.floor(most * np.nan_to_num(near, nan=0.0))
        else:
            hits = student.predict_codes(rows) == labels
            given = hits * (1 if self.class_points is None else self.class_points[labels])
        return np.asarray(np.clip(given, 0, most), dtype=np.int64)
