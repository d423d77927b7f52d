"""How near the released model comes on public rows whose numbers are known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from mapl.data.tables.number_range import NumberRange
from mapl.errors import InvalidData
from mapl.types import Floats


@dataclass(frozen=True, slots=True)
class NumberEvaluation:
    """Errors of predicted numbers on a public labelled test set, beside those of whoever always says the same.

    Parameters
    ----------
    r2
        The share of the labels' variance that predictions explain, None where all labels are equal; below 0 where
        always saying the test rows' own mean would be better.
    mae, rmse
        The mean distance of predictions from labels, and the root of the mean of its square.
    middle_mae, mean_mae
        The mean distance of always saying the middle of the range, or the mean of the released predictions.
    outside
        The share of test labels that lie beyond the declared range, where no prediction can be.
    """

    rows: int
    r2: float | None
    mae: float
    rmse: float
    middle: float
    middle_mae: float
    mean: float
    mean_mae: float
    outside: float

    @classmethod
    def of(cls, truth: Floats, predicted: Floats, *, number_range: NumberRange, released: Floats) -> Self:
        """Compare predicted with true numbers.

        Parameters
        ----------
        released
            The numbers that the run released for its public rows.
        """
        if truth.shape != predicted.shape or truth.ndim != 1 or not len(truth):
            raise InvalidData(
                f"There are {predicted.shape} predictions and {truth.shape} true labels; expected one of each per "
                "row, and at least one row."
            )
        gaps, middle, mean = truth - predicted, number_range.middle, float(np.mean(released))
        variance = float(np.mean((truth - truth.mean()) ** 2))
        return cls(
            rows=len(truth),
            r2=1 - float(np.mean(gaps**2)) / variance if variance else None,
            mae=float(np.abs(gaps).mean()),
            rmse=float(np.sqrt(np.mean(gaps**2))),
            middle=middle,
            middle_mae=float(np.abs(truth - middle).mean()),
            mean=mean,
            mean_mae=float(np.abs(truth - mean).mean()),
            outside=float(((truth < number_range.low) | (truth > number_range.high)).mean()),
        )
