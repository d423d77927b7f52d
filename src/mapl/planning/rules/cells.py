"""How many cells to count in, from public facts alone."""

from __future__ import annotations

from mapl.types import positive_integer

RECORDS_PER_CELL = 4.0
"""How many private records a cell should have at epsilon 1, where noise of one count is about 1.4."""

USUAL_RATIO = 4
"""Private units per public row, where their number was not declared."""

MOST_CELLS = 50_000
"""More would take long to count in: every record is compared with every cell."""

FEWEST_CELLS = 20


def cells_for(n_units: int | None, n_public: int, epsilon: float) -> tuple[int, str]:
    """Return the number of cells for about n units at epsilon, and why.

    Smaller cells mix fewer kinds of records and drown more in noise; the student averages noise out well, so cells
    may be small: n epsilon / 4, at most one per public row, and at most 50,000 to stay quick.

    Examples
    --------
    >>> cells_for(32_561, 8_140, 1.0)[0]
    8140
    >>> cells_for(6_499, 812, 0.25)[0]
    406
    """
    positive_integer(public_rows=n_public)
    if n_units is not None:
        positive_integer(rows=n_units)
    units = USUAL_RATIO * n_public if n_units is None else n_units
    wanted = max(FEWEST_CELLS, int(units * epsilon / RECORDS_PER_CELL))
    n_cells = min(wanted, n_public, MOST_CELLS)
    known = "declared" if n_units is not None else "assumed (declare them with --rows, in Python n_rows)"
    return n_cells, f"for about {units} {known} units, {n_public} public rows and this budget"
