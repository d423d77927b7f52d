"""Bringing rows into the form that the schema declares, cell by cell.

What a column becomes is decided by the schema alone. A category keeps exactly the declared values: levels that
pandas or polars collected from all private rows would tell each teacher something about rows it must not see.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mapl.data.column import Column
from mapl.data.entries import Entries, decoded, is_list, is_text, legible, numbers, places, texts, written
from mapl.data.rows import Rows, column, is_matrix, select
from mapl.data.schema import Schema

MOMENT = pa.timestamp("us")


def conformed(rows: Rows, schema: Schema, what: str) -> Rows:
    """Return the schema's columns of some rows, in its order and in the form it declares.

    A pyarrow Table is cast. So is a pandas or polars frame, whose types were inferred from all of its rows: one
    empty or misspelled cell would otherwise change what every teacher sees, and the identity of every record. A
    matrix is itself.
    """
    schema.checked_against(rows, what)
    if is_matrix(rows):
        return rows
    if isinstance(rows, pa.Table):
        return conformed_table({name: rows.column(name) for name in schema.names}, schema, what)
    rows = select(rows, schema.names)
    cast = {}
    for declared in schema.columns:
        with legible(declared.name, declared.kind, what):
            cells = whole(as_declared(declared, column(rows, declared.name)))
        # In a frame an empty cell makes whole numbers fractional, so all numbers are.
        cast[declared.name] = cells.cast(pa.float64(), safe=False) if declared.kind == "number" else cells
    return _with_columns(rows, cast)


def conformed_table(columns: MutableMapping[str, Entries], schema: Schema, what: str) -> pa.Table:
    """Build a table from its columns, casting them one by one.

    Columns are taken out of the mapping, so that whoever keeps no other reference never holds two copies.
    """
    cast = []
    for declared in schema.columns:
        with legible(declared.name, declared.kind, what):
            cast.append(whole(as_declared(declared, columns.pop(declared.name))))
    return pa.table(cast, names=list(schema.names))


def as_declared(declared: Column, cells: Entries) -> Entries:
    """Return the cells of a column in the type that its kind is kept in."""
    kind = cells.type
    match declared.kind:
        case "number":
            kept = pa.types.is_integer(kind) or kind in (pa.float32(), pa.float64())
            return cells if kept else pa.array(np.asarray(numbers(cells), dtype=np.float64))
        case "category":
            return _categories(cells, declared.categories)
        case "text":
            spoken = written(cells)
            return pc.fill_null(spoken, "") if spoken.null_count else spoken
        case "date":
            if kind == MOMENT:
                return cells
            plain = decoded(cells)
            return (texts(plain) if is_text(plain.type) else plain).cast(MOMENT, safe=False)
        case _:
            if not is_list(kind):
                raise pa.ArrowInvalid("not lists")
            return cells.cast(pa.list_(kind.value_type, declared.width))


def whole(cells: Entries) -> Entries:
    """Return cells in one piece, so that taking some of them costs no walk through all."""
    if isinstance(cells, pa.ChunkedArray) and cells.num_chunks != 1:
        return cells.combine_chunks()
    return cells


def _categories(cells: Entries, categories: tuple[str, ...]) -> Entries:
    levels, index = pa.array(categories, pa.string()), pa.int8() if len(categories) < 128 else pa.int32()
    chunks = cells.chunks if isinstance(cells, pa.ChunkedArray) else [cells]
    if cells.type == pa.dictionary(index, pa.string()) and all(one.dictionary.equals(levels) for one in chunks):
        return cells
    found = places(cells, categories)
    found = found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found
    return pa.DictionaryArray.from_arrays(found.cast(index), levels)


def _with_columns(rows: Rows, columns: Mapping[str, Entries]) -> Rows:
    """Put other columns in the place of those of a pandas or polars frame."""
    replacing = pa.table(dict(columns))
    if hasattr(rows, "iloc"):
        frame = replacing.to_pandas().set_axis(rows.index, axis="index")
        return rows.assign(**{name: frame[name] for name in columns})
    import polars as pl

    frame = pl.DataFrame(replacing)
    fixed = [
        frame[name].cast(pl.String).cast(pl.Enum(cells.dictionary.to_pylist()))
        if pa.types.is_dictionary(cells.type)
        else frame[name]
        for name, cells in columns.items()
    ]
    return rows.with_columns(fixed)
