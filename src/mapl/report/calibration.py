"""How good a student's probabilities are on public rows whose truth is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from mapl.errors import InvalidData

BINS = 10
LEAST = 1e-6
"""Probabilities are kept this far from 0 and 1 for the log-loss, which is infinite for one certain error."""


@dataclass(frozen=True, slots=True)
class Bin:
    """Rows with about the same predicted probability of the second class: its mean, and the share that was so."""

    rows: int
    predicted: float
    found: float


@dataclass(frozen=True, slots=True)
class Calibration:
    """Area under the curve, log-loss and Brier score of probabilities, and how they compare with what was so."""

    auc: float
    log_loss: float
    brier: float
    bins: tuple[Bin, ...]

    @classmethod
    def of(cls, truth: NDArray[np.integer[Any]], probabilities: NDArray[np.float64]) -> Self | None:
        """Compare probabilities of the second class with true class numbers; None if only one class occurs."""
        if truth.shape != probabilities.shape or truth.ndim != 1:
            raise InvalidData(
                f"There are {probabilities.shape} probabilities and {truth.shape} true labels; expected one of "
                "each per row."
            )
        so = truth == 1
        if not 0 < so.sum() < len(so):
            return None
        sure = np.clip(probabilities, LEAST, 1 - LEAST)
        parts = np.minimum((probabilities * BINS).astype(np.int64), BINS - 1)
        return cls(
            auc=_area(so, probabilities),
            log_loss=float(-np.log(np.where(so, sure, 1 - sure)).mean()),
            brier=float(((probabilities - so) ** 2).mean()),
            bins=tuple(
                Bin(int(rows.sum()), float(probabilities[rows].mean()), float(so[rows].mean()))
                for rows in (parts == part for part in range(BINS))
                if rows.any()
            ),
        )


def _area(so: NDArray[np.bool_], probabilities: NDArray[np.float64]) -> float:
    """Return the chance that a row of the second class has the higher probability of two, ties counted half."""
    _, places, counts = np.unique(probabilities, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[places]
    n, others = int(so.sum()), int((~so).sum())
    return float((ranks[so].sum() - n * (n + 1) / 2) / (n * others))
