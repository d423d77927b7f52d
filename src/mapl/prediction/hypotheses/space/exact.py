"""Exact signs: floats as whole numbers in the same proportions, and determinants of those.

A sign that rounding could turn would make an example's error depend on how the others were processed with it.
So whatever floating point leaves in doubt is decided here.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapl.prediction.hypotheses.protocol import Points
from mapl.types import Integers

Whole = NDArray[Any]
"""Whole numbers: of type int64 where products surely fit, else Python's own."""

Places = NDArray[np.intp]

WORD = 62
LARGEST = 1024


def whole(points: Points, *, factors: int) -> Whole:
    """Return every column times some positive power of two that makes all of it whole.

    Products of up to `factors` differences of the result fit their type, and so do sums of factorially many.
    """
    mantissas, exponents = np.frexp(points)
    digits = (mantissas * 2.0**53).astype(np.int64)
    lowest = np.where(digits == 0, 1, digits & -digits)  # zero has no lowest bit, and none is needed
    zeros = np.frexp(lowest.astype(np.float64))[1] - 1
    last = np.where(digits == 0, LARGEST, exponents - 53 + zeros)
    shifts = np.where(digits == 0, 0, last - last.min(axis=0, initial=LARGEST))
    odd = digits // lowest
    longest = int(np.max(np.frexp(np.abs(odd).astype(np.float64))[1] + shifts, initial=0))
    if factors * (longest + 2) <= WORD:
        return np.asarray(odd << shifts)
    return np.asarray(odd.astype(object) << shifts.astype(object))


def determinant(rows: NDArray[Any]) -> NDArray[Any]:
    """Return the determinants of stacked small square matrices, by their first rows; exact for whole numbers."""
    if rows.shape[-1] == 0:
        return np.ones(rows.shape[:-2], dtype=rows.dtype)
    # Floats may overflow: what is no finite number is then left to whole numbers.
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray((rows[..., 0, :] * cofactors(rows[..., 1:, :])).sum(axis=-1))


def cofactors(rows: NDArray[Any]) -> NDArray[Any]:
    """Return the vectors orthogonal to the p-1 rows of stacked matrices with p columns; 0 if they are dependent."""
    p = rows.shape[-1]
    if p == 0:
        return rows.reshape(*rows.shape[:-2], 0)
    parts = [(-1) ** k * determinant(np.delete(rows, k, axis=-1)) for k in range(p)]
    return np.stack(parts, axis=-1)


def distinct(points: Points) -> tuple[Points, Places]:
    """Return the distinct rows in lexicographic order, and for every row the place of its like; -0 is 0."""
    points = points + 0.0
    order = np.lexsort(points.T[::-1]) if points.size else np.arange(len(points))
    ranked = points[order]
    new = np.concatenate(([True], (ranked[1:] != ranked[:-1]).any(axis=1)))[: len(points)]
    place = np.empty(len(points), dtype=np.intp)
    place[order] = np.cumsum(new) - 1
    return ranked[new], place


def weigh_points(points: Points, ones: NDArray[np.bool_]) -> tuple[Points, Integers]:
    """Return the distinct points of a sample, each with its number of ones minus zeros."""
    rows, place = distinct(points)
    weights = np.zeros(len(rows), dtype=np.int64)
    np.add.at(weights, place, np.where(ones, 1, -1))
    return rows, weights
