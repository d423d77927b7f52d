"""The rows of a private CSV file: text that is read cell by cell, a block of rows at a time.

A row with more or fewer cells than there are columns is left out, by itself. What a quotation mark that is never
closed does to the lines after it is in the nature of the format: they are one cell.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.csv

from mapl.data.reading.conform import conform_table, whole
from mapl.data.reading.text_file import COMPRESSED, WholeLineEnds, open_text, separator
from mapl.data.tables.schema import Schema
from mapl.errors import InvalidData

BLOCK, LARGEST_BLOCK = 1 << 24, (1 << 31) - 1
"""How many bytes are read at once; more where a row takes more."""


@dataclass(slots=True)
class TornLines:
    """How many lines have more or fewer cells than there are columns, for the eyes of the table's owner."""

    n: int = 0


def read_private_csv(path: Path, header: list[str], skip: int, schema: Schema) -> pa.Table:
    """Read the rows below a header into the form that the schema declares; label and unit stay text.

    Parameters
    ----------
    skip
        How many lines stand above the rows.
    """
    return gather_blocks(each_block(path, header, skip), schema)


def gather_blocks(blocks: Iterator[pa.Table], schema: Schema) -> pa.Table:
    """Bring blocks of text into the form that the schema declares, one by one, and put them together."""
    table = pa.concat_tables([_read(block, schema) for block in blocks])
    return pa.table([whole(cells) for cells in table.columns], names=table.column_names)


def each_block(path: Path, header: list[str], skip: int, torn: TornLines | None = None) -> Iterator[pa.Table]:
    """Yield every block of rows, as bytes; one at least, of no rows where the file has none.

    Parameters
    ----------
    torn
        Where to count the rows that are left out.
    """
    size, n_told = BLOCK, 0
    while True:
        left_out, n_seen = count(), 0
        try:
            for block in _blocks(path, header, skip, size, left_out):
                before, n_seen = n_seen, n_seen + len(block)
                if n_seen > n_told:  # all that was told before reading began anew stands in front
                    yield block.slice(max(0, n_told - before))
                    n_told = n_seen
        except pa.ArrowInvalid:
            if size >= (
                LARGEST_BLOCK if path.suffix.lower() == COMPRESSED else min(2 * path.stat().st_size, LARGEST_BLOCK)
            ):
                raise InvalidData(f"{path} cannot be read as .csv: it is damaged. Write it again.") from None
            size = min(8 * size, LARGEST_BLOCK)  # some row is longer than a block
        else:
            break
    if not n_told:
        yield _nothing(header)
    if torn is not None:
        torn.n += next(left_out)


def _blocks(path: Path, header: list[str], skip: int, size: int, left_out: Iterator[int]) -> Iterator[pa.Table]:
    def leave_out(row: Any) -> str:
        next(left_out)
        return "skip"

    with open_text(path) as source:
        reader = pa.csv.open_csv(
            SoundBytes(source),
            read_options=pa.csv.ReadOptions(column_names=header, skip_rows=skip, block_size=size),
            parse_options=pa.csv.ParseOptions(
                delimiter=separator(path), newlines_in_values=True, invalid_row_handler=leave_out
            ),
            convert_options=pa.csv.ConvertOptions(column_types=dict.fromkeys(header, pa.large_binary())),
        )
        with reader:
            for batch in reader:
                yield pa.Table.from_batches([batch])


class SoundBytes(WholeLineEnds):
    """A stream of bytes that are UTF-8, whatever the bytes of the other are; separators are never swallowed.

    pyarrow hands the text of a row that it cannot part to Python, and complains aloud where that is no text.
    """

    def __init__(self, source: IO[bytes]) -> None:
        super().__init__(source)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def mended(self, content: bytes) -> bytes:
        return self._decoder.decode(content, final=not content).encode()


def _nothing(header: list[str]) -> pa.Table:
    return pa.table({name: pa.array([], pa.large_binary()) for name in header})


def _read(block: pa.Table, schema: Schema) -> pa.Table:
    columns: dict[str, Any] = dict(zip(block.column_names, block.columns, strict=True))
    beside = {name: columns.pop(name) for name in schema.asides}
    read = conform_table(columns, schema)
    for name, cells in beside.items():
        read = read.append_column(name, cells)
    return read
