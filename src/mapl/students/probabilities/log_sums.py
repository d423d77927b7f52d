"""Sums of exponentials, column by column: rows of few numbers are slow to go through one by one."""

from __future__ import annotations

import numpy as np
import scipy.special
from numpy.typing import NDArray

from mapl.data.moments.probabilities import Number, add_columns, largest_column

MOST_COLUMNS = 7
"""Up to so many are added from left to right by numpy too, so that the bits are those of scipy."""


def softmax(scores: NDArray[Number]) -> NDArray[Number]:
    """Return the softmax of every row: what scipy's returns, bit by bit."""
    if scores.shape[1] > MOST_COLUMNS:
        return np.asarray(scipy.special.softmax(scores, axis=1))
    powers = np.exp(scores - largest_column(scores)[:, None])
    powers /= add_columns(powers)[:, None]
    return powers


def log_sums(scores: NDArray[Number]) -> NDArray[Number]:
    """Return log(sum(exp(row))) of every row of finite numbers: what scipy's `logsumexp` returns, bit by bit.

    The largest numbers of a row stay out of the sum, so that what the others add is not lost beside them.

    >>> log_sums(np.zeros((1, 2), dtype=np.float32)).round(4)
    array([0.6931], dtype=float32)
    """
    if scores.shape[1] > MOST_COLUMNS:
        return np.asarray(scipy.special.logsumexp(scores, axis=1))
    largest = largest_column(scores)
    times, rest = np.zeros_like(largest), np.zeros_like(largest)
    for column in scores.T:
        is_largest = column == largest
        times += is_largest
        rest += np.where(is_largest, scores.dtype.type(0), np.exp(column - largest))
    return np.asarray(np.log1p(rest / times) + np.log(times) + largest)
