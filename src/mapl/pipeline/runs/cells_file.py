"""Noisy counts as a public table: one row per cell and round, with its place on a map of the public rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mapl.data.tables.classes import Classes
from mapl.data.tables.rows import Rows
from mapl.pipeline.counts.counting import Counted
from mapl.types import Floats

COUNT = "count "
"""Columns of noisy counts are called this and the name of a class."""


def cells_table(counted: Counted, classes: Classes, questions: Rows) -> pa.Table:
    """Return round, cell, place (x, y), number of public rows, and the noisy count of each class.

    A cell without public rows, such as the one for records far from everything, has no place.
    """
    points = np.concatenate([block for _, block, _ in counted.cells.space.blocks(questions)]).astype(np.float64)
    places = _map(points)
    parts = []
    for number, one in enumerate(counted.rounds, start=1):
        n_cells = len(one.counts)
        members = np.bincount(one.cells, minlength=n_cells)
        middle = [_mean(places[:, axis], one.cells, members) for axis in (0, 1)]
        columns: dict[str, Any] = {
            "round": pa.array(np.full(n_cells, number)),
            "cell": pa.array(np.arange(n_cells)),
            "x": pa.array(middle[0], from_pandas=True),
            "y": pa.array(middle[1], from_pandas=True),
            "public rows": pa.array(members),
        }
        columns |= {f"{COUNT}{name}": one.counts[:, code] for code, name in enumerate(classes.names)}
        parts.append(pa.table(columns))
    return pa.concat_tables(parts)


def _map(points: Floats) -> Floats:
    """Return the two directions in which public rows differ most, as coordinates with a spread of 1."""
    centred = points - points.mean(axis=0)
    _, turn = np.linalg.eigh(centred.T @ centred)
    flat = centred @ turn[:, ::-1][:, :2]
    if flat.shape[1] < 2:
        flat = np.column_stack([flat, np.zeros(len(flat))])
    spread = flat.std(axis=0)
    return np.asarray(flat / np.where(spread > 0, spread, 1))


def _mean(values: Floats, cells: NDArray[np.int64], members: NDArray[np.int64]) -> Floats:
    sums = np.bincount(cells, weights=values, minlength=len(members))
    return np.where(members > 0, sums / np.maximum(members, 1), np.nan)
