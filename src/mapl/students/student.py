"""A student: a model that learned from public rows and released labels only, so it may be published."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mapl.data.classes import UNKNOWN, Classes
from mapl.data.conform import conformed
from mapl.data.entries import numbers, pixels
from mapl.data.rows import Rows, checked, column, is_matrix, names, select
from mapl.data.schema import Schema, draft
from mapl.errors import InvalidData, InvalidParameter
from mapl.students.auto import learning_of
from mapl.students.fitting import handed, predicted_codes
from mapl.students.lesson import Lesson
from mapl.students.strategies import Strategy, strategy_of
from mapl.teachers.spelling import codes_of, natural

if TYPE_CHECKING:
    from mapl.data.encoder import Encoder


@dataclass(frozen=True, slots=True, eq=False)
class Student:
    """A published model with everything that it takes to use it: its classes and the columns it expects.

    Its predictions are free: they are computed from what was released before. ``warnings`` says in words what
    its user should know, for example that it knows one class only.
    """

    model: Any
    classes: Classes
    schema: Schema
    learner: str
    strategy: str
    n_labels: int
    on_matrix: bool
    warnings: tuple[str, ...] = ()
    statement_sha256: str | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that rows must have; a matrix has them in this order."""
        return self.schema.names

    def predict(self, rows: Any) -> NDArray[Any]:
        """Return the class name predicted for each row, as a whole number where all names are such."""
        return np.asarray(natural(self.classes)[self.predict_codes(rows)])

    def predict_codes(self, rows: Any) -> NDArray[np.int64]:
        """Return the number of the class predicted for each row, counting the declared classes from 0."""
        codes = predicted_codes(self.model, self._ready(rows), self.classes)
        if (codes == UNKNOWN).any():
            raise InvalidData(
                f"The student's model answered with something else than its {len(self.classes)} classes; it must "
                "predict the labels that it was trained on."
            )
        return codes

    def predict_proba(self, rows: Any) -> NDArray[np.float64]:
        """Return a probability for each row and declared class, zero for a class the model never met."""
        if not hasattr(self.model, "predict_proba"):
            raise InvalidParameter(
                f"The student {self.learner} predicts classes without probabilities; train one that has them, for "
                "example logistic."
            )
        known = np.asarray(self.model.predict_proba(handed(self.model, self._ready(rows))), dtype=np.float64)
        shares = np.zeros((len(known), len(self.classes)))
        shares[:, codes_of(self.model.classes_, self.classes, known.shape[1])] = known
        return shares

    def _ready(self, rows: Any) -> Rows:
        """Return the student's columns of some rows in the form that it was trained on."""
        rows = checked(rows, "rows to predict")
        given = names(rows)
        if given is not None:
            missing = [name for name in self.columns if name not in given]
            if missing:
                raise InvalidData(
                    f"The rows to predict lack {_listed(missing)}; the student was trained with "
                    f"{_listed(self.columns)}. Add what is missing, empty where unknown; other columns are ignored."
                )
            rows = select(rows, self.columns)
        else:
            self._check_matrix(rows)
        rows = conformed(rows, self.schema, "rows to predict")
        if self.on_matrix and not is_matrix(rows):
            return np.column_stack([_numbers(column(rows, one.name), one.width) for one in self.schema.columns])
        return rows

    def _check_matrix(self, rows: Rows) -> None:
        width = sum(one.width for one in self.schema.columns)
        if not (self.on_matrix or self.schema.columns[0].kind == "image"):
            raise InvalidData(
                f"The rows to predict are a matrix; the student was trained on a table with "
                f"{_listed(self.columns)}. Give a DataFrame or a pyarrow Table with these columns."
            )
        if rows.shape[1] != width:
            raise InvalidData(
                f"The rows to predict have {rows.shape[1]} columns; the student was trained with {width}. Give the "
                "same columns in the same order."
            )


def train_student(
    questions: Rows,
    labels: NDArray[Any],
    *,
    classes: Classes,
    learner: Any = None,
    strategy: str | Strategy = "auto",
    schema: Schema | None = None,
    encoder: Encoder | None = None,
    weights: NDArray[Any] | None = None,
    seed: int = 0,
) -> Student:
    """Train a student on public rows and their released labels.

    Parameters
    ----------
    questions
        The public rows that were asked, without a label column.
    labels
        A class number per row, ABSTAIN (-1) where no label was released; rows past the end count as not answered.
    learner
        A preset's name, an unfitted estimator with fit and predict, or None for what suits noisy labels best
        (`auto`).
    strategy
        "auto", "plain", "imputed", "self-training", "voting", "cleaned", or one of these with
        settings, such as ``Voting(25)``.
    schema
        What the columns are; drafted from the public rows where it is missing.
    encoder
        The encoder of the run (`mapl.data.encoding`); made from these rows where it is missing.
    weights
        How much each row counts.
    seed
        Steers learners, bootstrap samples and arbitrary labels. None of them protects anybody.

    Raises
    ------
    InvalidData
        If no label was released, or labels and rows do not fit together.
    InvalidParameter
        If there is no such learner or strategy, or it cannot be fitted.

    Notes
    -----
    Guarantee: none of its own and none needed. What is computed from released labels and public rows is
    post-processing and keeps the release's (epsilon, delta).
    """
    strategy_of(strategy)  # so that a name that does not exist is told first
    rows = checked(questions, "public rows")
    schema = draft(rows, classes=classes.names) if schema is None else schema
    rows = conformed(rows, schema, "public rows")
    lesson = Lesson.checked(rows, labels, classes, weights=weights, seed=seed)
    learning = learning_of(learner, lesson, schema, encoder)
    way = strategy_of(strategy, schema)
    model = way.fit(learning, lesson)
    return Student(
        model=model,
        classes=classes,
        schema=schema,
        learner=learning.name,
        strategy=way.name,
        n_labels=int(lesson.answered.sum()),
        on_matrix=is_matrix(rows),
        warnings=_warnings(lesson),
    )


def _warnings(lesson: Lesson) -> tuple[str, ...]:
    present = np.unique(lesson.codes[lesson.answered])
    met = [lesson.classes.names[code] for code in present]
    if len(met) == len(lesson.classes):
        return ()
    if len(met) == 1:
        return (
            f"All {int(lesson.answered.sum())} released labels say {met[0]!r}, so the student always says that. "
            "To learn more, take a larger epsilon, fewer questions, or another learner for the teachers.",
        )
    never = [name for name in lesson.classes.names if name not in met]
    return (f"No released label says {', '.join(map(repr, never))}, so the student never predicts it.",)


def _numbers(cells: Any, width: int) -> NDArray[Any]:
    """Return a column as the part of a matrix that it stands for: one number per row, or the pixels of an image."""
    return numbers(cells) if width == 1 else pixels(cells, width)


def _listed(columns: Any, most: int = 8) -> str:
    more = f" and {len(columns) - most} more" if len(columns) > most else ""
    return ("columns " if len(columns) > 1 else "column ") + ", ".join(map(repr, columns[:most])) + more
