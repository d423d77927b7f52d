"""A run played through on public rows alone: what a mechanism releases of public votes, and its student."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mapl.data.tables.rows import Rows, take
from mapl.errors import MaplError
from mapl.mechanisms import AnyMechanism, Task
from mapl.noise import SeededCoins
from mapl.planning.votes.measured import CountedVotes, MeasuredVotes
from mapl.release import aggregate
from mapl.teachers.learners.learner import Learner
from mapl.types import Labels, Tallies

REPEATS = 20, 200
"""How often a run is played through, at least and at most."""
SURE = 0.0025
"""It ends as soon as the standard error of the student's mean accuracy is below this."""
MOST_ASKED = 0.5
"""Of the public rows at most this share can be questions; the others test the student."""


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """Means over several runs that were played through: labels, and the student's accuracy on other public rows."""

    answered: float
    student_accuracy: float
    deviation: float
    """By how much the accuracy varied from run to run, as a standard deviation."""


def rehearse_run(
    learner: Learner,
    rows: Rows,
    labels: Labels,
    measured: MeasuredVotes,
    mechanism: AnyMechanism,
    task: Task,
    rows_per_teacher: float,
    *,
    repeats: tuple[int, int] = REPEATS,
    seed: int = 0,
) -> Rehearsal | None:
    """Let a mechanism release labels of public votes, train a student on them, and test it on other public rows.

    It sees what `mapl.planning.planner.student` assumes away: that easy questions are answered more often than
    others, and how a learner takes it. Votes are those of `measure_votes`, scaled to K teachers. Everything is
    public, so coins are seeded. None if the sample has too few rows to ask the planned number of questions.

    Parameters
    ----------
    learner
        The student's learner.
    rows, labels
        The public sample that was measured.
    repeats
        How often to play it through at least, and at most while the student's accuracy is unsure.
    """
    counted = measured.nearest(rows_per_teacher)
    n_asked = task.n_queries
    if n_asked > MOST_ASKED * len(counted.asked):
        return None
    votes = _scaled(counted, task.n_teachers)
    rng = np.random.default_rng(seed)
    answered: list[int] = []
    hits: list[float] = []
    fewest, most = repeats
    for run in range(most):
        if run >= fewest and np.std(hits) / math.sqrt(run) < SURE:
            break
        order = rng.permutation(len(counted.asked))
        asked, others = order[:n_asked], order[n_asked:]
        released = aggregate(Tallies(votes[asked]), mechanism, SeededCoins(int(rng.integers(2**31)))).labels
        known = np.flatnonzero(released >= 0)
        answered.append(len(known))
        questions = take(rows, counted.asked[others])
        lesson = take(rows, counted.asked[asked[known]])
        predicted = _taught(learner, lesson, released[known], questions, len(others), task.n_classes)
        hits.append(float((predicted == np.asarray(labels)[counted.asked[others]]).mean()))
    accuracy = float(np.mean(hits))
    gain = measured.student_gain(rows_per_teacher, task.n_teachers, accuracy)
    return Rehearsal(float(np.mean(answered)), min(accuracy + gain, 1.0), float(np.std(hits)))


def _scaled(counted: CountedVotes, n_teachers: int) -> NDArray[np.int64]:
    """Return the votes of each question as K votes, by largest remainders."""
    shares = counted.counts * (n_teachers / counted.counts.sum(axis=1, keepdims=True))
    whole = np.floor(shares).astype(np.int64)
    left = n_teachers - whole.sum(axis=1, keepdims=True)
    place = np.argsort(np.argsort(whole - shares, axis=1, kind="stable"), axis=1)
    scaled: NDArray[np.int64] = whole + (place < left)
    return scaled


def _taught(
    learner: Learner, lesson: Rows, labels: Labels, questions: Rows, n_questions: int, n_classes: int
) -> NDArray[np.int64]:
    """Return what a student predicts; one that saw one class, or fails, always says the most frequent one."""
    usual = int(np.bincount(labels, minlength=n_classes).argmax())
    if len(np.unique(labels)) > 1:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                return learner.train(lesson, labels, n_classes=n_classes, seed=0)(learner.prepare(questions))
            except (MaplError, ValueError, ArithmeticError):
                pass  # as in a run, in which such a student would be of no use
    return np.full(n_questions, usual, dtype=np.int64)
