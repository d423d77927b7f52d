"""Probabilities of a student of teachers: the shares of votes that released labels speak for.

A released label is the winner of a vote, or what noise makes of it. With little noise labels are certain where
teachers are merely of one mind, and with much noise they are doubtful where these are certain: how sure a student
of labels is says more about the budget than about the world. The law of the mechanism is public, so it can be
turned round, from how often a class is released to the share of teachers that vote for it. These shares are what
probabilities are held to. They are the teachers' opinion: of a class for which none ever votes labels tell nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.special import softmax

from mapl.students.lesson import Lesson
from mapl.students.probabilities.line import Totals, find_line
from mapl.students.probabilities.scale import ScoreScale
from mapl.students.probabilities.scores import class_scores
from mapl.types import Floats, State, Tallies

ANSWER_ALL = ("link", "noisy-max", "permute-and-flip")
"""Mechanisms that label every question, each by itself: others choose which ones, and their labels say less."""

N_SHARES = 201
N_PARTS = 2
FEWEST_LABELS = 100
STEEPEST = 30.0
EXACT = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class VoteLaw:
    """How often a class is released against one other, by its share of the votes for both."""

    shares: Floats
    chances: Floats

    @classmethod
    def of(cls, mechanism: Any, n_teachers: int, n_classes: int) -> Self | None:
        """Read the law off a mechanism, None where it may leave questions out."""
        if mechanism.name not in ANSWER_ALL:
            return None
        votes = np.unique(np.linspace(0, n_teachers, min(N_SHARES, n_teachers + 1)).round().astype(np.int64))
        counts = np.zeros((len(votes), n_classes), np.int64)
        counts[:, 0], counts[:, 1] = n_teachers - votes, votes
        told = mechanism.chances(Tallies.checked(counts), State())[:, :2]
        chances = np.maximum.accumulate(told[:, 1] / told.sum(axis=1))
        # One vote more or less stands for none and all: no share is certain.
        return cls((votes + 0.5) / (n_teachers + 1), chances)

    def votes_for(self, chances: Floats) -> Floats:
        """Return the shares of votes behind chances of labels: how far each class is behind the likeliest one."""
        against = chances / (chances + chances.max(axis=1, keepdims=True))
        behind = 1 - 2 * np.interp(against, self.chances, self.shares)
        leading = (1 + behind.sum(axis=1, keepdims=True)) / chances.shape[1]
        shares = np.maximum(leading - behind, self.shares[0])
        return np.asarray(shares / shares.sum(axis=1, keepdims=True))


def scale_by_votes(fit: Callable[[Lesson], Any], lesson: Lesson, law: VoteLaw) -> ScoreScale | None:
    """Return what makes shares of votes of scores, by labels that models did not learn from.

    Parameters
    ----------
    fit
        Makes a model of a lesson.
    """
    known = lesson.part(np.flatnonzero(lesson.answered))
    n_labels, n_classes = len(known.codes), len(known.classes)
    if n_labels < FEWEST_LABELS or len(np.unique(known.codes)) < n_classes:
        return None
    parts = np.random.default_rng(known.seed).permutation(n_labels) % N_PARTS
    scores = np.zeros((n_labels, n_classes))
    for number in range(N_PARTS):
        unseen = known.part(np.flatnonzero(parts == number))
        try:
            model = fit(known.part(np.flatnonzero(parts != number)))
            scores[parts == number] = class_scores(model, unseen.rows, known.classes)
        except ValueError:  # a learner for which half of the labels are too few keeps its own probabilities
            return None
    counts = np.full(n_labels, 1 / n_labels)
    slope, offsets = find_line(scores, counts, _totals(scores, np.eye(n_classes)[known.codes], 1 / n_labels))
    shares = law.votes_for(softmax(slope * scores + offsets, axis=1))
    slope, offsets = find_line(scores, counts, _totals(scores, shares, EXACT), steepest=STEEPEST)
    return ScoreScale(slope, tuple(offsets.tolist()))


def _totals(scores: Floats, labels: Floats, noise: float) -> Totals:
    n_classes = scores.shape[1]
    return Totals(
        slope=float((labels * scores).sum(axis=1).mean()),
        classes=labels.mean(axis=0) - 1 / n_classes,
        slope_noise=noise * float((scores**2).mean()),
        class_noise=np.full(n_classes, noise / n_classes),
    )
