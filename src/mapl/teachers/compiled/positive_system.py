"""One symmetric positive matrix: Cholesky's method, in the matrix itself."""

from __future__ import annotations

from typing import Any

import numpy as np

from mapl.teachers.compiled.compiling import compile_lazily


@compile_lazily
def factor(matrix: Any) -> bool:
    """Replace the lower half of a matrix by its factor; return whether there is one."""
    p = len(matrix)
    column = np.empty(p, dtype=matrix.dtype)
    for j in range(p):
        head = matrix[j, j]
        if not (head > 0 and head < np.inf):
            return False
        matrix[j, j] = np.sqrt(head)
        for i in range(j + 1, p):
            matrix[i, j] /= matrix[j, j]
            column[i] = matrix[i, j]
        for i in range(j + 1, p):
            times = column[i]
            for k in range(j + 1, i + 1):
                matrix[i, k] -= times * column[k]
    return True


@compile_lazily
def solve(lower: Any, right: Any) -> None:
    """Replace one right side by its solution."""
    p = len(lower)
    for i in range(p):
        total = right[i]
        for k in range(i):
            total -= lower[i, k] * right[k]
        right[i] = total / lower[i, i]
    for i in range(p - 1, -1, -1):
        right[i] /= lower[i, i]
        times = right[i]
        for k in range(i):
            right[k] -= times * lower[i, k]


@compile_lazily
def invert_lower(lower: Any) -> Any:
    """Return the inverse of a factor, whose upper half is not looked at."""
    p = len(lower)
    inverse = np.zeros_like(lower)
    for i in range(p):
        inverse[i, i] = 1.0
        for k in range(i):
            times = lower[i, k]
            for j in range(k + 1):
                inverse[i, j] -= times * inverse[k, j]
        for j in range(i + 1):
            inverse[i, j] /= lower[i, i]
    return inverse
