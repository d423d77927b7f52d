"""The margin of a question by halving the teachers: one half names the winner, the other half measures its lead.

Read off the same votes, winner and lead are too good: docs/margin.md.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mapl.errors import InvalidParameter
from mapl.types import Counts, Floats, Integers

FEWEST_TEACHERS = 4
"""Fewer cannot be split into two halves that each have a majority."""

HALVINGS = 400
"""How many ways to halve the teachers are drawn where three or more classes have votes."""


def halved_margins(counts: Counts) -> Floats:
    """Return the estimated margin of each question: half of the winner's lead over the next class.

    Classes without votes change nothing, and of two classes with votes the mean over all halvings has a closed form
    (`split_margins`). Of more it is a mean over halvings drawn by a seed that is the counts themselves, in falling
    order: it depends neither on other questions nor on which class is which.

    Parameters
    ----------
    counts
        A row for each question and a column for each class; all rows have the same sum.

    Examples
    --------
    >>> [round(float(margin), 3) for margin in halved_margins(np.array([[7, 1, 0], [0, 8, 0], [6, 1, 1]]))]
    [0.375, 0.5, 0.312]
    """
    votes = counts.astype(np.int64)
    closed = split_margins(int(votes[0].sum()))
    if votes.shape[1] == 2:
        return closed[votes[:, 1]]
    falling = -np.sort(-votes, axis=1)
    margins = closed[falling[:, 1]]
    several = falling[:, 2] > 0
    kinds, kind_of = np.unique(falling[several], axis=0, return_inverse=True)
    margins[several] = np.array([drawn_margin(kind[kind > 0]) for kind in kinds])[kind_of.reshape(-1)]
    return margins


def drawn_margin(votes: Integers) -> float:
    """Return the estimated margin of one question from drawn halvings.

    For each class: its lead over each other class in the second half where the first half names it, 0 elsewhere
    (ties share), averaged over the halvings. The least of these averages counts, and those of the classes are added
    up. Halves know nothing of each other, and what is expected of the least is at most the least that is expected:
    so the estimate errs on the safe side, as that of two classes does.

    Parameters
    ----------
    votes
        How many teachers voted for each class, in falling order, none of them 0.
    """
    total = int(votes.sum())
    naming = total // 2
    rng = np.random.default_rng(votes)  # halves votes about public rows; it protects nobody
    first = rng.multivariate_hypergeometric(votes, naming, size=HALVINGS)
    named = (first == first.max(axis=1, keepdims=True)).astype(np.float64)
    named /= named.sum(axis=1, keepdims=True)
    shares = (votes - first) / (total - naming)
    held = named.T @ shares / HALVINGS
    leads = np.diagonal(held)[:, None] - held
    # The same mean for the winner of all votes, but exact as far as no other class is named.
    lost = (1 - named[:, 0]) @ shares / HALVINGS
    leads[0] = (votes[0] - votes) / total - (lost[0] - lost)
    np.fill_diagonal(leads, np.inf)
    return float(leads.min(axis=1).sum() / 2)


def split_margins(n_teachers: int) -> Floats:
    """Return the estimated margin for every possible number of votes for class 1, from 0 to all.

    |mean - 1/2| is too large wherever teachers disagree, by 1 / sqrt(2 pi M) on average where they toss coins:
    the sign is read off the same votes as the mean. So one half of the teachers gives the sign and the other half
    the mean. Teachers are exchangeable, and the estimate here is the mean over all ways to halve them: as free of
    that bias, less noisy, and no matter of luck. Where the sign is doubtful it is pulled down, even below zero,
    which errs on the safe side: nu is then too large.

    Examples
    --------
    >>> [round(float(margin), 3) for margin in split_margins(8)]
    [0.5, 0.375, 0.143, -0.054, -0.129, -0.054, 0.143, 0.375, 0.5]
    """
    if (
        isinstance(n_teachers, bool)
        or not isinstance(n_teachers, (int, np.integer))
        or n_teachers < FEWEST_TEACHERS
    ):
        raise InvalidParameter(
            f"There are {n_teachers} teachers; give at least {FEWEST_TEACHERS}, so that each half has several, and "
            "better 200."
        )
    from scipy.special import gammaln

    signing = n_teachers // 2
    averaged = n_teachers - signing
    ones = np.arange(n_teachers + 1)[:, None]
    first = np.arange(signing + 1)[None, :]

    def log_choose(n: Any, k: Any) -> Any:
        inside = (k >= 0) & (k <= n)
        k = np.where(inside, k, 0)
        return np.where(inside, gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1), -np.inf)

    whole = log_choose(np.array(n_teachers), np.array(signing))
    chances = np.exp(log_choose(ones, first) + log_choose(n_teachers - ones, signing - first) - whole)
    chances /= chances.sum(axis=1, keepdims=True)
    margins = np.sign(2 * first - signing) * ((ones - first) / averaged - 0.5)
    return np.asarray((chances * margins).sum(axis=1), dtype=np.float64)
