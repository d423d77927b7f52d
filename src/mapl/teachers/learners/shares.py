"""Teachers that send a share for every class instead of a vote: how probable each finds it, in whole steps."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from mapl.data.tables.classes import Classes
from mapl.data.tables.rows import Rows, n_rows
from mapl.errors import InvalidData
from mapl.mechanisms.scores.scores import TOP, Marks
from mapl.mechanisms.scores.shares import Shares, even_shares
from mapl.teachers.checkpoint import broken_ballot
from mapl.teachers.learners.estimator import EstimatorLearner, FittedEstimator
from mapl.teachers.learners.function import FittedFunction, FunctionLearner
from mapl.teachers.learners.learner import Learner
from mapl.teachers.learners.scores import UNREADABLE, ScoreBallot, ScoreLearner, refuse_unscored, shares_of
from mapl.types import Labels, Silent


@dataclass(frozen=True, slots=True)
class ShareLearner:
    """Trains what another learner trains, and asks it for probabilities of all declared classes.

    An estimator needs predict_proba, or a decision_function that regresses on -1 and 1 as ridge does; a function
    ``train(X, y)`` returns one that maps rows to a column of probabilities for each class.
    """

    inner: EstimatorLearner | FunctionLearner
    n_classes: int
    n_answers: ClassVar[int] = TOP + 1

    @property
    def name(self) -> str:
        return self.inner.name

    @property
    def numbers_each(self) -> int:
        """How many whole numbers a teacher sends for one question."""
        return self.n_classes

    def prepare(self, questions: Rows) -> Rows:
        return self.inner.prepare(questions)

    def train(self, rows: Rows, labels: Labels, *, n_classes: int, seed: int) -> FittedSharer:
        return FittedSharer(self.inner.train(rows, labels, n_classes=n_classes, seed=seed), n_classes)


@dataclass(frozen=True, slots=True, repr=False)
class FittedSharer(Silent):
    """A fitted teacher that is asked for probabilities of all classes. Private."""

    teacher: FittedEstimator | FittedFunction
    n_classes: int

    def __call__(self, rows: Rows) -> NDArray[np.int64]:
        if isinstance(self.teacher, FittedFunction):
            told = np.asarray(self.teacher.predict(rows), dtype=np.float64)
        else:
            shares, codes = shares_of(self.teacher, rows)
            told = np.zeros((n_rows(rows), self.n_classes))
            told[:, codes] = shares
        if told.shape != (n_rows(rows), self.n_classes):
            raise InvalidData(
                f"The probabilities of {n_rows(rows)} rows have shape {told.shape}; expected a column for each of "
                f"the {self.n_classes} classes."
            )
        return in_whole_shares(told).ravel()


def score_learner(learner: Learner, classes: Classes) -> ScoreLearner | ShareLearner:
    """Make a learner of scores, or refuse one whose teachers have none, before any private row is read."""
    inner = refuse_unscored(learner)
    return ScoreLearner(inner) if len(classes) == 2 else ShareLearner(inner, len(classes))


def in_whole_shares(probabilities: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return whole shares that add up to TOP in every row; a row that says nothing is UNREADABLE throughout.

    What is below 0 counts as 0, and every row is divided by its sum. Sums over the first classes are rounded.
    """
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        positive = np.where(probabilities > 0, probabilities, 0.0)
        up_to = np.cumsum(positive / positive.max(axis=1, keepdims=True), axis=1)
        steps = np.rint(up_to / up_to[:, -1:] * TOP)
    known = np.isfinite(probabilities).all(axis=1) & np.isfinite(steps).all(axis=1)
    whole = np.diff(np.where(known[:, None], steps, 0.0).astype(np.int64), axis=1, prepend=0)
    return np.asarray(np.where(known[:, None], whole, UNREADABLE))


class ShareBallot(ScoreBallot):
    """Keeps the shares of K teachers on the same questions. Private, and silent about it.

    One teacher has one point per question: shares that add up to TOP. So two ballots that differ in one teacher
    differ in one column of points.
    """

    __slots__ = ("_n_classes",)

    def __init__(self, n_questions: int, n_teachers: int, n_classes: int) -> None:
        super().__init__(n_questions * n_classes, n_teachers)
        self._n_classes = n_classes
        self._marks = np.tile(even_shares(n_classes), (n_teachers, n_questions))

    @property
    def n_classes(self) -> int:
        return self._n_classes

    @property
    def n_questions(self) -> int:
        return self.n_numbers // self._n_classes

    def _readable(self, whole: NDArray[np.int64]) -> Marks:
        """Return a teacher's points; one that is none says the same for every class."""
        points = whole.reshape(-1, self._n_classes)
        known = ((points >= 0) & (points <= TOP)).all(axis=1) & (points.sum(axis=1) == TOP)
        return np.where(known[:, None], points, even_shares(self._n_classes)).astype(np.uint16).ravel()

    def scores(self) -> Shares:
        """Return all shares once every teacher was heard, and never before."""
        marks = self._all_heard()
        points = marks.reshape(self.n_teachers, self.n_questions, self._n_classes)
        return Shares.checked(points.transpose(1, 0, 2))

    @classmethod
    def load_shares(cls, path: Path, n_classes: int) -> ShareBallot:
        """Read a checkpoint that `save` wrote."""
        marks, heard = cls._stored(path)
        if marks.shape[1] % n_classes:
            raise broken_ballot(path)
        ballot = cls(marks.shape[1] // n_classes, marks.shape[0], n_classes)
        ballot._marks, ballot._heard = marks, heard
        return ballot

    def __repr__(self) -> str:
        return f"ShareBallot({self.n_questions} questions, private)"
