"""Rows that nobody is in: drawn from what a schema says in public, to rehearse a set-up on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from mapl.data.reading.conform import conform
from mapl.data.tables.column import Column
from mapl.data.tables.rows import Rows
from mapl.data.tables.schema import Schema
from mapl.errors import InvalidParameter

WORDS = ("amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heron", "inlet", "jetty", "knoll", "larch")


def refuse_undeclared(schema: Schema) -> None:
    """Refuse numbers, dates and images of which nothing is declared: made up of nothing, they stand for nothing."""
    bare = [
        declared.name
        for declared in schema.columns
        if declared.kind in ("number", "date", "image")
        and not declared.cuts
        and (declared.centre, declared.spread) == (0.0, 1.0)
    ]
    if bare:
        raise InvalidParameter(
            f"There are no public rows, and the schema does not say where column {bare[0]!r} lies; declare "
            '"range": [0, 120] for a number, or "centre" and "spread" (of a date, in days from 1970; of an image, '
            "of its pixels)."
        )


def made_up_rows(schema: Schema, n: int, rng: np.random.Generator) -> Rows:
    """Draw rows column by column, each by its own public statistics; they resemble no private row but by chance."""
    table = pa.table({column.name: _cells(column, n, rng) for column in schema.columns})
    return conform(table, schema, "made-up rows")


def _cells(column: Column, n: int, rng: np.random.Generator) -> Any:
    if column.kind == "category":
        return pa.array([column.values[place] for place in rng.integers(len(column.values), size=n)])
    if column.kind == "text":
        return pa.array([" ".join(rng.choice(WORDS, size=6)) + f" {rng.integers(10**6)}" for _ in range(n)])
    if column.kind == "image":
        pixels = column.centre + column.spread * rng.standard_normal((n, column.width))
        return pa.FixedSizeListArray.from_arrays(pa.array(pixels.astype(np.float32).ravel()), column.width)
    if column.is_switch:
        values = column.centre + column.spread * rng.integers(2, size=n)
    else:
        values = column.centre + column.spread * rng.standard_normal(n)
    if column.kind == "date":
        return pa.array((values * 86_400_000).astype(np.int64).astype("datetime64[ms]"))
    return pa.array(values)
