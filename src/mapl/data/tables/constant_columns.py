"""Columns that have one value in all PUBLIC rows: no public map can tell private rows apart by them."""

from __future__ import annotations

import pyarrow.compute as pc

from mapl.data.reading.entries import decode
from mapl.data.tables.rows import Rows, column
from mapl.data.tables.schema import Schema


def constant_warning(public: Rows, schema: Schema) -> str | None:
    """Warn of constant columns; never give private rows here."""
    found = [
        repr(one.name)
        for one in schema.columns
        if one.kind != "image" and len(pc.unique(decode(column(public, one.name)))) == 1
    ]
    if not found:
        return None
    listed = ", ".join(found[:8]) + (f" and {len(found) - 8} more" if len(found) > 8 else "")
    return (
        f"All public rows have the same value in {listed}, so that private rows cannot be told apart by it, and "
        "those with other values may lie far from all public ones. Give public rows that differ there, or leave it "
        "out of both tables."
    )
