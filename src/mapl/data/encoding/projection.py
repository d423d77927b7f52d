"""Principal components of public rows, by exact arithmetic.

A matrix product adds in an order that depends on how many rows it is given, and floating-point sums depend on that
order. Here features and axes lie on grids so coarse that 53 bits hold every sum exactly. Then the order does not
matter, and a row is mapped to the same bits whichever rows stand beside it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from mapl.types import Singles

STEP, LIMIT = 2.0**-14, 16.0
"""The grid that features are rounded to, and where they are cut off."""

VALUE_STEP, VALUE_LIMIT = 2.0**-12, 256.0
"""The same for the components, which have a mean square of 1."""

POWER = 0.5
"""Components are divided by this power of their spread: 0 would leave them as they are, 1 would whiten them."""

NEGLIGIBLE = 1e-5
ROUNDS, SPARE = 4, 30


@dataclass(frozen=True, slots=True, eq=False)
class Projection:
    """Where public rows lie on average, and the directions in which they differ most."""

    mean: Singles
    axes: Singles

    @classmethod
    def fit(cls, public: NDArray[Any], *, dim: int) -> Self:
        """Fit on PUBLIC rows; there are fewer than `dim` directions where the rows differ in fewer."""
        mean = _on_grid(public.mean(axis=0), STEP, LIMIT)
        axes, spread = leading_directions(np.asarray(public - mean, np.float32), dim)
        if not len(spread):
            return cls(mean, np.zeros((public.shape[1], 1), np.float32))
        weight = spread**-POWER
        weight /= np.sqrt(np.mean((spread * weight) ** 2))
        weighted = axes * weight
        return cls(mean, _on_grid(weighted, _finest_step(weighted), math.inf))

    @property
    def dim(self) -> int:
        return int(self.axes.shape[1])

    def __call__(self, rows: NDArray[Any]) -> Singles:
        """Return the components of each row, a function of that row alone."""
        centred = np.asarray(_on_grid(rows, STEP, LIMIT), np.float64) - self.mean
        return _on_grid(centred @ self.axes.astype(np.float64), VALUE_STEP, VALUE_LIMIT)


def _on_grid(values: NDArray[Any], step: float, limit: float) -> Singles:
    """Round to multiples of a step, a power of two; the results have at most 24 bits."""
    return np.asarray(np.rint(np.clip(values, -limit, limit) / step) * step, np.float32)


def _finest_step(axes: NDArray[Any]) -> float:
    """Return the step at which a sum of `len(axes)` products has at most 53 bits, and an entry at most 24."""
    bits_of_feature = math.log2(2 * LIMIT / STEP)
    bits = min(23, math.floor(53 - bits_of_feature - math.log2(len(axes))))
    return float(2.0 ** (math.ceil(math.log2(np.abs(axes).max())) - bits))


def leading_directions(centred: Singles, dim: int) -> tuple[Singles, NDArray[np.float64]]:
    """Return the leading directions as columns, and the spread along each, without directions of no spread."""
    n, width = centred.shape
    if min(n, width) <= dim + SPARE:
        _, singular, turn = np.linalg.svd(centred.astype(np.float64), full_matrices=False)
        axes = turn.T
    else:  # subspace iteration from a fixed start
        axes = np.random.default_rng(0).standard_normal((width, dim + SPARE)).astype(np.float32)
        for _ in range(ROUNDS):
            axes = np.linalg.qr(centred.T @ (centred @ axes))[0]
        _, singular, turn = np.linalg.svd((centred @ axes).astype(np.float64), full_matrices=False)
        axes = axes @ turn.T
    spread = singular[:dim] / math.sqrt(n)
    kept = spread > max(NEGLIGIBLE * spread.max(initial=0.0), STEP)
    return np.asarray(axes[:, :dim][:, kept], np.float32), np.asarray(spread[kept], np.float64)
