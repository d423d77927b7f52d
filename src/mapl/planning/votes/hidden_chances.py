"""Chances behind counted votes: the luck of a hundred teachers is taken out before that of K others is put in."""

from __future__ import annotations

import numpy as np

from mapl.planning.votes.scores import ScoreModel
from mapl.types import Floats, Integers

QUANTILES = np.linspace(-4.5, 4.5, 73)
ROUNDS = 150
"""Rounds of expectation and maximisation; stopping early keeps the estimate smooth."""


def chances_behind(counts: Integers, truth: Integers) -> ScoreModel:
    """Return the law of the chances that a teacher votes for the true winner or the runner-up, and who is right.

    On each question the two classes with most votes are compared. How many of their votes go to the one of lower
    number is binomial, and its chance varies from question to question by a law that is estimated by maximum
    likelihood (Kiefer and Wolfowitz), apart for questions where the first, the second or neither of them is true.
    """
    from scipy.special import ndtr

    ranked = np.sort(np.argsort(-counts, axis=1, kind="stable")[:, :2], axis=1)
    votes = np.take_along_axis(counts, ranked, axis=1)
    share = votes.sum(axis=1) / counts.sum(axis=1)
    which = np.where(truth == ranked[:, 0], 0, np.where(truth == ranked[:, 1], 1, 2))
    chances = ndtr(QUANTILES)
    laws, shares = np.zeros((3, len(QUANTILES))), np.zeros(len(QUANTILES))
    for kind in range(3):
        chosen = which == kind
        if chosen.any():
            laws[kind], of_share = _law(votes[chosen], share[chosen], chances)
            shares += of_share
    laws, shares = laws / len(counts), shares / len(counts)
    weights = laws.sum(axis=0)
    kept = weights > 0
    laws, chances, weights, both = laws[:, kept], chances[kept], weights[kept], shares[kept] / weights[kept]
    lower_wins = chances >= 0.5
    first = np.maximum(chances, 1 - chances) * both
    right = np.where(lower_wins, laws[0], laws[1]) / weights
    second_right = np.where(lower_wins, laws[1], laws[0]) / weights
    return ScoreModel(first, both - first, right, second_right, weights)


def _law(votes: Integers, share: Floats, chances: Floats) -> tuple[Floats, Floats]:
    """Return how many questions have each chance, and the sum of their shares of all votes."""
    pairs, place = np.unique(votes, axis=0, return_inverse=True)
    place = place.reshape(-1)
    often = np.bincount(place).astype(np.float64)
    shares = np.bincount(place, weights=share)
    logs = pairs[:, :1] * np.log(chances) + pairs[:, 1:] * np.log1p(-chances)
    likely = np.exp(logs - logs.max(axis=1, keepdims=True))
    law = np.full(len(chances), 1 / len(chances))
    for _ in range(ROUNDS):
        law = law * ((often / (likely @ law)) @ likely) / often.sum()
    posterior = likely * law
    posterior /= posterior.sum(axis=1, keepdims=True)
    return often @ posterior, shares @ posterior
