"""Cleaning released labels: alike rows mostly share a class, so the noise of their labels averages out."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapl.types import ABSTAIN, Labels

PENALTIES = (0.1, 1.0, 10.0, 100.0, 1_000.0, 10_000.0)
CLOSEST_FIT = 1e-6


def clean_labels(
    coordinates: NDArray[Any], codes: NDArray[Any], n_classes: int, *, weights: NDArray[Any] | None = None
) -> Labels:
    """Return a class for every row: what a ridge regression of the labels on spectral coordinates says.

    How smooth it is follows from the labels themselves: each is predicted from all others, exactly, and the penalty
    with the smallest squared error is taken. Rows without a label (ABSTAIN) get one too.

    Parameters
    ----------
    coordinates
        Where each row stands among the public rows (`mapl.data.encoding.spectral`).
    codes
        Class numbers, ABSTAIN where no label was released.
    weights
        How much each row counts.
    """
    places, known = np.asarray(coordinates, np.float64), np.asarray(codes) != ABSTAIN
    targets = np.eye(n_classes)[np.asarray(codes)[known]]
    counted = np.ones(len(targets)) if weights is None else np.asarray(weights, np.float64)[known]
    share = counted / counted.sum()
    middle, base = share @ places[known], share @ targets
    at = places[known] - middle
    values, turn = np.linalg.eigh(at.T @ (counted[:, None] * at))
    turned = at @ turn
    slopes = turned.T @ (counted[:, None] * (targets - base))

    def left_out_error(penalty: float) -> float:
        shrunk = 1 / (np.maximum(values, 0) + penalty)
        fitted = base + turned @ (shrunk[:, None] * slopes)
        leverage = counted * (turned**2 @ shrunk) + share
        miss = (targets - fitted) / np.maximum(1 - leverage, CLOSEST_FIT)[:, None]
        return float(share @ (miss**2).sum(axis=1))

    best = min(PENALTIES, key=left_out_error)
    scores = base + (places - middle) @ (turn @ (slopes / (np.maximum(values, 0) + best)[:, None]))
    return np.asarray(scores.argmax(axis=1), np.int32)
