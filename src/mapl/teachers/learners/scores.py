"""Teachers that send scores instead of votes: how probable each finds the second class, in whole steps."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mapl.data.tables.rows import Rows, n_rows
from mapl.errors import GuaranteeBroken, InvalidData, InvalidParameter
from mapl.mechanisms.scores.scores import TOP, Marks, Scores
from mapl.teachers.checkpoint import broken_ballot, read_arrays, write_arrays
from mapl.teachers.learners.estimator import EstimatorLearner, FittedEstimator
from mapl.teachers.learners.function import FittedFunction, FunctionLearner
from mapl.teachers.learners.learner import Learner
from mapl.teachers.learners.spelling import codes_of, one_per_row
from mapl.types import MAX_TEACHERS, Labels, Silent, positive_integer

FALLBACK_SCORE = TOP // 2
"""The score that could not be read, and every score of a teacher that failed. It depends on no data."""

UNREADABLE = -1


@dataclass(frozen=True, slots=True)
class ScoreLearner:
    """Trains what another learner trains, and asks it for probabilities of the second declared class.

    An estimator needs predict_proba, or a decision_function that regresses on -1 and 1 as ridge does; a function
    ``train(X, y)`` returns one that maps rows to probabilities.
    """

    inner: EstimatorLearner | FunctionLearner
    n_answers: ClassVar[int] = TOP + 1

    @property
    def name(self) -> str:
        return self.inner.name

    def prepare(self, questions: Rows) -> Rows:
        return self.inner.prepare(questions)

    def train(self, rows: Rows, labels: Labels, *, n_classes: int, seed: int) -> FittedScorer:
        return FittedScorer(self.inner.train(rows, labels, n_classes=n_classes, seed=seed))


@dataclass(frozen=True, slots=True, repr=False)
class FittedScorer(Silent):
    """A fitted teacher that is asked for probabilities. Private."""

    teacher: FittedEstimator | FittedFunction

    def __call__(self, rows: Rows) -> NDArray[np.int64]:
        if isinstance(self.teacher, FittedFunction):
            told = one_per_row(self.teacher.predict(rows), n_rows(rows))
        else:
            told = _of_second(self.teacher, rows)
        return in_steps(np.asarray(told, dtype=np.float64))


def in_steps(probabilities: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return whole scores; what is no number at all becomes UNREADABLE, what is outside 0 .. 1 is cut off."""
    known = ~np.isnan(probabilities)
    steps = np.rint(np.clip(np.where(known, probabilities, 0.0), 0.0, 1.0) * TOP)
    return np.asarray(np.where(known, steps.astype(np.int64), UNREADABLE))


def refuse_unscored(learner: Learner) -> EstimatorLearner | FunctionLearner:
    """Return a learner whose teachers have scores, or refuse it before any private row is read."""
    if isinstance(learner, FunctionLearner):
        return learner
    if not isinstance(learner, EstimatorLearner) or not _has_scores(learner.estimator):
        raise InvalidParameter(
            f"The learner {learner.name} tells no probabilities; take one that has predict_proba, such as "
            "logistic, nb or forest, or ridge."
        )
    return learner


def _has_scores(estimator: Any) -> bool:
    return hasattr(estimator, "predict_proba") or _regresses(estimator)


def _regresses(estimator: Any) -> bool:
    """Say whether a decision_function is a regression on -1 and 1, half of which and a half is a probability."""
    from sklearn.linear_model import RidgeClassifier, RidgeClassifierCV
    from sklearn.pipeline import Pipeline

    last = estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator
    return isinstance(last, (RidgeClassifier, RidgeClassifierCV))


def _of_second(teacher: FittedEstimator, rows: Rows) -> NDArray[np.float64]:
    """Return the probability of the second declared class, by its place among the teacher's own classes."""
    shares, codes = shares_of(teacher, rows)
    return shares[:, int(np.flatnonzero(codes == 1)[0])]


def shares_of(teacher: FittedEstimator, rows: Rows) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """Return probabilities of the classes that a teacher has met, and which of the declared classes these are."""
    model = teacher.estimator
    if not hasattr(model, "predict_proba"):
        towards = np.asarray(model.decision_function(rows), dtype=np.float64)
        both = np.column_stack([-towards, towards]) if towards.ndim == 1 else towards
        shares = (1 + both) / 2
    else:
        shares = np.asarray(model.predict_proba(rows), dtype=np.float64)
    if teacher.present is not None:
        codes = teacher.present
    else:
        codes = codes_of(model.classes_, teacher.classes, shares.shape[1])
    return shares, codes


class ScoreBallot:
    """Keeps the scores of K teachers on the same questions. Private, and silent about it.

    One teacher has exactly one score per question, in its own column. So two ballots that differ in one teacher
    differ in one column.
    """

    __slots__ = ("_heard", "_marks")

    def __init__(self, n_questions: int, n_teachers: int) -> None:
        positive_integer(n_questions=n_questions, n_teachers=n_teachers)
        if n_teachers > MAX_TEACHERS:
            raise InvalidData(f"There are {n_teachers} teachers; mapl counts at most {MAX_TEACHERS}.")
        self._marks: Marks = np.full((n_teachers, n_questions), FALLBACK_SCORE, dtype=np.uint16)
        self._heard = np.zeros(n_teachers, dtype=np.bool_)

    @property
    def n_classes(self) -> int:
        return 2

    @property
    def n_questions(self) -> int:
        return self.n_numbers

    @property
    def n_numbers(self) -> int:
        """How many whole numbers a teacher sends."""
        return int(self._marks.shape[1])

    @property
    def n_teachers(self) -> int:
        return len(self._heard)

    @property
    def n_voted(self) -> int:
        """How many teachers have sent their scores, which says nothing about them."""
        return int(np.count_nonzero(self._heard))

    def cast(self, k: int, votes: NDArray[Any] | None) -> None:
        """Keep the scores of teacher k, or None if the teacher failed; what is no score is the fallback score."""
        if self._heard[k]:
            raise GuaranteeBroken("A teacher scored twice; its unit would count twice, so nothing can be promised.")
        if votes is not None and votes.shape != (self.n_numbers,):
            raise GuaranteeBroken("A teacher must score every question exactly once.")
        self._heard[k] = True
        if votes is not None:
            self._marks[k] = self._readable(votes.astype(np.int64))

    def _readable(self, whole: NDArray[np.int64]) -> Marks:
        return np.where((whole >= 0) & (whole <= TOP), whole, FALLBACK_SCORE).astype(np.uint16)

    def note_own_errors(self, k: int, wrong: int, tested: int) -> None:
        raise GuaranteeBroken("Teachers that send scores are not tested on their own rows.")

    def missing(self) -> list[int]:
        """Return the teachers that have not been heard yet."""
        return [int(k) for k in np.flatnonzero(~self._heard)]

    def scores(self) -> Scores:
        """Return all scores once every teacher was heard, and never before."""
        return Scores.checked(self._all_heard().T)

    def _all_heard(self) -> Marks:
        if not self._heard.all():
            raise GuaranteeBroken("Not every teacher was heard; scores of some of them must not be released.")
        return self._marks

    def save(self, path: Path) -> None:
        """Write a checkpoint that only its owner may read; a crash leaves the old one or the new one."""
        write_arrays(path, marks=self._marks, heard=self._heard)

    @classmethod
    def load(cls, path: Path) -> ScoreBallot:
        """Read a checkpoint that `save` wrote."""
        marks, heard = cls._stored(path)
        ballot = cls(marks.shape[1], marks.shape[0])
        ballot._marks, ballot._heard = marks, heard
        return ballot

    @staticmethod
    def _stored(path: Path) -> tuple[Marks, NDArray[np.bool_]]:
        marks, heard = read_arrays(path, "marks", "heard")
        whole = marks.ndim == 2 and marks.dtype == np.uint16 and heard.dtype == np.bool_
        if not whole or heard.shape != marks.shape[:1] or marks.max(initial=0) > TOP:
            raise broken_ballot(path)
        return marks, heard

    def __repr__(self) -> str:
        return f"ScoreBallot({self.n_questions} questions, private)"
