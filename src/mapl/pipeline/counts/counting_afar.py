"""Counting on the workers of a cluster: blocks of records go there as files, counts come back and are added up.

Counts are whole numbers, so neither the blocks nor who counts them can be told from the sum.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from mapl.data.cells.partition import Cells
from mapl.data.tables.rows import Rows, take
from mapl.data.tables.table import PrivateTable
from mapl.engines.cluster import Cluster
from mapl.engines.files import folder_afar, map_files, write_down
from mapl.types import Integers, Labels

ROWS_AT_ONCE = 1 << 17


def count_afar(
    cluster: Cluster, cells: Cells, records: PrivateTable, n_classes: int, scratch: Path | None
) -> Integers:
    """Return how many records of each class fall into each cell. PRIVATE, as `Cells.counts` is."""
    counts = np.zeros((cells.n_cells, n_classes), dtype=np.int64)
    with folder_afar(scratch) as folder:
        for some in map_files(cluster, count_block, (cells, n_classes), _blocks(records, folder), folder):
            counts += some
    return counts


def count_block(shared: tuple[Cells, int], block: tuple[Rows, Labels]) -> Integers:
    """Count the records of a block, on a worker."""
    cells, n_classes = shared
    return cells.counts(*block, n_classes)


def _blocks(records: PrivateTable, folder: Path) -> Iterator[Path]:
    """Write the records down, block by block."""
    rows = records.rows.open()
    for start in range(0, len(records.labels), ROWS_AT_ONCE):
        where = np.arange(start, min(start + ROWS_AT_ONCE, len(records.labels)), dtype=np.int64)
        yield write_down(folder, (take(rows, where), records.labels[where]))
