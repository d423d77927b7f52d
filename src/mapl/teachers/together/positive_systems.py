"""Symmetric positive systems, one per shard, by Cholesky's method; a solution that cannot be trusted is told."""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from mapl.types import Flags, Floats

REFINED = 1e-7
"""A step of refinement that moves a solution by more than this part of it shows that it is too inexact."""


def solve_positive(matrices: Floats, right: Floats) -> tuple[Floats, Flags]:
    """Solve a system per shard; return the solutions, and which of them a step of refinement confirms.

    Each is a call of its own: one shard that cannot be solved makes none of the others fail.
    """
    found = np.zeros_like(right)
    sure = np.zeros(len(matrices), dtype=np.bool_)
    for k, matrix in enumerate(matrices):
        factor, solution, failed = lapack.dposv(matrix.T, right[k], lower=1)
        if failed:
            continue
        step, failed = lapack.dpotrs(factor, right[k] - matrix @ solution, lower=1)
        moved, size = np.abs(step).max(initial=0.0), np.abs(solution).max(initial=0.0)
        found[k] = solution
        sure[k] = not failed and moved <= REFINED * size < np.inf
    return found, sure
