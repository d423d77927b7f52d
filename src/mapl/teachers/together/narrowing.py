"""Shards with more columns than rows: as many columns as rows say the same to a penalised linear model.

With X X' = L L' the rows of L have the scalar products of those of X, and weights u for L stand for X' L'^-1 u,
which are as long as u. So the penalty and all scores agree, and the solution does.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import lapack

from mapl.teachers.together.family import transpose
from mapl.types import Floats

JITTER = 1e-11
"""What is added to the diagonal, as a part of its mean, so that equal rows do not stop Cholesky's method."""


def narrow(rows: Floats) -> tuple[Floats, Callable[[Floats], Floats]]:
    """Return shards with at most as many columns as rows, and what makes weights for the former ones again."""
    n, width = rows.shape[1:]
    if width <= n:
        return rows, lambda weights: weights
    products = rows @ transpose(rows)
    diagonal = products[:, np.arange(n), np.arange(n)]
    products[:, np.arange(n), np.arange(n)] += JITTER * (diagonal @ np.ones((n, 1))) / n
    narrowed = np.zeros_like(products)
    for k, product in enumerate(products):
        lower, failed = lapack.dpotrf(product.T, lower=1, clean=1)
        narrowed[k] = np.nan if failed else lower

    def widen(weights: Floats) -> Floats:
        shares = np.empty_like(weights)
        for k, one in enumerate(weights):
            shares[k], failed = lapack.dtrtrs(narrowed[k].T, one, lower=0)
            if failed:
                shares[k] = np.nan
        return transpose(rows) @ shares

    return narrowed, widen
