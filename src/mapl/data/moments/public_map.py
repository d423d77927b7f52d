"""A feature map that gives every direction the length that noise makes worth while, drawn from public rows alone.

Noise is the same in all directions of a sum, so a direction that is given more length is learned better. Expected
logits are least wrong where lengths are found by water-filling: directions along which labels are unlikely to
differ by more than the noise get none.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag

from mapl.data.encoding.projection import leading_directions
from mapl.data.moments.feature_map import WIDEST, FeatureMap, with_constant
from mapl.types import Floats

KERNEL = 0.2
"""How far neighbouring bins share what they learn, in widths of a column."""

COARSE_LENGTH, FINE_LENGTH = 0.85, 1.5
"""The length of bins beside numbers."""

OWN = 0.3
"""What part of what a fine bin says is its own, and not shared with neighbours: some numbers are codes, or have
values that stand for something else than their neighbours do."""

LOGIT_VARIANCE = 1.5
"""The variance of a logit that is to be expected, for each class."""

DECAY = 0.6
"""The power of its public variance with which a direction's part of that falls, where there are no bins."""

TILT = 0.5
NEGLIGIBLE = 1e-9


@dataclass(frozen=True, slots=True)
class Layout:
    """Which encoded columns are which: others first, then the bins of each number, coarse or fine ones."""

    n_others: int
    bins: tuple[int, ...] = ()
    fine: bool = False


def draw_map(
    encoded: NDArray[Any], weights: Floats, layout: Layout, *, signal: float, n_classes: int
) -> FeatureMap:
    """Draw the map from encoded PUBLIC rows.

    Parameters
    ----------
    weights
        How much each public row counts; they add up to 1.
    signal
        The square of what a direction of all the length would stand out by, over the noise.
    """
    known = with_constant(encoded)
    known *= np.sqrt(weights)[:, None]
    others = np.concatenate([known[:, : layout.n_others], known[:, -1:]], axis=1)
    length = float(np.linalg.norm(others))
    others /= length
    variances, turn = _directions(others)
    expected = LOGIT_VARIANCE * n_classes * _shares(variances)
    drawn = np.zeros((known.shape[1], len(variances)))
    drawn[: layout.n_others], drawn[-1] = turn[:-1] / length, turn[-1] / length
    if layout.bins:
        smooth = _smoothing(layout) / length
        beyond, bins, less = _directions_of_bins(others, known[:, layout.n_others : -1], smooth, variances, turn)
        more = np.concatenate([less[:-1] / length, bins, less[-1:] / length])
        expected = np.concatenate([expected, LOGIT_VARIANCE * n_classes * beyond])
        variances, drawn = np.concatenate([variances, beyond]), np.concatenate([drawn, more], axis=1)
    power = fill_water(expected, signal) * expected**TILT
    power /= power.sum()
    kept = power > NEGLIGIBLE
    return FeatureMap.on_grid(drawn[:, kept] * np.sqrt(power[kept] / np.maximum(variances[kept], 1e-12)))


def fill_water(expected: Floats, signal: float) -> Floats:
    """Return the p that minimise the sum of e / (1 + signal e p), with p >= 0 and sum 1.

    >>> fill_water(np.array([4.0, 1.0, 0.01]), 10.0).round(3)
    array([0.538, 0.462, 0.   ])
    """
    dry = 1 / (signal * np.maximum(expected, 1e-300))
    ordered = np.sort(dry)
    levels = (1 + np.cumsum(ordered)) / np.arange(1, len(ordered) + 1)
    return np.asarray(np.maximum(0.0, levels[np.flatnonzero(ordered < levels).max()] - dry))


def _shares(variances: Floats) -> Floats:
    falling = variances**DECAY
    return np.asarray(falling / max(float(falling.sum()), 1e-300))


def _directions(rows: Floats) -> tuple[Floats, Floats]:
    """Return the squares of public rows in orthogonal directions, added up, and these directions as columns."""
    if rows.shape[1] <= WIDEST:
        values, vectors = np.linalg.eigh(rows.T @ rows)
        return np.maximum(values, 0.0), vectors
    axes, spread = leading_directions((rows * math.sqrt(len(rows))).astype(np.float32), WIDEST)
    return np.asarray(spread**2, np.float64), np.asarray(axes, np.float64)


def _directions_of_bins(
    others: Floats, bins: Floats, smooth: Floats, variances: Floats, turn: Floats
) -> tuple[Floats, Floats, Floats]:
    """Return the same for what the bins tell beyond the other columns, by a public regression on these.

    Directions are told by what they have of bins and of other columns. All that is asked of rows is products of
    columns, which is quicker than to make the rows of what is left.
    """
    shared = turn.T @ (others.T @ bins) @ smooth
    ridge = 1e-3 * variances.mean()
    told = shared / (variances + ridge)[:, None]
    rest = smooth.T @ (bins.T @ bins) @ smooth - (told.T * (variances + 2 * ridge)) @ told
    values, vectors = np.linalg.eigh(rest)
    kept = values > 1e-8 * max(float(values.max(initial=0.0)), 1e-12)
    vectors = vectors[:, kept]
    return values[kept], smooth @ vectors, -turn @ (told @ vectors)


def _smoothing(layout: Layout) -> Floats:
    """Return the square root of what bins of a number have in common, times their length.

    Neighbours learn together: they share exp(-distance), fine ones a part of that, and the rest is their own.
    """
    own, length = (OWN, FINE_LENGTH) if layout.fine else (0.0, COARSE_LENGTH)
    roots = []
    for width in layout.bins:
        places = np.arange(width)
        shared = np.exp(-np.abs(places[:, None] - places) / (KERNEL * width))
        values, vectors = np.linalg.eigh((1 - own) * shared + own * np.eye(width))
        roots.append((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)
    return np.asarray(block_diag(*roots)) * length
