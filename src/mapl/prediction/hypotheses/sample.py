"""Points and labels as the hypothesis classes read them: finite numbers, labels 0 and 1."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapl.errors import InvalidData
from mapl.prediction.hypotheses.protocol import Points
from mapl.types import Flags


class BuiltIn:
    """A rule of mapl's own, which labels every row by itself and fails for none, or a class of such rules.

    Whoever derives from it declares the same: many rows may be labelled at once.
    """

    __slots__ = ()


def as_points(X: NDArray[Any], *, n_features: int) -> Points:
    """Return X as finite floats with one row per point and at least n_features columns."""
    points = np.asarray(X)
    if points.ndim != 2 or points.shape[1] < n_features:
        raise InvalidData(
            f"Points have {points.ndim} dimensions and shape[1:] {points.shape[1:]}; expected one row per point "
            f"and at least {n_features} columns."
        )
    if points.dtype.kind not in "biuf":
        raise InvalidData(f"Points are of type {points.dtype}; expected numbers, so encode categories first.")
    points = points.astype(np.float64, copy=False)
    if not np.isfinite(points).all():
        raise InvalidData("Points contain NaN or infinity; fill them in by a rule that no private row decides.")
    return points


def as_filled(X: NDArray[Any], *, n_features: int) -> Points:
    """Return points with NaN read as 0 and infinity as the largest number, by a rule that no row decides.

    Private rows and questions alike are read so: were a cell refused, one record would decide about an answer.
    """
    points = np.asarray(X)
    if points.dtype.kind == "f":
        with np.errstate(over="ignore"):
            points = np.nan_to_num(points.astype(np.float64))
    return as_points(points, n_features=n_features)


def as_ones(y: NDArray[Any], *, n_points: int) -> Flags:
    """Return which labels are 1, after checking that all are 0 or 1 and that each point has one."""
    labels = np.asarray(y)
    if labels.shape != (n_points,):
        raise InvalidData("Labels and points differ in number; give one label, 0 or 1, for each point.")
    ones: Flags = labels == 1
    if not (ones | (labels == 0)).all():
        raise InvalidData("Labels contain something else than 0 and 1; map the two classes to 0 and 1 first.")
    return ones
