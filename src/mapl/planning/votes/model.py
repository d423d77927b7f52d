"""From a learning curve to votes: how large the winner's share will be, and how often the winner is right."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

import numpy as np

from mapl.errors import InvalidParameter
from mapl.planning.votes.agreement import Agreement
from mapl.planning.votes.learning_curve import LearningCurve
from mapl.planning.votes.sample import VoteSample
from mapl.planning.votes.scores import ScoreModel, correlation_of, scores_of
from mapl.types import Floats, positive_integer

GROUPS = 32
LUCK = 9
"""By so many quantiles the luck of K teachers on one question is represented."""


@dataclass(frozen=True, slots=True)
class ExpectedVotes:
    """What to expect of K teachers on one question, as groups of questions.

    Three things are told apart. The *agreement* among teachers says which questions can be answered privately. The
    winner may be *wrong* where teachers agree perfectly, because labels are noisy. What is *released* may differ
    from the winner, which `mapl.planning.choosing.expectation` tells of a `sample`.

    Parameters
    ----------
    agreement
        The winner's share of the votes in each group, and how often the group occurs.
    right
        For each group the chance that the winner is the true label, as labels occur.
    second_right
        For each group the chance that the runner-up is; None where it is whenever the winner is not.
    """

    agreement: Agreement
    right: tuple[float, ...]
    second_right: tuple[float, ...] | None = None

    @property
    def plurality_accuracy(self) -> float:
        """The chance that the winner of the vote on a fresh question is its true label."""
        return float(self.agreement.weights() @ np.array(self.right))

    def sample(self, n_teachers: int, n_classes: int) -> VoteSample:
        """Return typical votes of K teachers and how likely each class is true, as forecasts take them.

        If neither winner nor runner-up is true, every other class is as likely as any other.
        """
        right = np.array(self.right)
        second = 1 - right if self.second_right is None else np.array(self.second_right)
        truths = np.zeros((len(right), n_classes))
        truths[:, 2:] = np.maximum(1 - right - second, 0)[:, None] / max(n_classes - 2, 1)
        truths[:, 0], truths[:, 1] = right, second
        half = 0.5 / n_teachers  # a declared share is rounded down, an expected one to the nearest vote
        nearest = tuple((min(share + half, 1.0), weight) for share, weight in self.agreement.groups)
        counts = Agreement(nearest, self.agreement.runners_up).tallies(n_teachers, n_classes).counts
        # Ties go to the lower class, so a winner of higher number needs a vote more: one half each.
        mirrored = counts[:, [1, 0, *range(2, n_classes)]]
        rows = [tuple(row) for pair in zip(counts.tolist(), mirrored.tolist(), strict=True) for row in pair]
        weights = np.repeat(self.agreement.weights() / 2, 2)
        return VoteSample(
            tuple(rows), tuple(weights.tolist()), tuple(map(tuple, truths.repeat(2, axis=0).tolist()))
        )

    @classmethod
    def typed(cls, agreement: Agreement) -> Self:
        """Return what a declared agreement says about accuracy if teachers are as unsure as labels are.

        Where 80% of the teachers vote for the winner, it is taken to be right on 80% of the questions. That is a
        calibrated ensemble; one that is too sure of itself does worse, one of weak teachers better.
        """
        return cls(agreement, tuple(share for share, _ in agreement.groups), agreement.runners_up)


def shorten_votes(sample: VoteSample) -> ExpectedVotes:
    """Return public votes in the short form that plans are compared by: winner and runner-up.

    Examples
    --------
    >>> shorten_votes(VoteSample(((6, 3, 1), (10, 0, 0)), (0.5, 0.5))).agreement.groups
    ((0.6, 0.5), (1.0, 0.5))
    """
    known = sample.as_right_as_sure()
    assert known.truths is not None
    ranked = [sorted(row, reverse=True) for row in known.rows]
    shares = [tuple(votes / known.n_teachers for votes in row[:2]) for row in ranked]
    groups = tuple((first, weight) for (first, _), weight in zip(shares, known.shares, strict=True))
    runners_up = None if known.n_classes == 2 else tuple(second for _, second in shares)
    right, second_right = (tuple(law[rank] for law in known.truths) for rank in (0, 1))
    return ExpectedVotes(Agreement(groups, runners_up), right, second_right)


def expect_votes(
    curve: LearningCurve, rows_per_teacher: float, n_teachers: int, n_classes: int, *, spread: float | None = None
) -> ExpectedVotes:
    """Return the votes to expect of teachers that learn from n/K rows each, by the model of noisy scores.

    Every question has a score for each class. A teacher sees them through noise of its own, a label through noise
    of its own, and both name the class whose score looks largest (`planning.votes.scores`). Two numbers set the
    two noises: the error of one teacher on n/K rows, and the error of one learner on all n rows, which stands for
    that of the whole ensemble: what remains of it is noise in the labels. So a question is hard for teachers where
    labels are noisy, which holds for the real votes on the census data "adult": the mean distance between modelled
    and real shares is below 0.01 (0.06 for a Beta law of the error rate). Not modelled: errors that all teachers
    share, so the winner's accuracy is a hope where a learner needs more rows than n/K to see a pattern at all, and
    noise in labels that has nothing to do with how hard a question is, where teachers agree more than this says.

    Parameters
    ----------
    spread
        Take a Beta law instead, whose two parameters add up to this number, as in `planning.votes.agreement`; the
        winner is then right as far as teachers are.

    Examples
    --------
    >>> curve = LearningCurve.parse("100:0.20,1000:0.16")
    >>> few, many = expect_votes(curve, 100, 250, 2), expect_votes(curve, 1000, 250, 2)
    >>> mean = lambda votes: sum(share * weight for share, weight in votes.agreement.groups)
    >>> round(mean(few), 2), round(mean(many), 2)
    (0.86, 0.93)
    >>> round(few.plurality_accuracy, 2)
    0.85
    """
    positive_integer(n_teachers=n_teachers, n_classes=n_classes)
    if not 0 < rows_per_teacher < math.inf:
        raise InvalidParameter(f"A teacher learns from {rows_per_teacher:g} rows; it needs a positive number.")
    if n_classes < 2:
        raise InvalidParameter("There is 1 class; a vote needs at least 2.")
    alone = curve.error(rows_per_teacher)
    if spread is not None:
        return _by_beta(alone, spread, n_classes)
    together = min(curve.error(rows_per_teacher * n_teachers), alone)
    label, both = correlation_of(together, n_classes), correlation_of(alone, n_classes)
    teacher = min(both / label, 1.0) if label > 0 else 0.0
    return with_luck(scores_of(teacher, label, n_classes), n_teachers, n_classes)


def with_luck(scores: ScoreModel, n_teachers: int, n_classes: int) -> ExpectedVotes:
    """Return the votes of K teachers whose chances to vote for the winner and the runner-up are given."""
    from scipy.special import ndtri

    both = (scores.first + scores.second)[:, None]
    n_both = np.maximum(both * n_teachers, 1)
    # A binomial number is nearly normal as an angle, and its mean a quarter of a vote nearer to the end.
    angle = np.arcsin(np.sqrt((scores.second[:, None] / both).clip(0, 1)))
    luck = ndtri((np.arange(LUCK) + 0.5) / LUCK)
    luck /= np.sqrt(np.mean(luck**2))
    against = n_both * np.sin(angle + luck / (2 * np.sqrt(n_both))) ** 2
    votes = (n_both - against + 0.25 * np.cos(2 * angle)).clip(0, n_both)
    swapped = 2 * votes < n_both
    right = np.where(swapped, scores.second_right[:, None], scores.first_right[:, None])
    second_right = np.where(swapped, scores.first_right[:, None], scores.second_right[:, None])
    first = np.maximum(votes, n_both - votes) / n_both * both
    second = both - first
    weights = np.repeat(scores.weights[:, None], LUCK, axis=1) / LUCK
    columns = [part.ravel() for part in (first, second, right, second_right, weights)]
    return _grouped(np.array(columns), n_classes)


def _grouped(columns: Floats, n_classes: int) -> ExpectedVotes:
    """Put questions of similar lead together, finer where leads are small and where questions are many."""
    columns = columns[:, np.argsort(columns[0] - columns[1], kind="stable")]
    lead, weights = np.maximum(columns[0] - columns[1], 0), columns[4] / columns[4].sum()
    place = (np.cumsum(weights) - weights / 2 + 3 * np.sqrt(lead)) / 4
    cut = np.flatnonzero(np.diff(np.floor(place * GROUPS))) + 1
    starts = np.concatenate([[0], cut])
    together = np.add.reduceat(weights, starts)
    first, second, right, second_right = (np.add.reduceat(c * weights, starts) / together for c in columns[:4])
    order = np.argsort(lead[starts], kind="stable")[::-1]
    groups = tuple((min(float(first[g]), 1.0), float(together[g])) for g in order if together[g] > 0)
    kept = [g for g in order if together[g] > 0]
    runners_up = None if n_classes == 2 else tuple(float(second[g]) for g in kept)
    return ExpectedVotes(
        Agreement(groups, runners_up),
        tuple(float(right[g]) for g in kept),
        tuple(float(second_right[g]) for g in kept),
    )


def _by_beta(alone: float, spread: float, n_classes: int) -> ExpectedVotes:
    from scipy.special import betaincinv

    if not 0 < spread < math.inf:
        raise InvalidParameter(f"The spread is {spread}; it must be a positive number, such as 3.")
    wrong = min(alone, 0.5)
    quantiles = (np.arange(1000) + 0.5) / 1000
    share = np.ones(1000) if wrong == 0 else betaincinv(spread * (1 - wrong), spread * wrong, quantiles)
    first = np.maximum(share, 1 - share)
    # The winner is right wherever most teachers are.
    right = np.where(share >= 0.5, 1.0, 0.0)
    return _grouped(np.array([first, 1 - first, right, 1 - right, np.full(1000, 1e-3)]), n_classes)
