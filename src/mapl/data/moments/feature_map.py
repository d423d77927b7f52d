"""A public feature map: every row becomes a vector of whole numbers whose norm is at most 2^18.

Sums of private vectors may not depend, not even in a last bit, on which rows are computed side by side. So encoded
rows and the map lie on grids so coarse that 53 bits hold every sum of products exactly, and everything else is done
number by number.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from mapl.data.encoding.encoded_rows import EncodedRows
from mapl.data.encoding.projection import leading_directions
from mapl.types import Floats

UNIT = 1 << 18
"""The largest norm of a row's vector."""

STEP_BITS, LIMIT = 12, 16.0
"""The grid of encoded numbers, and where they are cut off: at most 2^16 steps."""

SUM_BITS = 53
NORM_BITS = 20
"""Before its norm is taken, the largest number of a row has so many bits, of very wide rows fewer: squares of 2^13
of them fit in 53."""

WIDEST = 1024
"""Of more encoded columns, so many directions in which public rows differ most are kept."""

MARGIN = 1 - 2.0**-40
"""What floating point may be off by, and far more."""

EVENNESS = 0.25
"""The power of the public covariance that directions are divided by: 0 leaves them as they are, 1/2 whitens."""


@dataclass(frozen=True, eq=False)
class FeatureMap:
    """Turn encoded rows, with a constant beside them, into evener directions and give all rows one norm."""

    turn: Floats

    @classmethod
    def fit(cls, public: NDArray[Any], *, ridge: float) -> Self:
        """Fit on encoded PUBLIC rows.

        Parameters
        ----------
        ridge
            What is added to the public covariance, whose trace is 1, spread over its directions.
        """
        known = with_constant(public)
        known /= math.sqrt(max(float(np.mean(np.einsum("ij,ij->i", known, known))), 1e-300))
        variances, directions = _directions(known)
        turn = directions * (variances + ridge / len(variances)) ** -EVENNESS
        return cls.on_grid(turn)

    @classmethod
    def on_grid(cls, turn: Floats) -> Self:
        """Round a map of any length so coarsely that its products with encoded rows add up exactly."""
        step = 2.0 ** (math.ceil(math.log2(max(float(np.abs(turn).max()), 1e-300))) - _bits(len(turn)))
        return cls(np.rint(turn / step))

    def widened(self, width: int) -> Self:
        """Return the map with directions of no length, so that it has so many."""
        return type(self)(np.pad(self.turn, ((0, 0), (0, width - self.width))))

    @property
    def width(self) -> int:
        return int(self.turn.shape[1])

    def lengths(self, encoded: NDArray[Any] | EncodedRows) -> Floats:
        """Return by what the vector of each row is divided; for people who want to read a model."""
        return np.asarray(np.maximum(np.linalg.norm(self._turned(encoded), axis=1), 1.0))

    def __call__(self, encoded: NDArray[Any] | EncodedRows) -> Floats:
        """Return each row's vector: whole numbers, a function of that row alone."""
        return scale_rows(self._turned(encoded))

    def _turned(self, encoded: NDArray[Any] | EncodedRows) -> Floats:
        """Return encoded rows along the directions of the map, exactly."""
        if not isinstance(encoded, EncodedRows):
            return np.asarray(_on_grid(encoded) @ self.turn)
        import scipy.sparse as sp  # predicting never comes here, and does without its import

        n, n_groups = encoded.ones.shape
        if not n_groups:
            return self._turned(encoded.full)
        numbers = _on_grid(encoded.full) @ self.turn[[*encoded.columns, -1]]
        ends = np.arange(0, n * n_groups + 1, n_groups, dtype=np.int32)
        ones = sp.csr_array((np.ones(n * n_groups), encoded.ones.ravel(), ends), shape=(n, len(self._of_ones)))
        numbers += ones @ self._of_ones  # exact, in this order as in any other
        return np.asarray(numbers)

    @cached_property
    def _of_ones(self) -> Floats:
        """What a 1 in each column adds; in the column behind the last, nothing."""
        out = np.zeros(self.turn.shape)  # line by line, as they are added
        np.multiply(self.turn[:-1], 1 << STEP_BITS, out=out[:-1])
        return out


def scale_rows(numbers: Floats) -> Floats:
    """Scale every row of whole numbers to a norm of at most 2^18, rounded towards zero; a row of zeros stays.

    The numbers are written over: to take memory anew takes longer than to compute.
    """
    largest = np.maximum(numbers.max(axis=1, initial=0.0), -numbers.min(axis=1, initial=0.0))
    _, exponent = np.frexp(largest)
    bits = min(NORM_BITS, (SUM_BITS - math.ceil(math.log2(max(1, numbers.shape[1])))) // 2)
    numbers *= np.ldexp(1.0, bits - exponent)[:, None]  # powers of two: nothing is rounded here
    np.rint(numbers, out=numbers)
    squares = np.einsum("ij,ij->i", numbers, numbers)
    numbers *= (UNIT * MARGIN / np.sqrt(np.maximum(squares, 1.0)))[:, None]
    return np.asarray(np.trunc(numbers, out=numbers))


def with_constant(encoded: NDArray[Any]) -> Floats:
    """Return encoded rows as a map sees them, with a constant beside them."""
    return _on_grid(encoded) / (1 << STEP_BITS)


def _on_grid(encoded: NDArray[Any]) -> Floats:
    """Return encoded rows on their grid, as whole numbers, with a constant beside them."""
    own = np.clip(encoded, -LIMIT, LIMIT)  # as short as they are: 24 bits hold 2^16 steps
    own *= 1 << STEP_BITS
    np.rint(own, out=own)
    np.copyto(own, 0.0, where=np.isnan(own))  # no number, no part in any sum
    out = np.empty((encoded.shape[0], encoded.shape[1] + 1))
    out[:, :-1], out[:, -1] = own, 1 << STEP_BITS
    return out


def _directions(known: Floats) -> tuple[Floats, Floats]:
    """Return the variances of public rows in orthogonal directions, and these directions as columns."""
    width = known.shape[1]
    if width <= WIDEST:
        variances, directions = np.linalg.eigh(known.T @ known / len(known))
        return np.maximum(variances, 0.0), directions
    axes, spread = leading_directions(known.astype(np.float32), WIDEST)
    return np.asarray(spread**2, np.float64), np.asarray(axes, np.float64)


def _bits(width: int) -> int:
    """Return how many bits an entry of the map may have, so that a sum of `width` products is exact."""
    return SUM_BITS - math.ceil(math.log2(LIMIT)) - STEP_BITS - math.ceil(math.log2(width)) - 1
