"""Tables as JSON lines: one object per line, whose keys are the columns.

A line is read by itself, and a cell of it by itself: the order of keys, keys that others lack or have besides, and
what type another line gives a column change nothing. A line that is no object is left out. Nothing is inferred from
a column: a cell is spelled as text, as a CSV file would hold it, and becomes what the schema declares later.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from mapl.data.reading.csv_rows import TornLines
from mapl.data.reading.python_cells import spell_object
from mapl.data.reading.text_file import open_text
from mapl.data.tables.schema import Schema
from mapl.errors import InvalidData

LINES_AT_ONCE = 1 << 15
MARK = "\ufeff"
"""What some programs write in front of a file in UTF-8."""

JsonRecord = dict[str, Any]


class Numeral(str):
    """A number as it was written, which no other cell and no limit of Python's own has touched."""


def json_blocks(path: Path, schema: Schema, torn: TornLines | None = None) -> Iterator[pa.Table]:
    """Yield private rows in blocks, one at least, with the declared columns, label and unit included."""
    images = {one.name for one in schema.columns if one.kind == "image"}
    columns = [*schema.names, *schema.asides]
    block: list[JsonRecord] = []
    any_yet = False
    for line in _lines(path):
        record = read_record(line)
        if record is None:
            if torn is not None:
                torn.n += 1
            continue
        block.append(record)
        if len(block) == LINES_AT_ONCE:
            yield _table(block, columns, images)
            block, any_yet = [], True
    if block or not any_yet:
        yield _table(block, columns, images)


def read_record(line: bytes) -> JsonRecord | None:
    """Read one line; None where it is no object. Of a key that comes twice, the last counts."""
    try:
        found = DECODER.decode(line.decode("utf-8", "replace").removeprefix(MARK).strip())
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _constant(name: str) -> Numeral | None:
    return None if name == "NaN" else Numeral(name.replace("Infinity", "inf"))


DECODER = json.JSONDecoder(parse_int=Numeral, parse_float=Numeral, parse_constant=_constant)


def spell_cell(cell: Any) -> str | None:
    """Spell a cell as text, None where it is missing or a list or an object, which say nothing.

    >>> [spell_cell(Numeral(one)) for one in ("7", "7.0", "1.50", "-0", "1e400")]
    ['7', '7', '1.5', '-0', '1e400']
    """
    if isinstance(cell, Numeral):
        if cell.lstrip("-").isdecimal():
            return str(cell)
        value = float(cell)
        return str(cell) if value in (float("inf"), float("-inf")) else _text(value)
    return _text(cell)


def _text(cell: Any) -> str | None:
    spelled = spell_object(cell)
    return spelled if isinstance(spelled, str) else None


def _pixels(cell: Any) -> list[str | None] | None:
    """Return the numbers of an image as texts; whether they are numbers, and how many, is looked at later."""
    return list(map(spell_cell, cell)) if isinstance(cell, list) else None


def _table(block: Sequence[JsonRecord], columns: Sequence[str], images: set[str]) -> pa.Table:
    made = {}
    for name in columns:
        cells = (record.get(name) for record in block)
        if name in images:
            made[name] = pa.array([_pixels(cell) for cell in cells], pa.large_list(pa.large_string()))
        else:
            made[name] = pa.array([spell_cell(cell) for cell in cells], pa.large_string())
    return pa.table(made)


def _lines(path: Path) -> Iterator[bytes]:
    """Yield the lines that hold anything; only a line feed ends one."""
    with open_text(path) as opened:
        for line in opened:
            if line.strip():
                yield line


def public_records(path: Path, *, strict: bool) -> list[JsonRecord]:
    """Read PUBLIC rows, or refuse a line that is no object, and text that is no UTF-8 where that is wanted."""
    records = []
    for number, line in enumerate(_lines(path), start=1):
        record = read_record(line)
        if record is None:
            raise InvalidData(
                f"Line {number} of {path} is no JSON object; expected one object per line, with the names of the "
                'columns as keys, such as {"age": 34, "sex": "female"}.'
            )
        if strict and not _is_utf8(line):
            raise InvalidData(f"{path} is not text in UTF-8; save it again with that encoding.")
        records.append(record)
    if not records:
        raise InvalidData(f"{path} has no rows; expected one JSON object per line.")
    return records


def as_csv(records: Iterable[JsonRecord], columns: Sequence[str]) -> bytes:
    """Write records as CSV, so that types are guessed as those of a CSV file of the same content."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(columns)
    rows.writerows([spell_cell(record.get(name)) for name in columns] for record in records)
    return text.getvalue().encode()


def list_columns(records: Sequence[JsonRecord]) -> dict[str, pa.Array]:
    """Return the columns of PUBLIC records that hold lists, each list as numbers."""
    found = {name for record in records for name, cell in record.items() if isinstance(cell, list)}
    made = {}
    for name in sorted(found):
        cells = [_pixels(record.get(name)) for record in records]
        made[name] = pa.array(
            [None if cell is None else [_number(one) for one in cell] for cell in cells],
            pa.large_list(pa.float64()),
        )
    return made


def _number(text: str | None) -> float | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        return None


def names_of(records: Iterable[JsonRecord]) -> list[str]:
    """Return the keys of PUBLIC records in the order in which they first come."""
    return list(dict.fromkeys(name for record in records for name in record))


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True
