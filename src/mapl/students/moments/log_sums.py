"""Logarithms of sums of exponentials, column by column: rows of few numbers are slow to go through one by one."""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp

from mapl.types import Singles

MOST_COLUMNS = 7
"""Up to so many are added from left to right by numpy too, so that the bits are those of scipy."""


def log_sums(scores: Singles) -> Singles:
    """Return log(sum(exp(row))) of every row of finite numbers: what scipy's `logsumexp` returns, bit by bit.

    The largest numbers of a row stay out of the sum, so that what the others add is not lost beside them.

    >>> log_sums(np.zeros((1, 2), dtype=np.float32)).round(4)
    array([0.6931], dtype=float32)
    """
    if scores.shape[1] > MOST_COLUMNS:
        return np.asarray(logsumexp(scores, axis=1))
    largest = scores[:, 0].copy()
    for column in scores.T[1:]:
        np.maximum(largest, column, out=largest)
    times, rest = np.zeros_like(largest), np.zeros_like(largest)
    for column in scores.T:
        is_largest = column == largest
        times += is_largest
        rest += np.where(is_largest, np.float32(0), np.exp(column - largest))
    return np.asarray(np.log1p(rest / times) + np.log(times) + largest)
