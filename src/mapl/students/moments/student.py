"""A student of moments: the linear model itself, on images beside a kernel, or a learner that it taught."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mapl.data.encoding.public_encoder import PublicEncoder
from mapl.data.moments.feature_map import UNIT
from mapl.data.moments.row_map import RowMap
from mapl.data.tables.classes import Classes
from mapl.data.tables.number_range import NumberRange
from mapl.data.tables.rows import Rows, is_matrix, n_rows, take
from mapl.data.tables.schema import Schema
from mapl.students.auto import learner_of_student
from mapl.students.fitting import fit_model
from mapl.students.lesson import Lesson
from mapl.students.moments.linear import LinearStudent
from mapl.students.moments.numbers import LinearNumbers
from mapl.students.student import Student
from mapl.teachers.learners.spelling import natural
from mapl.types import Floats

STRATEGY = "moments"
LINEAR = "auto: linear model of moments"
BLENDED = "auto: linear model of moments beside a kernel"
NEGLIGIBLE = 1e-3


@dataclass(frozen=True, slots=True, eq=False)
class MomentsLesson:
    """What a student is made of: the public map, and the weights of the model that the sums led to."""

    vectors: RowMap
    weights: Floats
    level: float = 0.0

    def scores(self, rows: Rows) -> Floats:
        """Return a score for every row and class; a single one where labels are numbers."""
        return self.vectors(rows) @ self.weights / UNIT + self.level


@dataclass(frozen=True, slots=True, eq=False)
class MomentsStudent:
    """How a student is made of moments: who learns, and what was declared about the rows."""

    classes: Classes
    schema: Schema
    learner: Any = None
    number_range: NumberRange | None = None

    def train(self, rows: Rows, lesson: MomentsLesson) -> Student:
        """Make the student of a lesson, and of public rows where it is taught; that is post-processing."""
        linear = self._linear(lesson)
        name, model = LINEAR, linear
        if self.learner is None and self.number_range is None and sees_images(lesson.vectors.encoder):
            name, model = BLENDED, self._blended(rows, linear)
        elif self.learner is not None:
            taught = self._taught(rows, np.asarray(linear.predict_proba(rows)))
            learning = learner_of_student(self.learner, taught, self.schema, None)
            name, model = learning.name, fit_model(learning, taught)
        return Student(
            model=model,
            classes=self.classes,
            schema=self.schema,
            learner=name,
            strategy=STRATEGY,
            n_labels=n_rows(rows),
            on_matrix=is_matrix(rows),
            number_range=self.number_range,
        )

    def _linear(self, lesson: MomentsLesson) -> Any:
        from sklearn.pipeline import Pipeline

        turn, known = lesson.vectors.features.turn, self.number_range
        if known is None:
            last: Any = LinearStudent(turn, lesson.weights, natural(self.classes))
        else:
            last = LinearNumbers(turn, lesson.weights, lesson.level, known.low, known.high)
        return Pipeline([("encode", lesson.vectors.encoder), ("model", last)])

    def _blended(self, rows: Rows, linear: Any) -> Any:
        from sklearn.pipeline import Pipeline

        from mapl.students.images.blend import BlendStudent

        encoder, last = linear.steps[0][1], linear.steps[-1][1]
        model = BlendStudent(last, encoder.n_spectral).fit(encoder.transform(rows))
        return Pipeline([("encode", encoder), ("model", model)])

    def _taught(self, rows: Rows, chances: Floats) -> Lesson:
        """Return one copy of a row for every class, weighted by its probability."""
        row, code = np.nonzero(chances > NEGLIGIBLE)
        weights = chances[row, code]
        return Lesson(take(rows, row), code.astype(np.int32), self.classes, weights=weights / weights.mean())


def sees_images(encoder: Any) -> bool:
    """Say whether an encoder is one of images, with columns beside them or not, and without texts."""
    return isinstance(encoder, PublicEncoder) and bool(encoder.lens)
