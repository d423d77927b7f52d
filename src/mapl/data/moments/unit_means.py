"""The means of units that have several records each, cut to a norm: of each unit by itself, in exact arithmetic.

Whole numbers add up exactly in any order as long as they stay below 2^53. What grows beyond that is added number by
number, in the order of the unit's own records; norms are taken of fewer bits, rounded up.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from mapl.types import Floats, Integers, Silent

LARGEST_RESIDUAL = 2.0
"""Where the numbers of a residual are cut off; labels and probabilities never differ by more than 1."""

WIDEST_FULL = 1 << 15
NUMBERS_AT_ONCE = 1 << 20
RECORDS_AT_ONCE = 1 << 12

NORM_BITS = 18
"""A norm is taken of so many bits of the numbers: 63 bits hold the squares of 2^26 of them."""


class Means(Protocol):
    """What units of equally many records add, collected some records of each at a time."""

    def add(self, vectors: Any, residuals: Floats, scale: float) -> None:
        """Add records, equally many of each unit and those of a unit side by side."""

    def added_up(self) -> Integers:
        """Return the sum over units of their means, each cut to the norm and rounded towards zero."""


def mean_vectors(shape: tuple[int, int], of: tuple[int, ...], reach: float) -> Means:
    """Return where the means of some units are collected.

    Parameters
    ----------
    shape
        How many numbers a vector has, and how many a residual.
    of
        How many units there are, and how many records each of them has.
    reach
        The largest norm of a mean, in steps.
    """
    n_units, size = of
    kind = SparseMeans if is_wide(shape) else DenseMeans
    return kind(n_units, size, math.prod(shape), reach)


def means_at_once(shape: tuple[int, int], size: int) -> int:
    """Return how many units of so many records are computed at once."""
    if is_wide(shape):
        return max(1, RECORDS_AT_ONCE // size)
    return max(1, NUMBERS_AT_ONCE // (shape[0] * max(shape[1], size)))


def is_wide(shape: tuple[int, int]) -> bool:
    """Say whether vectors are those of words, mostly zeros: all others have fewer numbers."""
    return shape[0] > WIDEST_FULL


@dataclass(slots=True, repr=False)
class DenseMeans(Silent):
    """Means of vectors that are full of numbers."""

    n_units: int
    size: int
    width: int
    reach: float
    total: Floats = field(init=False)

    def __post_init__(self) -> None:
        self.total = np.zeros((self.n_units, self.width))

    def add(self, vectors: Any, residuals: Floats, scale: float) -> None:
        mine: Floats = vectors.reshape(self.n_units, -1, vectors.shape[1]).swapaxes(1, 2)
        whole = in_steps(residuals, scale).reshape(self.n_units, -1, residuals.shape[1])
        self.total += (mine @ whole).reshape(self.n_units, -1)

    def added_up(self) -> Integers:
        largest = np.abs(self.total).max(axis=1)
        whole = round_up(self.total, largest[:, None])
        norms = norms_above(np.einsum("ij,ij->i", whole, whole), largest)
        means = np.trunc(self.total * shortening_factor(norms, self.size, self.reach)[:, None])
        return np.asarray(means.astype(np.int64).sum(axis=0))


@dataclass(slots=True, repr=False)
class SparseMeans(Silent):
    """Means of vectors that are mostly zeros, such as those of words."""

    n_units: int
    size: int
    width: int
    reach: float
    total: Any = field(init=False)

    def __post_init__(self) -> None:
        self.total = sp.csr_array((self.n_units, self.width))

    def add(self, vectors: Any, residuals: Floats, scale: float) -> None:
        entries, whole = sp.coo_array(vectors), in_steps(residuals, scale)
        row, place = entries.coords
        depth, each = whole.shape[1], len(whole) // self.n_units
        places = (place.astype(np.int64)[:, None] * depth + np.arange(depth)).ravel()
        units = np.repeat(row.astype(np.int64) // each, depth)
        products = (entries.data[:, None] * whole[row]).ravel()
        # Equal places are added up, which is exact.
        self.total = self.total + sp.coo_array((products, (units, places)), shape=self.total.shape).tocsr()

    def added_up(self) -> Integers:
        numbers, starts = self.total.data, self.total.indptr
        units = np.repeat(np.arange(self.n_units), np.diff(starts))
        largest, squares = np.zeros(self.n_units), np.zeros(self.n_units, dtype=np.int64)
        np.maximum.at(largest, units, np.abs(numbers))
        np.add.at(squares, units, round_up(numbers, largest[units]) ** 2)
        factor = shortening_factor(norms_above(squares, largest), self.size, self.reach)
        sums = np.zeros(self.width, dtype=np.int64)
        np.add.at(sums, self.total.indices, np.trunc(numbers * factor[units]).astype(np.int64))
        return sums


def in_steps(residuals: Floats, scale: float) -> Floats:
    """Count residuals in whole steps, rounded towards zero; what is no number counts as none."""
    numbers = np.nan_to_num(residuals, nan=0.0, posinf=LARGEST_RESIDUAL, neginf=-LARGEST_RESIDUAL)
    return np.asarray(np.trunc(np.clip(numbers, -LARGEST_RESIDUAL, LARGEST_RESIDUAL) * scale))


def round_up(numbers: Floats, largest: Floats) -> Integers:
    """Return the sizes of numbers beside the largest of their unit, in 18 bits, rounded up."""
    _, exponent = np.frexp(largest)
    beside = np.abs(numbers) * np.ldexp(1.0, NORM_BITS - exponent)  # powers of two: nothing is rounded here
    return np.asarray(np.ceil(beside).astype(np.int64))


def norms_above(squares: Integers, largest: Floats) -> Floats:
    """Return norms that are never too small, from the sums of the squares of what `round_up` returns."""
    _, exponent = np.frexp(largest)
    return np.asarray(np.ldexp(np.sqrt(squares.astype(np.float64)), exponent - NORM_BITS))


def shortening_factor(norms: Floats, size: int, reach: float) -> Floats:
    """Return what sums of so many records are multiplied by: they become means no longer than the reach."""
    return np.minimum(1 / size, reach / np.maximum(norms, 1.0))
