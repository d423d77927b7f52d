"""Votes that were counted on a public sample, carried over to other numbers of rows and of teachers."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from mapl.errors import InvalidParameter
from mapl.planning.votes.hidden_chances import chances_behind
from mapl.planning.votes.learning_curve import LearningCurve
from mapl.planning.votes.model import ExpectedVotes, with_luck
from mapl.planning.votes.scores import ScoreModel, correlation_of, noise_of
from mapl.types import positive_integer

LEAST_POWER = 0.3
"""Errors fall at least like this power of the variance."""


@dataclass(frozen=True, slots=True, eq=False)
class CountedVotes:
    """Votes of teachers that each learned from a random part of one public sample, on rows that they did not see.

    Parameters
    ----------
    rows
        How many rows a teacher learned from.
    pool
        How many rows the sample has.
    n_teachers
        How many teachers there were.
    asked
        The places of the questions in the sample.
    counts
        Votes by question and class; not every teacher votes on every question.
    truth
        The label of each question.
    """

    rows: int
    pool: int
    n_teachers: int
    asked: NDArray[np.int64]
    counts: NDArray[np.int64]
    truth: NDArray[np.int64]

    scores: ScoreModel = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "scores", chances_behind(self.counts, self.truth))


@dataclass(frozen=True, slots=True, eq=False)
class MeasuredVotes:
    """A learner's curve and its votes at some numbers of rows, all from public rows.

    Teachers of a run learn from disjoint rows, those that were counted from parts of one sample, which makes them
    more alike: each part has a share m / P of the sample in common with the others, so their noise is smaller by
    the factor sqrt(1 - m / P). That factor, and the one for another number of rows than was counted, which comes
    from the curve, act on the normal quantile of the winner's share against the runner-up.
    """

    curve: LearningCurve
    n_classes: int
    counted: tuple[CountedVotes, ...]

    def votes(self, rows_per_teacher: float, n_teachers: int) -> ExpectedVotes:
        """Return the votes to expect of K teachers that learn from n/K rows each."""
        positive_integer(n_teachers=n_teachers)
        if not 0 < rows_per_teacher < math.inf:
            raise InvalidParameter(f"A teacher learns from {rows_per_teacher:g} rows; it needs a positive number.")
        nearest = self.nearest(rows_per_teacher)
        alike = math.sqrt(1 - nearest.rows / nearest.pool)
        better = self._noise(nearest.rows) / self._noise(rows_per_teacher)
        found = with_luck(_multiplied(nearest.scores, alike * better), n_teachers, self.n_classes)
        return _corrected(found, self.gain(rows_per_teacher, n_teachers))

    def nearest(self, rows_per_teacher: float) -> CountedVotes:
        """Return the votes of teachers with the most similar number of rows."""
        return min(self.counted, key=lambda one: abs(math.log(one.rows / rows_per_teacher)))

    def gain(self, rows_per_teacher: float, n_teachers: int) -> float:
        """Return how much more often the winner of a run will be right than that of the teachers who were counted.

        The latter go astray together as far as their parts overlap and they are few. A learner on m rows goes
        astray by some variance v; J teachers on parts of P rows by v (m / P + 1 / J), which is what one learner
        does on m / (m / P + 1 / J) rows. So the curve tells what K teachers on disjoint parts gain.
        """
        few, many = self._worth(rows_per_teacher, n_teachers)
        return max(self.curve.error(few) - self.curve.error(many), 0.0)

    def student_gain(self, rows_per_teacher: float, n_teachers: int, student_accuracy: float) -> float:
        """Return how much more accurate a student of the run's votes will be than one of the votes counted here.

        Less than `gain` where the student lacks most by itself, having few labels. What a learner lacks falls like
        variance to some power c, which the curve tells, and variances add up: the student's is its teachers' and
        its own.
        """
        few, many = self._worth(rows_per_teacher, n_teachers)
        counted, run = (max(self.curve.error(rows) - self.curve.floor, 1e-9) for rows in (few, many))
        lacking = 1 - student_accuracy - self.curve.floor
        if counted <= run or lacking <= counted:
            return max(counted - run, 0.0)
        c = min(max(math.log(counted / run) / math.log(many / few), LEAST_POWER), 1.0)
        return float(lacking - (lacking ** (1 / c) - counted ** (1 / c) + run ** (1 / c)) ** c)

    def _worth(self, rows_per_teacher: float, n_teachers: int) -> tuple[float, float]:
        """Return on how many rows one learner goes astray as far as the counted teachers, and as the run's, do."""
        nearest = self.nearest(rows_per_teacher)
        astray = nearest.rows / nearest.pool + 1 / nearest.n_teachers + 1 / n_teachers
        return nearest.rows / astray, rows_per_teacher * n_teachers

    def _noise(self, rows: float) -> float:
        label = correlation_of(self.curve.floor, self.n_classes)
        both = correlation_of(max(self.curve.error(rows), self.curve.floor), self.n_classes)
        # Never quite without noise, or a curve that is flat would make all teachers agree at once.
        return max(noise_of(both / label if label > 0 else 0.0), 1e-3)


def _multiplied(scores: ScoreModel, factor: float) -> ScoreModel:
    """Return the scores with the normal quantile of the winner's share against the runner-up multiplied."""
    from scipy.special import ndtr, ndtri

    both = scores.first + scores.second
    first = ndtr(ndtri(scores.first / both) * factor) * both
    return replace(scores, first=first, second=both - first)


def _corrected(votes: ExpectedVotes, gain: float) -> ExpectedVotes:
    """Return the votes with the winner right more often, most where it is least sure."""
    right = np.array(votes.right)
    unsure = right * (1 - right)
    room = float(votes.agreement.weights() @ unsure)
    if gain <= 0 or room == 0:
        return votes
    better = right + unsure * min(gain / room, 1.0)
    rest = (1 - better) / np.maximum(1 - right, 1e-12)
    second = 1 - right if votes.second_right is None else np.array(votes.second_right)
    return ExpectedVotes(votes.agreement, tuple(better.tolist()), tuple((second * rest).tolist()))
