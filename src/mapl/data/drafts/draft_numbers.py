"""The public statistics of numbers: centre, spread and bins, drafted from PUBLIC values."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapl.data.tables.column import Column

N_BINS = 32

WIDEST_DENSE = 256
"""Sparse matrices of at most so many columns are encoded as dense ones are, which takes little more."""


def draft_number(name: str, values: NDArray[Any], kind: str) -> Column:
    """Describe public numbers; two different ones become 0 and 1, like the column of a category."""
    wide = np.asarray(values, dtype=np.float64)
    known = wide[np.isfinite(wide)]
    missing = bool(np.isnan(wide).any())
    different, counts = np.unique(known, return_counts=True)
    if len(different) < 2:
        return Column(name, kind, centre=float(different[0]) if len(different) else 0.0, missing=missing)
    if len(different) == 2:
        low, high = map(float, different)
        return Column(name, kind, centre=low, spread=make_positive(high - low), missing=missing)
    # Half the spread of the ends bounds the deviation, and scaling by it keeps the squares finite.
    scale = make_positive(float(different[-1] / 2 - different[0] / 2))
    centre = float(np.mean(known / scale) * scale)
    spread = make_positive(float(np.std(known / scale) * scale))
    return Column(name, kind, centre=centre, spread=spread, cuts=_cuts(different, counts), missing=missing)


def _cuts(different: NDArray[np.float64], counts: NDArray[Any]) -> tuple[float, ...]:
    """Cut halfway between neighbouring values, at every gap or nearest to the quantiles."""
    if len(different) <= N_BINS:
        gaps = np.arange(len(different) - 1)
    else:
        for _ in range(4):  # a value that most rows share takes one bin, and leaves the others to the rest
            counts = np.minimum(counts, counts.sum() / N_BINS)
        below = np.cumsum(counts)[:-1] / counts.sum()
        wanted = np.arange(1, N_BINS) / N_BINS
        gaps = np.unique(np.minimum(np.searchsorted(below, wanted), len(below) - 1))
    middles = different[gaps] / 2 + different[gaps + 1] / 2
    return tuple(np.unique(middles).tolist())


def draft_matrix_columns(rows: Any) -> tuple[Column, ...]:
    """Describe the columns of a public matrix, which are called x0, x1, ..."""
    if isinstance(rows, np.ndarray):
        return tuple(draft_number(f"x{j}", rows[:, j], "number") for j in range(rows.shape[1]))
    if rows.shape[1] <= WIDEST_DENSE:  # the same facts as of the same numbers in a dense matrix
        columns = rows.tocsc()
        return tuple(
            draft_number(f"x{j}", columns[:, [j]].toarray().ravel(), "number") for j in range(rows.shape[1])
        )
    # Zeros stay zeros, so that a wide sparse matrix stays one; its columns are scaled into [-1, 1].
    largest = np.zeros(rows.shape[1])
    np.maximum.at(largest, rows.indices, np.nan_to_num(np.abs(rows.data.astype(np.float64)), posinf=0.0))
    return tuple(Column(f"x{j}", "number", spread=make_positive(float(top))) for j, top in enumerate(largest))


def make_positive(spread: float) -> float:
    return spread if spread > 0 and math.isfinite(spread) else 1.0
