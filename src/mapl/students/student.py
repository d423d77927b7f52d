"""A student: a model that learned from public rows and released labels only, so it may be published."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mapl.data.drafts.draft_schema import draft_schema
from mapl.data.reading.conform import conform
from mapl.data.reading.entries import numbers, pixels
from mapl.data.tables.classes import Classes
from mapl.data.tables.number_range import NumberRange
from mapl.data.tables.rows import Rows, check_rows, column, is_matrix, n_rows, names, select
from mapl.data.tables.schema import Schema
from mapl.errors import InvalidData, InvalidParameter
from mapl.students.fitting import hand_over
from mapl.students.lesson import Lesson
from mapl.students.model_failures import check_answers, refuse_failures
from mapl.students.probabilities.scale import ScoreScale
from mapl.students.probabilities.scores import certain_codes, class_scores, raw_chances
from mapl.teachers.learners.spelling import natural

if TYPE_CHECKING:
    from mapl.data.encoding.encoder import Encoder
    from mapl.students.file.stated_promise import StatedPromise
    from mapl.students.probabilities.by_votes import VoteLaw
    from mapl.students.strategies.names import Strategy


@dataclass(frozen=True, slots=True, eq=False)
class Student:
    """A published model with everything that it takes to use it: its classes and the columns it expects.

    Its predictions are free: they are computed from what was released before. ``warnings`` says in words what
    its user should know, for example that it knows one class only. ``number_range`` is there where it predicts
    numbers, which lie in it; the classes are the ends of the range then.
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
    scale: ScoreScale | None = None
    """What makes probabilities of the model's scores; those of the model itself where it is missing."""
    class_weights: tuple[float, ...] | None = None
    """What probabilities are multiplied by before the largest one decides; nothing where it is missing."""
    number_range: NumberRange | None = None
    promise: StatedPromise | None = None
    """What the statement that belongs to it promises; files that are older than this have none."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that rows must have; a matrix has them in this order."""
        return self.schema.names

    def predict(self, rows: Any) -> NDArray[Any]:
        """Return the class name predicted for each row, as a whole number where all names are such; or a number."""
        if self.number_range is not None:
            return self.predict_numbers(rows)
        return np.asarray(natural(self.classes)[self.predict_codes(rows)])

    def predict_numbers(self, rows: Any) -> NDArray[np.float64]:
        """Return the number predicted for each row, where labels are numbers."""
        if self.number_range is None:
            raise InvalidParameter("The student predicts classes and no numbers; ask it to predict.")
        ready = self._ready(rows)
        with refuse_failures(self.learner):
            told = np.asarray(self.model.predict(hand_over(self.model, ready)), dtype=np.float64)
            return check_answers(told, n_rows(ready))

    def predict_codes(self, rows: Any) -> NDArray[np.int64]:
        """Return the number of the class predicted for each row, counting the declared classes from 0."""
        self._refuse_numbers()
        if self.scale is None and self.class_weights is None:
            ready = self._ready(rows)
            with refuse_failures(self.learner):
                return certain_codes(self.model, ready, self.classes)
        weights = 1.0 if self.class_weights is None else np.array(self.class_weights)
        return np.asarray((self.predict_proba(rows) * weights).argmax(axis=1))

    def predict_proba(self, rows: Any) -> NDArray[np.float64]:
        """Return a probability for each row and declared class.

        A model without probabilities has the softmax of its scores, and one without scores 0.9 for the class that
        it predicts; both are mended by the student's scale, where what was released gave one.
        """
        self._refuse_numbers()
        ready = self._ready(rows)
        with refuse_failures(self.learner):
            if self.scale is None:
                told = raw_chances(self.model, ready, self.classes)
            else:
                told = self.scale(class_scores(self.model, ready, self.classes))
            return check_answers(told, n_rows(ready), len(self.classes))

    def _refuse_numbers(self) -> None:
        if self.number_range is not None:
            raise InvalidParameter(
                f"The student predicts numbers, {self.number_range}, which have neither classes nor probabilities; "
                "ask for predictions alone."
            )

    def _ready(self, rows: Any) -> Rows:
        """Return the student's columns of some rows in the form that it was trained on."""
        rows = check_rows(rows, "rows to predict")
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
        ready = conform(rows, self.schema, "rows to predict", public=True)
        if self.on_matrix and not is_matrix(ready):
            return np.column_stack([_numbers(column(ready, one.name), one.width) for one in self.schema.columns])
        return ready

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
    law: VoteLaw | None = None,
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
        The encoder of the run (`mapl.data.encoding.choice`); made from these rows where it is missing.
    weights
        How much each row counts.
    law
        How labels were released, where probabilities are to be shares of votes instead of chances of labels.
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
    from mapl.students.auto import learner_of_student  # what only training needs takes long to import
    from mapl.students.probabilities.by_votes import scale_by_votes
    from mapl.students.strategies.names import strategy_of

    strategy_of(strategy)  # so that a name that does not exist is told first
    rows = check_rows(questions, "public rows")
    schema = draft_schema(rows, classes=classes.names) if schema is None else schema
    rows = conform(rows, schema, "public rows", public=True)
    lesson = Lesson.checked(rows, labels, classes, weights=weights, seed=seed)
    learning = learner_of_student(learner, lesson, schema, encoder)
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
        scale=None if law is None else scale_by_votes(partial(way.fit, learning), lesson, law),
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
