"""How learners see the classes, and how their predictions are read."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapl.data.tables.classes import Classes
from mapl.errors import InvalidData


def natural(classes: Classes) -> NDArray[Any]:
    """Return the class names as learners get them: whole numbers if all names are such, text otherwise."""
    names = classes.names
    if all(name.isascii() and name.isdecimal() and len(name) < 16 for name in names):
        whole = [int(name) for name in names]
        if len(set(whole)) == len(whole):
            return np.array(whole, dtype=np.int64)
    return np.array(names, dtype=np.str_)


def codes_of(predicted: Any, classes: Classes, n: int) -> NDArray[np.int64]:
    """Return the class number of each of n predictions, UNKNOWN where one names no class.

    Raises
    ------
    InvalidData
        If this is not one prediction per row. The shape is looked at first, so a huge answer costs nothing.
    """
    cells = one_per_row(predicted, n)
    if cells.dtype.kind in ("O", "T"):
        cells = np.array(cells.tolist())
    elif cells.dtype.kind == "b":
        cells = cells.astype(np.int64)
    return classes.codes(cells)


def one_per_row(predicted: Any, n: int) -> NDArray[Any]:
    """Return predictions as a column of n cells, or refuse them."""
    cells = np.asarray(predicted)
    if cells.shape == (n, 1):
        cells = cells[:, 0]
    if cells.shape != (n,):
        raise InvalidData(
            f"The predictions for {n} rows have shape {cells.shape}; expected one class per row (labels, not "
            "probabilities)."
        )
    return cells
