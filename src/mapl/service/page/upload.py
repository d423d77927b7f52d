"""A CSV file of questions, as the page sends it: text with one line of names, and how it becomes rows."""

from __future__ import annotations

import csv
import io
from typing import Any

from mapl.data.tables.schema import Schema
from mapl.errors import InvalidData
from mapl.service.page.forms import cell_of

MARK = "\ufeff"
"""What spreadsheets like to write before the first name."""


def rows_of_csv(text: str, schema: Schema, *, most: int) -> list[dict[str, Any]]:
    """Return the rows of a file; empty cells are missing, columns that are not declared are left aside."""
    reader = csv.reader(io.StringIO(text.removeprefix(MARK), newline=""), strict=True)
    rows: list[dict[str, Any]] = []
    try:
        names = next(reader, [])
        places = _places(names, schema)
        for cells in reader:
            if not cells:
                continue
            if len(cells) != len(names):
                raise InvalidData(
                    f"Row {len(rows) + 1} has {len(cells)} cells and the first line {len(names)} names; "
                    "give every row one cell for each name."
                )
            if len(rows) == most:
                raise InvalidData(f"The file has more than {most} rows; send it in parts.")
            rows.append({one.name: cell_of(cells[places[one.name]].strip(), one) for one in schema.columns})
    except csv.Error:
        raise InvalidData(
            f"The file cannot be read as CSV after row {len(rows)}; separate cells by commas, and put those with "
            "commas, quotes or line breaks into double quotes."
        ) from None
    if not rows:
        raise InvalidData("The file has no rows; give one line of column names and one line for each question.")
    return rows


def _places(names: list[str], schema: Schema) -> dict[str, int]:
    found = {name.strip(): place for place, name in enumerate(names)}
    lacking = [name for name in schema.names if name not in found]
    if lacking or len(found) < len(names):
        what = f"lacks {', '.join(lacking[:5])}" if lacking else "names a column twice"
        raise InvalidData(f"The first line of the file {what}; its columns are {', '.join(schema.names[:20])}.")
    return found
