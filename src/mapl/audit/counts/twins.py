"""The path of a cells run in small, from the real code, and broken twins of it: one well-known mistake each."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapl.audit.counts.tables import MOST_TABLES, CellWorld, Table, Tabulate, audit_cells
from mapl.audit.finding import Finding
from mapl.errors import InvalidParameter
from mapl.release.cell_counts import SENSITIVITY, CellCounts
from mapl.types import Adjacency

CENTRES = (0.0, 3.0, 9.0)
"""The public points whose neighbourhoods are the cells; no record of the world is near the last one."""
KEY = bytes(range(32))
Cells = NDArray[np.int64]
Centres = tuple[float, ...]


def one_record_each(table: Table, cells: Cells) -> Sequence[int]:
    """Choose one record of every unit as a real run does."""
    return _one_record_each(table)


@lru_cache(maxsize=MOST_TABLES)
def _one_record_each(table: Table) -> list[int]:
    from mapl.data.units.one_per_unit import one_per_unit  # slow to import, and every command would have to
    from mapl.data.units.shards import ShardKey

    contents = [f"{point} {label}".encode() for _, point, label in table]
    chosen: list[int] = one_per_unit([unit.encode() for unit, _, _ in table], contents, ShardKey(KEY)).tolist()
    return chosen


def rows_of_units(table: Table) -> list[list[int]]:
    """Return the row numbers of every unit, in the order of the table."""
    mine: dict[str, list[int]] = {}
    for row, record in enumerate(table):
        mine.setdefault(record[0], []).append(row)
    return list(mine.values())


def public_centres(table: Table) -> Centres:
    """Take the public points, whatever the private table says."""
    return CENTRES


def as_counted(centres: Centres, counts: Cells) -> tuple[Hashable, Cells]:
    """Tell the public points and nothing else."""
    return centres, counts


def path(
    n_classes: int,
    *,
    centres_of: Callable[[Table], Centres] = public_centres,
    choose: Callable[[Table, Cells], Sequence[int]] = one_record_each,
    finish: Callable[[Centres, Cells], tuple[Hashable, Cells]] = as_counted,
) -> Tabulate:
    """Return the way from records to counts; honest unless a step is replaced."""

    def tabulate(table: Table) -> tuple[Hashable, Cells]:
        centres = centres_of(table)
        cells = nearest(table, centres)
        counts = np.zeros((len(centres), n_classes), dtype=np.int64)
        for row in choose(table, cells):
            counts[cells[row], table[row][2]] += 1
        return finish(centres, counts)

    return tabulate


def nearest(table: Table, centres: Centres) -> Cells:
    """Return the cell of every record as a real run does."""
    from mapl.data.cells.partition import Nearest  # brings scikit-learn along

    points = np.array([[record[1]] for record in table], dtype=np.float32).reshape(-1, 1)
    return Nearest(np.array(centres, dtype=np.float32)[:, None], np.inf).of(points)


def private_centres(table: Table) -> Centres:
    """Move every public point to the mean of its private records: one step of k-means."""
    cells = nearest(table, CENTRES)
    means = []
    for cell, centre in enumerate(CENTRES):
        mine = [record[1] for record, own in zip(table, cells, strict=True) if own == cell]
        means.append(sum(mine) / len(mine) if mine else centre)
    return tuple(means)


def without_empty(centres: Centres, counts: Cells) -> tuple[Hashable, Cells]:
    """Leave out the cells that nobody is in."""
    kept = counts.any(axis=1)
    return tuple(np.array(centres)[kept].tolist()), counts[kept]


def merge_small_cells(centres: Centres, counts: Cells) -> tuple[Hashable, Cells]:
    """Join the cells that hold fewer than two units to one."""
    small = counts.sum(axis=1) < 2
    return tuple(small.tolist()), np.vstack([counts[~small], counts[small].sum(axis=0)])


def once_per_cell(table: Table, cells: Cells) -> Sequence[int]:
    """Let a unit count in every cell that it has a record in."""
    return list({(record[0], int(cells[row])): row for row, record in enumerate(table)}.values())


def from_one_stream(table: Table, cells: Cells) -> Sequence[int]:
    """Choose the records of all units by one seeded generator: a unit more or less shifts the others' draws."""
    stream = np.random.default_rng(0)
    return [rows[int(stream.random() * len(rows))] for rows in rows_of_units(table)]


@dataclass(frozen=True)
class CellTwin:
    """A mistake in the path of the records, or in the noise."""

    summary: str
    steps: dict[str, Any]
    epsilon: float = 1.0
    """By what the epsilon of the noise is multiplied, where it is not what is claimed."""


CELL_TWINS: dict[str, CellTwin] = {
    "private-cells": CellTwin("cells moved to the means of private records", {"centres_of": private_centres}),
    "hidden-empty-cells": CellTwin("cells without records left out", {"finish": without_empty}),
    "merged-small-cells": CellTwin("cells merged by their true counts", {"finish": merge_small_cells}),
    "every-cell": CellTwin("a unit counts in every cell it touches", {"choose": once_per_cell}),
    "one-stream": CellTwin("records chosen by one seeded generator for all units", {"choose": from_one_stream}),
    "half-noise": CellTwin("half of the noise that is paid for", {}, epsilon=2.0),
}


def examine_counts(epsilon: float, n_classes: int, *, adjacency: Adjacency, twin: str | None = None) -> Finding:
    """Audit the cell counts, or a broken twin of them, on every table of a small world."""
    if twin is not None and twin not in CELL_TWINS:
        raise InvalidParameter(f"{CellCounts.name} has no twin {twin}; it has: {', '.join(CELL_TWINS)}.")
    if adjacency not in SENSITIVITY:
        raise InvalidParameter(f"The adjacency is {adjacency!r}; choose {', '.join(SENSITIVITY)}.")
    claims = CellCounts(epsilon, len(CENTRES), n_classes, SENSITIVITY[adjacency])
    mistake = CellTwin("", {}) if twin is None else CELL_TWINS[twin]
    return audit_cells(
        path(n_classes, **mistake.steps),
        claims,
        adjacency=adjacency,
        noise=replace(claims, epsilon=mistake.epsilon * epsilon),
        world=CellWorld(labels=tuple(range(n_classes))),
    )
