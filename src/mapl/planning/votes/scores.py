"""Votes and labels as the largest of noisy scores: the model behind `mapl.planning.votes.model`.

Every class of a question has a score, drawn from a standard normal law. A teacher sees the scores with normal noise
and votes for the largest; a label is the largest of the scores with noise of another size. If two views of the
scores have correlation r, they name the same class with a chance A(r) that depends on the number of classes alone;
correlations multiply: the view of a teacher and that of a label have the product of their own two. For two classes
A(r) = 1 - arccos(r) / pi, so with the error e of one teacher and the error f of the true winner,
cos(pi e) = cos(pi f) cos(pi a), where a is how often a teacher departs from the true winner.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from mapl.types import Floats

QUESTIONS, NODES = 600, 24
MOST_CLASSES = 10
"""More classes are treated as this many: those that are far behind in a question matter little."""
SEED = 2021


@dataclass(frozen=True, slots=True)
class ScoreModel:
    """For each of many questions: the chances of the true winner and the runner-up, in votes and in labels."""

    first: Floats
    second: Floats
    first_right: Floats
    second_right: Floats
    weights: Floats


def correlation_of(error: float, n_classes: int) -> float:
    """Return the correlation of two views of the scores that name different classes with this chance.

    Examples
    --------
    >>> correlation_of(0.0, 2), round(correlation_of(0.25, 2), 4), round(correlation_of(0.6, 2), 4)
    (1.0, 0.7071, 0.0)
    """
    if n_classes == 2:
        return math.cos(math.pi * min(error, 0.5))
    correlations, errors = _table(min(n_classes, MOST_CLASSES))
    return float(np.interp(error, errors, correlations))


def scores_of(teacher: float, label: float, n_classes: int) -> ScoreModel:
    """Return the chances of winner and runner-up, given the correlations of a teacher's and of a label's view."""
    gaps = _gaps(min(n_classes, MOST_CLASSES))
    first, second = _chances(gaps, noise_of(teacher))
    first_right, second_right = _chances(gaps, noise_of(label))
    return ScoreModel(first, second, first_right, second_right, np.full(len(gaps), 1 / len(gaps)))


def noise_of(correlation: float) -> float:
    """Return the size of the noise through which a view of that correlation sees the scores."""
    return math.sqrt(max(1 / max(correlation, 1e-3) ** 2 - 1, 1e-12))


@lru_cache(maxsize=16)
def _gaps(n_classes: int) -> Floats:
    """Return how far the other scores of each question lie behind the largest, sorted."""
    if n_classes == 2:
        from scipy.special import ndtri

        # The difference of two scores, of which only the size matters; its law is known, so no draws are needed.
        differences = math.sqrt(2) * -ndtri((np.arange(QUESTIONS) + 0.5) / (2 * QUESTIONS))
        return np.asarray(differences[:, None])
    drawn = np.random.default_rng(SEED).standard_normal((QUESTIONS, n_classes))  # a fixed grid, no secret
    drawn = -np.sort(-drawn, axis=1)
    return np.asarray(drawn[:, :1] - drawn[:, 1:])


def _chances(gaps: Floats, noise: float) -> tuple[Floats, Floats]:
    """Return the chances that the first and the second class look largest through noise of this size."""
    from scipy.special import ndtr

    behind = gaps / noise
    if gaps.shape[1] == 1:
        first: Floats = ndtr(behind[:, 0] / math.sqrt(2))
        return first, 1 - first
    nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
    weights = weights / weights.sum()
    first = np.prod(ndtr(behind[:, None, :] + nodes[None, :, None]), axis=2) @ weights
    ahead = np.concatenate([-behind[:, :1], behind[:, 1:] - behind[:, :1]], axis=1)
    second = np.prod(ndtr(ahead[:, None, :] + nodes[None, :, None]), axis=2) @ weights
    return first, np.minimum(second, 1 - first)


@lru_cache(maxsize=16)
def _table(n_classes: int) -> tuple[Floats, Floats]:
    """Return correlations and errors, by rising error."""
    correlations = np.cos(np.pi / 2 * np.linspace(0, 1, 33))
    gaps = _gaps(n_classes)
    errors = np.array([1 - _chances(gaps, noise_of(float(r)))[0].mean() for r in correlations])
    return correlations, np.maximum.accumulate(errors)
