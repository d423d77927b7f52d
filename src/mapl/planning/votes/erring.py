"""Votes to expect of teachers of whom nothing is known but how often they err: a small public model."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from mapl.errors import InvalidParameter
from mapl.planning.votes.sample import VoteSample
from mapl.types import Floats, positive_integer

SPREAD = 3.0
"""How alike questions are: the two parameters of the Beta law add up to this."""

FINENESS = 16
"""Vote counts up to so many from a tie are kept apart, others in groups as wide as this part of that distance."""


@lru_cache(maxsize=16)
def erring_votes(rate: float, n_teachers: int, n_classes: int) -> VoteSample:
    """Return the votes to expect of K teachers whose mean error rate is known.

    The share of teachers that are right varies over the questions like a Beta law with mean 1 - rate whose two
    parameters add up to SPREAD, the others agree on what is wrong, and the winner has the larger part. SPREAD was
    set once, on two public sets of real votes (250 teachers each, on the census data "adult" and on MNIST): 3 makes
    the larger of the two mean distances between modelled and real shares smallest, about 0.06. Real teachers on
    adult agree more than the model says, those on MNIST less. It is a rule for planning; no guarantee rests on it.

    A run halts over a few near-ties, however rare they are, so these are not averaged with anything.

    Examples
    --------
    >>> erring_votes(0.0, 10, 2).rows
    ((10, 0), (0, 10))
    >>> str(erring_votes(0.05, 100, 2))
    'that of 100 teachers that err on 5.0% of the questions'
    """
    if not 0 <= rate <= 1:
        raise InvalidParameter(f"The error rate is {rate}; it must lie in [0, 1].")
    positive_integer(n_teachers=n_teachers)
    votes, weights = _grouped(*winners_votes(rate, n_teachers))
    rows, shares = [], []
    for winners, weight in zip(votes.tolist(), (weights / 2).tolist(), strict=True):
        # Ties go to the lower class, so a winner of higher number needs a vote more: one half each.
        for pair in ((winners, n_teachers - winners), (n_teachers - winners, winners)):
            rows.append((*pair, *[0] * (n_classes - 2)))
            shares.append(weight)
    return VoteSample(
        tuple(rows), tuple(shares), words=f"that of {n_teachers} teachers that err on {rate:.1%} of the questions"
    )


def winners_votes(rate: float, n_teachers: int) -> tuple[NDArray[np.int64], Floats]:
    """Return the numbers of votes that a winner may have, fewest first, and how often it has them."""
    from scipy.special import betainc

    votes = np.arange(-(-n_teachers // 2), n_teachers + 1)
    wrong = min(rate, 0.5)  # teachers that are wrong more often than not still do not agree on what is wrong
    if wrong == 0:
        return votes, (votes == n_teachers).astype(np.float64)
    ends = np.append((votes - 0.5) / n_teachers, 1.0).clip(0.5, 1.0)
    right, others = SPREAD * (1 - wrong), SPREAD * wrong
    # The winner has less than a share s if those who are right have less than s and more than 1 - s.
    below = betainc(right, others, ends) - betainc(right, others, 1 - ends)
    return votes, np.diff(below)


def _grouped(votes: NDArray[np.int64], weights: Floats) -> tuple[NDArray[np.int64], Floats]:
    """Put numbers of votes far from a tie together, in groups as narrow as their distance from it asks for."""
    cuts, at = [0], 0
    while at < len(votes):
        at += max(1, at // FINENESS)
        cuts.append(min(at, len(votes)))
    together = np.add.reduceat(weights, cuts[:-1])
    means = np.add.reduceat(weights * votes, cuts[:-1]) / np.where(together > 0, together, 1)
    occurs = together > 0
    return np.round(means[occurs]).astype(np.int64), together[occurs] / together.sum()
