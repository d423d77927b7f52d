"""Whose a row is: the one name of a unit, however its id is stored or spelled."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from mapl.data.reading.entries import decode, texts
from mapl.data.reading.numerals import spell_numerals
from mapl.data.reading.python_cells import arrow_column
from mapl.data.reading.sound_text import is_bytes
from mapl.data.units.identities import Identities
from mapl.errors import InvalidData


def unit_names(cells: Any) -> Any:
    """Return the name of every unit as bytes, null where a cell is empty or of a type that names nobody.

    7, 7.0, "7", " 7.00" and a decimal 7.00 name one unit, "007" another; whole numbers of any size are themselves.
    Each id is spelled by itself. If the spelling of one id depended on what else stands in the column, one added
    unit could move others to new shards. Bytes that are no text name a unit by themselves. Lists, structs, maps and
    durations name nobody: all rows together decide that a column is stored so, and a refusal would tell of it.
    """
    column = decode(arrow_column(cells))
    column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if is_bytes(column.type):
        content = column.cast(pa.large_binary())
        try:
            column = content.cast(pa.large_string())
        except pa.ArrowInvalid:
            return pa.array(list(map(_name_of_bytes, content.to_pylist())), pa.large_binary())
    return spell_numerals(texts(column)).cast(pa.large_binary())


def unit_bytes(cells: Any) -> Identities:
    """Return the identities of units, or refuse empty cells: every row must be somebody's."""
    column = unit_names(cells)
    if column.null_count:
        raise InvalidData(
            "The unit column has empty cells; every row must name the unit, such as the person, it belongs to. "
            "Fill them in, or leave those rows out."
        )
    return Identities(column)


def _name_of_bytes(content: bytes | None) -> bytes | None:
    if content is None:
        return None
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return content
    name: str | None = spell_numerals(texts(pa.array([text], pa.large_string())))[0].as_py()
    return None if name is None else name.encode()
