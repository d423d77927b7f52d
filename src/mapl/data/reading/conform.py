"""Bringing rows into the form that the schema declares, cell by cell: the one place where storage types end.

What a cell becomes is decided by that cell and the schema alone, and no cell is refused. What a column is stored as
is decided by all private rows together, so it must not reach a learner, a program, a cell or an identity. A
category keeps exactly the declared values: levels that pandas or polars collected from all private rows would tell
each teacher something about rows it must not see.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mapl.data.reading.entries import Entries, illegible, images, moments, places, reals, spell
from mapl.data.reading.gaps import has_illegible
from mapl.data.reading.python_cells import image_of
from mapl.data.tables.column import Column
from mapl.data.tables.rows import Rows, cells_of, column, is_matrix, is_sparse, native
from mapl.data.tables.schema import Schema


def conform(rows: Rows, schema: Schema, what: str, *, public: bool = False) -> Rows:
    """Return the schema's columns of some rows, in its order and in the form it declares.

    Numbers are 64-bit floats, in matrices too, dates are microseconds in UTC, categories hold the declared values
    (and one for all others, where the schema declares a rest), images are 32-bit floats; what is missing or cannot
    be read is missing. The kind of rows stays.

    Parameters
    ----------
    public
        Whether the rows are public: cells that cannot be read are then refused, as nobody's secret.
    """
    schema.checked_against(rows, what)
    if is_matrix(rows):
        return _floats(rows)
    raw = {declared.name: _raw(rows, declared) for declared in schema.columns}
    if public:
        refuse_illegible(raw, schema, what)
    table = conform_table(raw, schema)
    return table if isinstance(rows, pa.Table) else _as_frame(table, rows)


def conform_table(columns: MutableMapping[str, Entries], schema: Schema) -> pa.Table:
    """Build a table from its columns, reading them one by one.

    Columns are taken out of the mapping, so that whoever keeps no other reference never holds two copies.
    """
    read = [whole(as_declared(declared, columns.pop(declared.name))) for declared in schema.columns]
    return pa.table(read, names=list(schema.names))


def as_declared(declared: Column, cells: Entries) -> Entries:
    """Return the cells of a column in the type that its kind is kept in."""
    match declared.kind:
        case "number":
            return reals(cells)
        case "category":
            return _categories(cells, declared)
        case "text":
            spoken = spell(cells)
            return pc.fill_null(spoken, "") if spoken.null_count else spoken
        case "date":
            return moments(cells, declared.order)
        case _:
            return images(cells, declared.width)


def refuse_illegible(columns: Mapping[str, Entries], schema: Schema, what: str) -> None:
    """Refuse PUBLIC columns with cells that are not what the schema declares; quote none."""
    for declared in schema.columns:
        if has_illegible(declared, columns[declared.name]):
            raise illegible(declared.name, declared.kind, what)


def whole(cells: Entries) -> Entries:
    """Return cells in one piece, so that taking some of them costs no walk through all."""
    if isinstance(cells, pa.ChunkedArray) and cells.num_chunks != 1:
        return cells.combine_chunks()
    return cells


def _raw(rows: Rows, declared: Column) -> Entries:
    if declared.kind != "image" or isinstance(rows, pa.Table):
        return column(rows, declared.name)
    cells = cells_of(rows, declared.name)
    if getattr(cells, "dtype", None) != np.dtype(object):
        return column(rows, declared.name)
    kept = [image_of(cell, declared.width) for cell in cells]  # Arrow would find one type for all, or none
    return pa.array(kept, pa.list_(pa.float64()))


def _categories(cells: Entries, declared: Column) -> Entries:
    values = declared.values
    levels, index = pa.array(values, pa.string()), pa.int8() if len(values) < 128 else pa.int32()
    chunks = cells.chunks if isinstance(cells, pa.ChunkedArray) else [cells]
    if cells.type == pa.dictionary(index, pa.string()) and all(one.dictionary.equals(levels) for one in chunks):
        return cells
    found = places(cells, declared.categories, rest=declared.rest).cast(index)
    found = found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found
    return pa.DictionaryArray.from_arrays(found, levels)


def _floats(rows: Rows) -> Rows:
    """Return a matrix of 64-bit floats; a sparse one holds each entry once, in order, and no zeros."""
    if not is_sparse(rows):
        return np.asarray(rows, dtype=np.float64)
    given = native(rows)
    own = given.astype(np.float64)  # a copy, or the user's own would be put in order
    own = own.copy() if own is given or np.shares_memory(own.data, given.data) else own
    own.sum_duplicates()
    own.eliminate_zeros()
    ordered: Rows = own
    return ordered


def _as_frame(table: pa.Table, like: Rows) -> Rows:
    """Return a table as a pandas or polars frame, whichever the other one is."""
    if hasattr(like, "iloc"):
        in_pandas: Rows = table.to_pandas().set_axis(native(like).index, axis="index")
        return in_pandas
    import polars as pl

    frame = pl.DataFrame(table)
    return frame.with_columns(
        frame[name].cast(pl.String).cast(pl.Enum(cells.chunk(0).dictionary.to_pylist()))
        for name, cells in zip(table.column_names, table.columns, strict=True)
        if pa.types.is_dictionary(cells.type)
    )
