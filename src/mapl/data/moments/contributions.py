"""What every privacy unit adds to a sum: the mean of its records' vectors, cut to a declared norm, in whole steps.

All steps are whole numbers and all sums are exact, so that taking a unit away changes the sum by exactly what that
unit added, whoever else is in the table and in whatever blocks it is computed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self

import numpy as np

from mapl.data.moments.feature_map import UNIT
from mapl.data.moments.probabilities import add_columns
from mapl.data.moments.row_map import Vectors
from mapl.data.moments.unit_means import LARGEST_RESIDUAL, is_wide, mean_vectors, means_at_once
from mapl.data.tables.private_rows import PrivateRows
from mapl.data.tables.rows import Rows, n_rows, take
from mapl.data.tables.table import PrivateTable
from mapl.data.units.shards import unit_bytes
from mapl.types import Floats, Integers, Labels, Silent

ROWS_AT_ONCE = 4096
"""Products of at most 2^40 steps each add up to at most 2^53 in a block."""

CELLS_AT_ONCE = 1 << 24
"""Of wide tables fewer rows are encoded at once."""

NUMBERS_AT_ONCE = 1 << 18
"""So many numbers of vectors are computed at a time, few enough to stay in the processor's cache on the way."""

CARRY_BITS, FEW_COLUMNS = 40, 3

COUNT_SHARE = 0.1
"""How much of its norm a unit spends on being counted; that makes the noise of everything else 0.5% larger."""

SAFE = 1 - 2.0**-26
"""What rounding may be off by, and more: the norm of a residual of 2^25 classes has an error below 2^-28 of it."""


@dataclass(frozen=True)
class Clip:
    """How far one unit may move a sum.

    Parameters
    ----------
    reach
        The largest norm of what a unit adds, in steps of the grid.
    bound
        The norm of a mean of residuals that this stands for; longer ones are shortened to it.
    """

    reach: int
    bound: float

    @property
    def count(self) -> int:
        """What every unit adds to the count of units."""
        return int(self.reach * COUNT_SHARE)

    @property
    def vector_reach(self) -> int:
        """The largest norm of what a unit adds to the vectors."""
        return math.isqrt(self.reach**2 - self.count**2)

    @property
    def residual_reach(self) -> int:
        """The largest norm of a residual, whose product with a row's vector is what a record adds."""
        return self.vector_reach // UNIT

    @property
    def scale(self) -> float:
        """How many steps of a residual make 1."""
        return self.residual_reach * SAFE / self.bound

    @property
    def records_at_once(self) -> int:
        """How many records of a unit add up exactly before they are shortened: to at most 2^52 steps."""
        return max(1, int(ROWS_AT_ONCE * min(1.0, self.bound / LARGEST_RESIDUAL)))

    def in_value(self) -> float:
        """Return what one step of a sum stands for."""
        return self.bound / (self.residual_reach * SAFE * UNIT)


class ExactSums(Silent):
    """Sums of whole numbers that never overflow: the lower 40 bits, and how often they were full."""

    def __init__(self, n: int) -> None:
        self.low = np.zeros(n, dtype=np.int64)
        self.high = np.zeros(n, dtype=np.int64)

    def add(self, numbers: Integers) -> None:
        """Add numbers below 2^62 each."""
        self.low += numbers
        carry = self.low >> CARRY_BITS
        self.high += carry
        self.low -= carry << CARRY_BITS

    def merge(self, other: Self) -> None:
        """Add other sums of as many numbers."""
        self.add(other.low)
        self.high += other.high

    def shifted(self, bits: int) -> Integers:
        """Return the sums over 2^bits, rounded down; what 63 bits do not hold is cut off."""
        whole = (self.high.astype(object) << CARRY_BITS) + self.low if self._is_long() else None
        if whole is not None:
            most = (1 << 62) - 1
            return np.array([min(max(int(one) >> bits, -most), most) for one in whole], dtype=np.int64)
        return np.asarray(((self.high << CARRY_BITS) + self.low) >> bits)

    def _is_long(self) -> bool:
        return bool(np.abs(self.high).max(initial=0) >= 1 << (62 - CARRY_BITS))


@dataclass(frozen=True, repr=False, eq=False)
class Crowd(Silent):
    """The rows of a private table, sorted by whose they are."""

    rows: PrivateRows
    labels: Labels
    alone: Integers | None
    several: tuple[Integers, ...] = ()
    """For every number of records that units have, more than one: their rows, a line for each unit."""

    @classmethod
    def of(cls, table: PrivateTable) -> Self:
        if table.unit_ids is None:
            return cls(table.rows, table.labels, None)
        order, same = unit_bytes(table.unit_ids).grouped()
        starts = np.flatnonzero(np.concatenate([[True], ~same]))[: len(order)]
        sizes = np.diff(np.append(starts, len(order)))
        places = order.astype(np.int64)
        several = tuple(
            places[starts[sizes == size][:, None] + np.arange(size)] for size in np.unique(sizes) if size > 1
        )
        return cls(table.rows, table.labels, places[starts[sizes == 1]], several)

    def single_blocks(self) -> Iterator[tuple[Rows, Labels]]:
        """Yield the records of units that have one each."""
        rows = self.rows.open()
        step = min(ROWS_AT_ONCE, max(1, CELLS_AT_ONCE // int(rows.shape[1])))
        if self.alone is None:
            for start, block in self.rows.open_blocks(step):
                yield block, self.labels[start : start + n_rows(block)]
            return
        for start in range(0, len(self.alone), step):
            where = np.sort(self.alone[start : start + step])
            yield take(rows, where), self.labels[where]
            self.rows.let_go()

    def parts(self, at_once: int) -> Iterator[Self]:
        """Yield everybody in parts of about so many records; a unit's records stay together.

        What all units add is the sum over the parts, bit by bit.
        """
        own = np.arange(len(self.rows), dtype=np.int64) if self.alone is None else np.sort(self.alone)
        for start in range(0, len(own), at_once):
            some = own[start : start + at_once]
            yield replace(self, rows=self.rows.take(some), labels=self.labels[some], alone=None, several=())
        for places in self.several:
            step = max(1, at_once // places.shape[1])
            for start in range(0, len(places), step):
                some = places[start : start + step]
                lines = np.arange(some.size, dtype=np.int64).reshape(some.shape)
                rows, labels = self.rows.take(some.ravel()), self.labels[some.ravel()]
                yield replace(self, rows=rows, labels=labels, alone=lines[:0, 0], several=(lines,))

    def prepared(self, vectors: Vectors, width: int) -> Self | None:
        """Return the same people with their vectors in place of their rows, None where that would take much memory.

        Rounds then need not encode rows again; whether they do changes no bit of a sum.
        """
        n = len(self.rows)
        if n * width * 4 > self.rows.room:
            return None
        kept = np.empty((n, width), dtype=np.float32)  # which holds whole numbers up to 2^24
        for start, block in self.rows.open_blocks(ROWS_AT_ONCE):
            for first, some in _parts(vectors.encode(block), (width, 1)):
                kept[start + first : start + first + n_rows(some)] = vectors(some)
        return replace(self, rows=PrivateRows(kept))


class Contribution(Protocol):
    """What a record adds: the product of its public vector with its residual, a vector that its label decides."""

    @property
    def shape(self) -> tuple[int, int]:
        """How many numbers a vector has, and how many a residual."""

    def encode(self, rows: Rows) -> Rows:
        """Return a block of rows in a form of which some are measured at a time."""

    def measure(self, rows: Rows, labels: Labels) -> tuple[Any, Floats]:
        """Return the vectors of some records, whole numbers of norm at most 2^18, and their residuals.

        Parameters
        ----------
        rows
            Encoded ones or others, which changes no bit.
        """


def sum_contributions(crowd: Crowd, contribution: Contribution, clip: Clip) -> ExactSums:
    """Return what all units add: for every number of a vector and of a residual, and last the number of units."""
    width, depth = contribution.shape
    sums = ExactSums(width * depth + 1)
    for rows, labels in crowd.single_blocks():
        products = np.zeros(contribution.shape)
        for start, some in _parts(contribution.encode(rows), contribution.shape):
            vectors, residuals = contribution.measure(some, labels[start : start + n_rows(some)])
            products += _products(vectors, _cut(residuals, clip))
        sums.add(np.append(products.ravel().astype(np.int64), clip.count * len(labels)))
    for places in crowd.several:
        step = means_at_once(contribution.shape, places.shape[1])
        for start in range(0, len(places), step):
            some = places[start : start + step]
            sums.add(np.append(_add_means(crowd, some, contribution, clip), clip.count * len(some)))
    return sums


def _parts(rows: Rows, shape: tuple[int, int]) -> Iterator[tuple[int, Rows]]:
    """Yield the number of the first row of each part of a block, and the part; words are taken all at once."""
    n = n_rows(rows)
    step = max(1, n if is_wide(shape) else NUMBERS_AT_ONCE // shape[0])
    for start in range(0, n, step):
        yield start, rows if step >= n else rows[start : start + step]


def _products(vectors: Any, residuals: Floats) -> Floats:
    """Add up products, exactly whatever the order; of few columns one by one, which is quicker."""
    if residuals.shape[1] > FEW_COLUMNS or not isinstance(vectors, np.ndarray):
        return np.asarray(vectors.T @ residuals)
    return np.stack([np.ascontiguousarray(column) @ vectors for column in residuals.T], axis=1)


def _cut(residuals: Floats, clip: Clip) -> Floats:
    """Shorten residuals to the bound, and count them in whole steps, rounded towards zero; no number is 0."""
    norms = np.sqrt(add_columns(residuals * residuals))
    factor = clip.scale * np.minimum(1.0, clip.bound / np.maximum(norms, 1e-300))
    with np.errstate(invalid="ignore"):
        cut = residuals * factor[:, None]
    # As a whole number, what is none would be -2^63: more than all reaches together.
    return np.asarray(np.trunc(np.nan_to_num(cut, nan=0.0, posinf=0.0, neginf=0.0)))


def _add_means(crowd: Crowd, places: Integers, contribution: Contribution, clip: Clip) -> Integers:
    """Add up what units add that have the same number of records, more than one each."""
    at_once = clip.records_at_once
    means = mean_vectors(contribution.shape, places.shape, clip.vector_reach * SAFE)
    for start in range(0, places.shape[1], at_once):  # one person's million records need not fit into memory
        some = places[:, start : start + at_once].ravel()
        vectors, residuals = contribution.measure(crowd.rows.take(some).open(), crowd.labels[some])
        means.add(vectors, residuals, clip.scale)
    return means.added_up()
