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
class CalibrationBin:
    """Rows with about the same predicted probability: its mean, and the share of them that was so."""

    rows: int
    predicted: float
    found: float


@dataclass(frozen=True, slots=True)
class Calibration:
    """Area under the curve, log-loss and Brier score of probabilities, and how they compare with what was so.

    Parameters
    ----------
    auc
        How well probabilities rank rows; with more than two classes the mean over the classes, each against the
        rest. None where only one class occurs.
    brier
        Half the sum over the classes of the squared distances from what was so; for two classes the usual figure.
    bins
        By the probability of the second class of two; of more classes by that of the class that is predicted.
    """

    auc: float | None
    log_loss: float
    brier: float
    bins: tuple[CalibrationBin, ...]

    @classmethod
    def of(cls, truth: NDArray[np.integer[Any]], probabilities: NDArray[np.float64]) -> Self:
        """Compare probabilities, one column per class, with true class numbers."""
        if truth.ndim != 1 or probabilities.ndim != 2 or len(truth) != len(probabilities) or not len(truth):
            raise InvalidData(
                f"There are {probabilities.shape} probabilities and {truth.shape} true labels; expected a "
                "probability for each class, and one label per row."
            )
        n_classes = probabilities.shape[1]
        so = truth[:, None] == np.arange(n_classes)
        told = np.clip(probabilities[so], LEAST, 1 - LEAST)
        if n_classes == 2:
            shown, right = probabilities[:, 1], so[:, 1]
        else:
            best = probabilities.argmax(axis=1)
            shown, right = probabilities.max(axis=1), truth == best
        parts = np.minimum((shown * BINS).astype(np.int64), BINS - 1)
        return cls(
            auc=_area_of_all(so, probabilities),
            log_loss=float(-np.log(told).mean()),
            brier=float(((probabilities - so) ** 2).sum(axis=1).mean() / 2),
            bins=tuple(
                CalibrationBin(int(rows.sum()), float(shown[rows].mean()), float(right[rows].mean()))
                for rows in (parts == part for part in range(BINS))
                if rows.any()
            ),
        )

    @property
    def gap(self) -> float:
        """How far probabilities are from what was so, on average over the rows, bin by bin."""
        return sum(b.rows * abs(b.predicted - b.found) for b in self.bins) / sum(b.rows for b in self.bins)


def _area_of_all(so: NDArray[np.bool_], probabilities: NDArray[np.float64]) -> float | None:
    """Return the mean area of the classes that some rows have and others do not; of two classes one is enough."""
    n_classes = so.shape[1]
    codes = (1,) if n_classes == 2 else range(n_classes)
    areas = [_area(so[:, k], probabilities[:, k]) for k in codes if 0 < so[:, k].sum() < len(so)]
    return float(np.mean(areas)) if areas else None


def _area(so: NDArray[np.bool_], probabilities: NDArray[np.float64]) -> float:
    """Return the chance that a row of the class has the higher probability of two, ties counted half."""
    _, places, counts = np.unique(probabilities, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[places]
    n, others = int(so.sum()), int((~so).sum())
    return float((ranks[so].sum() - n * (n + 1) / 2) / (n * others))
