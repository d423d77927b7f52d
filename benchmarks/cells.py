"""How long it takes to assign and count covertype's private rows in 15,000 cells, and how much memory.

    python benchmarks/cells.py

The same cells for all rows and for a tenth of them, median of three; ratios say more than seconds. Results:
benchmarks/results/cells.md. Skipped where ../shared/data/covertype_full.parquet is absent.
"""

from __future__ import annotations

import resource
import statistics
import time
from pathlib import Path

from datasets import LABEL, DataAbsent, labels_of, load

from mapl.data.cells.partition import Cells
from mapl.data.cells.space import CellSpace
from mapl.data.drafts.draft_schema import draft_schema

N_CELLS = 15_000
RUNS = 3
RESULT = Path(__file__).parent / "results" / "cells.md"


def peak_mb() -> float:
    """Return the largest memory that this process has had, in megabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    try:
        split = load("covertype", 0)
    except DataAbsent as absent:
        print(absent)
        return
    rows, labels = split.private.drop_columns(LABEL), labels_of(split.private)
    cells = Cells.of_public(split.public, CellSpace.fit(split.public, draft_schema(split.public)), N_CELLS)
    tenth = len(labels) // 10
    seconds = {}
    before = peak_mb()
    for n in (tenth, len(labels)):
        taken = []
        for _ in range(RUNS):
            start = time.perf_counter()
            cells.counts(rows.slice(0, n), labels[:n], len(split.classes))
            taken.append(time.perf_counter() - start)
        seconds[n] = statistics.median(taken)
    lines = [
        "# Assigning and counting in cells",
        "",
        f"`python benchmarks/cells.py`, median of {RUNS}: covertype, {len(labels):,} private rows of 54 columns, "
        f"{cells.n_cells - 1:,} cells (nearest public row, exact).",
        "",
        "| what | measured |",
        "|---|---|",
        f"| seconds for all rows | {seconds[len(labels)]:.1f} |",
        f"| times those of a tenth of the rows | {seconds[len(labels)] / seconds[tenth]:.1f} |",
        f"| peak memory above the loaded table | {peak_mb() - before:.0f} MB |",
    ]
    RESULT.write_text("\n".join(lines) + "\n")
    print(RESULT.read_text())


if __name__ == "__main__":
    main()
