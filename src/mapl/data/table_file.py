"""Reading tables from CSV, Parquet and Arrow files; private ones by their schema alone.

pyarrow's complaints may quote a cell, so they are sorted by kind and told in other words.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.ipc
import pyarrow.parquet

from mapl.data.conform import MOMENT, conformed_table, whole
from mapl.data.entries import MISSING_NUMBERS, illegible, is_text
from mapl.data.files import content_of, drop_index, first_lines, is_number, is_range, kind_of, readable
from mapl.data.rows import checked
from mapl.data.schema import Schema
from mapl.errors import InvalidData

CONTENTS = {".csv": None, ".parquet": "Parquet", ".arrow": "Arrow", ".feather": "Arrow", ".ipc": "Arrow"}
"""What files of each name must begin with; None stands for text."""

NOT_UTF8 = "{path} is not text in UTF-8; save it again with that encoding."

CSV_TYPES = {
    "number": pa.float64(),
    "category": pa.dictionary(pa.int32(), pa.string()),
    "text": pa.string(),
    "date": MOMENT,
}


def read_table(path: Path, *, what: str, schema: Schema | None = None, as_text: Sequence[str] = ()) -> pa.Table:
    """Read a CSV, Parquet or Arrow (Feather) file.

    Parameters
    ----------
    what
        What its rows are, for messages: "private rows", "public rows".
    schema
        The declared columns, label and unit included. Private rows are always read with it: it alone says what a
        cell may be, and no cell changes how another one is read. Without it types are guessed from the cells,
        which must be public.
    as_text
        Columns to read from a CSV file as they are written, without a guess, such as private labels beside public
        features.
    """
    kind = kind_of(path, tuple(CONTENTS), rows="a table with one row per record")
    content = content_of(path)
    if content != CONTENTS[kind]:
        raise InvalidData(
            f"{path} is named {kind} and holds {content or 'something else, or is damaged or cut off'}; name it "
            f"after what it holds, or write it again as {kind} (.csv: text in UTF-8, separated by commas)."
        )
    if kind == ".csv":
        table = _read_csv(path, what, schema, tuple(as_text))
    else:
        with readable(path):
            table = _read_parquet(path, what, schema) if kind == ".parquet" else _read_arrow(path)
    table = checked(table, what)
    if schema is None:
        return table
    schema.check_names(table.column_names, what, with_asides=True)
    columns = dict(zip(table.column_names, table.columns, strict=True))
    del table  # from here on each column is held once
    beside = {name: whole(columns.pop(name)) for name in schema.asides}
    read = conformed_table(columns, schema, what)
    for name, cells in beside.items():
        read = read.append_column(name, cells)
    return read


def _read_parquet(path: Path, what: str, schema: Schema | None) -> pa.Table:
    with pa.parquet.ParquetFile(path) as opened:
        stored = opened.schema_arrow
    found = drop_index(stored.names)
    _refuse_twins(found, what)
    if schema is None:
        return pa.parquet.read_table(path, columns=found, partitioning=None)
    schema.check_names(found, what, with_asides=True)
    short = [one.name for one in schema.columns if one.kind == "category" and is_text(stored.field(one.name).type)]
    return pa.parquet.read_table(path, columns=found, partitioning=None, read_dictionary=short)


def _read_arrow(path: Path) -> pa.Table:
    with pa.OSFile(str(path)) as source:
        begins_as_file = source.read(6) == b"ARROW1"
        source.seek(0)
        reader = pa.ipc.open_file(source) if begins_as_file else pa.ipc.open_stream(source)
        table = reader.read_all()
    return table.select(drop_index(table.column_names))


def _read_csv(path: Path, what: str, schema: Schema | None, as_text: tuple[str, ...]) -> pa.Table:
    header, skip = _header(path, what)
    if schema is None:
        return _guessed_csv(path, header, skip, dict.fromkeys(as_text, pa.string()))
    schema.check_names(header, what, with_asides=True)
    images = [one.name for one in schema.columns if one.kind == "image"]
    if images:
        raise InvalidData(f"Column {images[0]!r} is an image, which .csv cannot hold; give the {what} as .parquet.")
    kinds = {one.name: one.kind for one in schema.columns}
    types = dict.fromkeys(header, pa.string()) | {name: CSV_TYPES[kind] for name, kind in kinds.items()}
    try:
        return _csv(path, header, skip, types)
    except pa.ArrowInvalid as failure:
        name = _failing_column(failure, header)
        if name is None:
            raise _unreadable(path, failure) from None
        raise illegible(name, kinds.get(name, "text"), what) from None


def _guessed_csv(path: Path, header: list[str], skip: int, types: dict[str, Any]) -> pa.Table:
    """Read public rows; where a first guess fails, a column is tried as numbers, and then as text."""
    while True:
        try:
            table = _csv(path, header, skip, types)
        except pa.ArrowInvalid as failure:
            name = _failing_column(failure, header)
            if name is None or types.get(name) == pa.string():
                raise _unreadable(path, failure) from None
            types = types | {name: pa.string() if name in types else pa.float64()}
        else:
            if pa.binary() in table.schema.types:  # what pyarrow makes of text in another encoding
                raise InvalidData(NOT_UTF8.format(path=path))
            return table


def _csv(path: Path, header: list[str], skip: int, types: dict[str, Any]) -> pa.Table:
    with path.open("rb") as opened:
        if not any(line.strip() for number, line in enumerate(opened) if number >= skip):
            raise InvalidData(f"{path} has no rows below its header; expected one row per record.")
    return pa.csv.read_csv(
        path,
        read_options=pa.csv.ReadOptions(column_names=header, skip_rows=skip),
        parse_options=pa.csv.ParseOptions(newlines_in_values=True),
        convert_options=pa.csv.ConvertOptions(column_types=types, null_values=list(MISSING_NUMBERS)),
    )


def _header(path: Path, what: str) -> tuple[list[str], int]:
    """Return the column names of a CSV file and how many lines to skip; never quote them, they may be a row."""
    with readable(path):
        try:
            top = first_lines(path, rows="a line of column names and one row per record")
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


def _refuse_twins(found: Sequence[str], what: str) -> None:
    if len(set(found)) < len(found):
        raise InvalidData(
            f"The {what} have two columns of one name, or no line with names above them; give every column its own."
        )


def _failing_column(failure: Exception, header: list[str]) -> str | None:
    """Return the column whose cells are not of the expected type, if that is what pyarrow complains about."""
    place = re.match(r"In CSV column #(\d+):", str(failure))
    return header[int(place[1])] if place and "UTF8" not in str(failure) else None


def _unreadable(path: Path, failure: Exception) -> InvalidData:
    if "UTF8" in str(failure):
        return InvalidData(NOT_UTF8.format(path=path))
    return InvalidData(
        f"{path} cannot be read as .csv: some rows have more or fewer cells than the first line, or a quotation "
        "mark is not closed. Write it again."
    )
