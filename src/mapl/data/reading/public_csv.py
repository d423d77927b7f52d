"""Reading public rows of text, whose kinds of columns are guessed from all of them."""

from __future__ import annotations

import io
import re
import shutil
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from mapl.data.reading.entries import MISSING_NUMBERS
from mapl.data.reading.numerals import CODE
from mapl.data.reading.sound_text import sound
from mapl.data.reading.text_file import WholeLineEnds, open_text, separator
from mapl.errors import InvalidData

LARGEST_BLOCK = (1 << 31) - 1
"""How many bytes are parsed at once at most. What is shorter is one block, without borders inside: a private label
beside public features may be of any length, and none says how others are read."""

NOT_UTF8 = "{path} is not text in UTF-8; save it again with that encoding."


def read_public_csv(
    path: Path, header: list[str], skip: int, as_text: tuple[str, ...], content: bytes | None = None
) -> pa.Table:
    """Return the rows below a header, with some columns as text whatever they look like.

    Parameters
    ----------
    content
        What the file says, where it is no CSV file itself.
    """
    if content is None:
        text, delimiter = _content_of(path, skip), separator(path)
    else:
        text, delimiter = _hold(io.BytesIO(content)), ","
    kept = [name for name in as_text if name in header]
    types: dict[str, Any] = dict.fromkeys(kept, pa.large_binary())
    while True:
        try:
            table = _parse(text, delimiter, header, skip, types)
            break
        except pa.ArrowInvalid as failure:
            # A column whose cells are not what the first of them look like is tried as numbers, and then as text.
            name = _failing_column(failure, header)
            if name is None or types.get(name) == pa.string():
                raise _unreadable(path, failure) from None
            types = types | {name: pa.string() if name in types else pa.float64()}
    if pa.binary() in table.schema.types:  # what pyarrow makes of text in another encoding
        raise InvalidData(NOT_UTF8.format(path=path))
    for name in kept:
        table = table.set_column(header.index(name), name, sound(table.column(name)))
    return _keep_codes(table, text, delimiter, skip)


def _content_of(path: Path, skip: int) -> pa.Buffer:
    with open_text(path) as opened:
        if not any(line.strip() for number, line in enumerate(opened) if number >= skip):
            raise InvalidData(f"{path} has no rows below its header; expected one row per record.")
        opened.seek(0)
        return _hold(opened)


def _hold(opened: IO[bytes]) -> pa.Buffer:
    """Read a whole stream into memory of pyarrow's own.

    pyarrow lets go of what it has read in threads that may outlive a command that fails right afterwards. Where
    that is an object of Python's, such a thread ends the process in the middle of its end, with a code of its own.
    """
    held = pa.BufferOutputStream()
    shutil.copyfileobj(opened, held)
    return held.getvalue()


def _keep_codes(table: pa.Table, text: pa.Buffer, delimiter: str, skip: int) -> pa.Table:
    """Leave whole numbers that are written with zeros in front, such as 007, the texts that they are elsewhere."""
    header = table.column_names
    whole = [name for name, kind in zip(header, table.schema.types, strict=True) if pa.types.is_integer(kind)]
    if not whole:
        return table
    written = _parse(text, delimiter, header, skip, dict.fromkeys(whole, pa.large_string()), only=whole)
    for name in whole:
        cells = pc.utf8_trim_whitespace(written.column(name))
        if pc.any(pc.match_substring_regex(cells, CODE)).as_py():
            cells = pc.if_else(table.column(name).is_valid(), cells, None)
            table = table.set_column(header.index(name), name, cells)
    return table


def _parse(
    text: pa.Buffer,
    delimiter: str,
    header: list[str],
    skip: int,
    types: dict[str, Any],
    only: list[str] | None = None,
) -> pa.Table:
    source: Any = pa.BufferReader(text)
    return pa.csv.read_csv(
        source if text.size < LARGEST_BLOCK else WholeLineEnds(source),
        read_options=pa.csv.ReadOptions(
            column_names=header, skip_rows=skip, block_size=min(text.size + 1, LARGEST_BLOCK)
        ),
        parse_options=pa.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
        convert_options=pa.csv.ConvertOptions(
            column_types=types, null_values=list(MISSING_NUMBERS), include_columns=only
        ),
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
