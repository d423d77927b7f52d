"""Reading tables from CSV, JSON lines, Parquet and Arrow files; private ones by their schema alone.

pyarrow's complaints may quote a cell, so they are sorted by kind and told in other words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.ipc
import pyarrow.parquet

from mapl.data.reading.conform import conform_table, whole
from mapl.data.reading.csv_rows import TornLines, each_block, gather_blocks, read_private_csv
from mapl.data.reading.entries import is_text
from mapl.data.reading.files import content_of, drop_index, first_lines, is_number, is_range, kind_of, readable
from mapl.data.reading.json_lines import (
    as_csv,
    json_blocks,
    list_columns,
    names_of,
    public_records,
    written_columns,
)
from mapl.data.reading.public_csv import NOT_UTF8, read_public_csv
from mapl.data.reading.text_file import COMPRESSED, JSON_LINES, SEPARATORS
from mapl.data.tables.rows import check_rows, native
from mapl.data.tables.schema import Schema
from mapl.errors import InvalidData

CONTENTS = {
    **{name: "compressed data" if name.endswith(COMPRESSED) else None for name in (*SEPARATORS, *JSON_LINES)},
    ".parquet": "Parquet",
    ".arrow": "Arrow",
    ".feather": "Arrow",
    ".ipc": "Arrow",
}
"""What files of each name must begin with; None stands for text."""

PRIVATE = "private rows"
ROWS_AT_ONCE = 1 << 16


def read_table(
    path: Path,
    *,
    what: str,
    schema: Schema | None = None,
    as_text: Sequence[str] = (),
    private: Sequence[str] = (),
) -> pa.Table:
    """Read a CSV file, JSON lines, a Parquet or an Arrow (Feather) file.

    Parameters
    ----------
    what
        What its rows are, for messages: "private rows", "public rows".
    schema
        The declared columns, label and unit included. Private rows are always read with it: it alone says what a
        cell may be, no cell changes how another one is read, and none is refused. Without it types are guessed
        from the cells, which must be public.
    as_text
        Columns to read from a file of text as they are written, without a guess.
    private
        Labels beside features that are public: read as they are written too, and no cell of them has a say in how
        any other is read.
    """
    kind = _kind(path, private=schema is not None)
    if kind in SEPARATORS and schema is not None:
        return read_private_csv(path, *_private_header(path, what, schema), schema)
    if kind in SEPARATORS:
        return check_rows(_read_csv(path, what, tuple(as_text), tuple(private)), what)
    if kind in JSON_LINES and schema is not None:
        return gather_blocks(json_blocks(path, schema), schema)
    if kind in JSON_LINES:
        return check_rows(_read_json_lines(path, what, tuple(as_text), tuple(private)), what)
    table = _stored(path, what, schema)
    if schema is None:
        return table
    columns = dict(zip(table.column_names, table.columns, strict=True))
    del table  # from here on each column is held once
    beside = {name: whole(columns.pop(name)) for name in schema.asides}
    read = conform_table(columns, schema)
    for name, cells in beside.items():
        read = read.append_column(name, cells)
    return read


def private_blocks(
    path: Path, schema: Schema, torn: TornLines | None = None, what: str = PRIVATE
) -> Iterator[pa.Table]:
    """Yield blocks of private rows as they are stored, with the declared columns, label and unit included.

    Parameters
    ----------
    torn
        Where to count the lines of a file of text that hold no row.
    what
        What the rows are, for messages.
    """
    kind = _kind(path, private=True)
    if kind in SEPARATORS:
        yield from each_block(path, *_private_header(path, what, schema), torn)
        return
    if kind in JSON_LINES:
        yield from json_blocks(path, schema, torn)
        return
    with readable(path):
        if kind == ".parquet":
            with path.open("rb") as opened:
                yield from parquet_blocks(opened, schema, what)
        else:
            table = _read_arrow(path)
            _refuse_twins(table.column_names, what, stored=True)
            schema.check_names(table.column_names, what, with_asides=True)
            yield table


def check_private_columns(path: Path, schema: Schema, what: str) -> None:
    """Refuse a file whose columns are not the declared ones, as far as that is known before rows are read."""
    kind = _kind(path, private=True)
    if kind in SEPARATORS:
        _private_header(path, what, schema)
    elif kind == ".parquet":
        with readable(path), path.open("rb") as opened:
            parquet_kinds(opened, schema, what)


def parquet_kinds(opened: Any, schema: Schema, what: str) -> pa.Schema:
    """Return what an open Parquet file stores its columns as, once these are found to be the declared ones."""
    with pa.parquet.ParquetFile(opened) as stored:
        kinds = stored.schema_arrow
    found = drop_index(kinds.names)
    _refuse_twins(found, what, stored=True)
    schema.check_names(found, what, with_asides=True)
    return kinds


def parquet_blocks(opened: Any, schema: Schema, what: str = PRIVATE) -> Iterator[pa.Table]:
    """Yield the rows of an open Parquet file as they are stored; one block at least."""
    kinds = parquet_kinds(opened, schema, what)
    found, any_yet = drop_index(kinds.names), False
    with pa.parquet.ParquetFile(opened, read_dictionary=_short(schema, kinds)) as stored:
        for batch in stored.iter_batches(ROWS_AT_ONCE, columns=found):
            any_yet = True
            yield pa.Table.from_batches([batch])
    if not any_yet:
        yield kinds.empty_table().select(found)


def _kind(path: Path, *, private: bool) -> str:
    """Return the kind of a file, or refuse one that begins otherwise than its name says.

    JSON lines begin with a record, so that of private ones nothing is looked at, not even whether there is one.
    """
    plain = [name for name in JSON_LINES if private and not name.endswith(COMPRESSED)]
    kind = kind_of(path, tuple(CONTENTS), rows="a table with one row per record", may_be_empty=plain)
    if kind in plain:
        return kind
    content = content_of(path)
    if content != CONTENTS[kind]:
        raise InvalidData(
            f"{path} is named {kind} and holds {content or 'something else, or is damaged or cut off'}; name it "
            f"after what it holds, or write it again as {kind} (.csv: text in UTF-8, separated by commas)."
        )
    return kind


def _stored(path: Path, what: str, schema: Schema | None) -> pa.Table:
    with readable(path):
        table = _read_parquet(path, what, schema) if path.suffix.lower() == ".parquet" else _read_arrow(path)
    table = native(check_rows(table, what, may_be_none=schema is not None))
    if schema is not None:
        schema.check_names(table.column_names, what, with_asides=True)
    return table


def _read_parquet(path: Path, what: str, schema: Schema | None) -> pa.Table:
    with pa.parquet.ParquetFile(path) as opened:
        stored = opened.schema_arrow
    found = drop_index(stored.names)
    _refuse_twins(found, what, stored=True)
    if schema is None:
        return pa.parquet.read_table(path, columns=found, partitioning=None)
    schema.check_names(found, what, with_asides=True)
    return pa.parquet.read_table(path, columns=found, partitioning=None, read_dictionary=_short(schema, stored))


def _short(schema: Schema, stored: pa.Schema) -> list[str]:
    """Return the columns whose texts are few, and are read as numbers of a list."""
    return [one.name for one in schema.columns if one.kind == "category" and is_text(stored.field(one.name).type)]


def _read_arrow(path: Path) -> pa.Table:
    with pa.OSFile(str(path)) as source:
        begins_as_file = source.read(6) == b"ARROW1"
        source.seek(0)
        reader = pa.ipc.open_file(source) if begins_as_file else pa.ipc.open_stream(source)
        table = reader.read_all()
    return table.select(drop_index(table.column_names))


def _private_header(path: Path, what: str, schema: Schema) -> tuple[list[str], int]:
    header, skip = _header(path, what, errors="replace")
    schema.check_names(header, what, with_asides=True)
    images = [one.name for one in schema.columns if one.kind == "image"]
    if images:
        raise InvalidData(f"Column {images[0]!r} is an image, which .csv cannot hold; give the {what} as .parquet.")
    return header, skip


def _read_csv(path: Path, what: str, as_text: tuple[str, ...], private: tuple[str, ...]) -> pa.Table:
    # Private labels may stand beside public features, and none of them refuses the file.
    kept = (*as_text, *private)
    header, skip = _header(path, what, "replace" if kept else "strict")
    return read_public_csv(path, header, skip, kept)


def _read_json_lines(path: Path, what: str, as_text: tuple[str, ...], private: tuple[str, ...]) -> pa.Table:
    """Read public JSON lines as a CSV file of the same content is read, and lists besides."""
    records = public_records(path, strict=not (as_text or private))
    found = names_of(records)
    if "" in found:
        raise InvalidData(f"A key of {path} is empty; name every column.")
    apart = [name for name in found if name in private]
    columns = {**list_columns(records, but=apart), **written_columns(records, apart)}
    plain = [name for name in found if name not in columns]
    if plain:
        table = read_public_csv(path, plain, 1, as_text, as_csv(records, plain))
        columns |= dict(zip(plain, table.columns, strict=True))
    return pa.table({name: columns[name] for name in found})


def _header(path: Path, what: str, errors: str = "strict") -> tuple[list[str], int]:
    """Return the column names of a CSV file and how many lines to skip; never quote them, they may be a row."""
    with readable(path):
        try:
            top = first_lines(path, rows="a line of column names and one row per record", errors=errors)
        except UnicodeDecodeError:
            raise InvalidData(NOT_UTF8.format(path=path)) from None
    header = [cell.strip() for cell in top.first]
    if "" in header:
        raise InvalidData(f"Some columns of {path} have no name; name every column in its first line.")
    if any(map(is_number, header)) and not is_range(header):
        raise InvalidData(
            f"The first line of {path} holds numbers, so it seems to be a row; write the names of the columns "
            "above it."
        )
    _refuse_twins(header, what)
    return header, top.before + 1


def _refuse_twins(found: Sequence[str], what: str, *, stored: bool = False) -> None:
    """Refuse two columns of one name; it is told only where names are stored as such, and no row can be meant."""
    twins = sorted(name for name, times in Counter(found).items() if times > 1)
    if twins and stored:
        raise InvalidData(f"The {what} have two columns named {twins[0]!r}; give every column its own name.")
    if twins:
        raise InvalidData(
            f"The {what} have two columns of one name, or no line with names above them; give every column its own."
        )
