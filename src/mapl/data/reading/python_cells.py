"""Columns of Python objects, as pandas and polars hold them where cells differ in type, as Arrow columns.

Arrow would infer one type from all cells, or refuse them. Here a cell is spelled by itself, whatever stands beside
it, and what is neither a number, nor text, nor a moment says nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any
from uuid import UUID

import numpy as np
import pyarrow as pa

from mapl.data.reading.numerals import spell_float

PLAIN = "biufMmSU"
LONGEST_BITS = 3318
"""Whole numbers of more bits have more digits than any number that is read from text."""

LONGEST_DIGITS = 1000
"""So do decimals with more places before or behind the point."""


def arrow_column(cells: Any) -> Any:
    """Return a pandas or polars Series, an array or a list as an Arrow array.

    Types that were declared stay. Objects of different types become text, which says what they say.
    """
    if isinstance(cells, (pa.Array, pa.ChunkedArray)):
        return cells
    if hasattr(cells, "sparse") and str(getattr(cells, "dtype", "")).startswith("Sparse"):
        cells = cells.sparse.to_dense()
    if _is_declared(cells):
        with suppress(Exception):  # whatever says that Arrow lacks the type
            return cells.to_arrow() if hasattr(cells, "to_arrow") else pa.array(cells, from_pandas=True)
    objects = cells.to_list() if hasattr(cells, "to_list") else list(cells)
    if len({type(cell) for cell in objects if not _is_missing(cell)}) <= 1:  # a guess then changes no cell
        with suppress(pa.ArrowException, TypeError, ValueError, OverflowError):
            return pa.array(objects, from_pandas=True)
    spelled = list(map(spell_object, objects))
    if any(isinstance(one, bytes) for one in spelled):  # bytes that are no text stay themselves, as ids have to
        encoded = [one.encode() if isinstance(one, str) else one for one in spelled]
        return pa.array(encoded, pa.large_binary())
    return pa.array(spelled, pa.large_string())


def _is_declared(cells: Any) -> bool:
    kind = getattr(cells, "dtype", None)
    if kind is None:
        return False
    if isinstance(kind, np.dtype):
        return kind.kind in PLAIN
    return str(kind) != "Object"


def _is_missing(cell: Any) -> bool:
    if isinstance(cell, float):
        return cell != cell
    return cell is None or type(cell).__name__ in ("NAType", "NaTType")  # of pandas, which need not be there


def spell_object(cell: Any) -> str | bytes | None:
    """Spell one Python object as the column would that held it alone; bytes are their own spelling.

    None stands for what is missing or says nothing that a column may hold.
    """
    if isinstance(cell, np.generic) and not isinstance(cell, (np.longdouble, np.datetime64, np.timedelta64)):
        cell = cell.item()
    match cell:
        case str():
            return cell.encode("utf-8", "replace").decode()
        case bytes() | bytearray() | memoryview():
            return bytes(cell)
        case bool():
            return "true" if cell else "false"
        case int():
            return str(cell) if cell.bit_length() <= LONGEST_BITS else None
        case float() | np.floating():
            return spell_float(float(cell))
        case Decimal():
            return decimal_text(cell) if cell.is_finite() else None
        case np.datetime64():
            moment = cell.astype("datetime64[us]").item()  # a whole number where the year is above 9999
            return _moment_text(moment) if isinstance(moment, datetime) else None
        case datetime():
            return _moment_text(cell)
        case date():
            return cell.isoformat()
        case time():
            return without_last_zeros(cell.replace(tzinfo=None).isoformat())
        case UUID():
            return str(cell)
        case _:
            return None


def decimal_text(one: Decimal) -> str | None:
    """Spell a decimal exactly, without the zeros that others' digits lengthen it by; None where it is no number."""
    if not one:
        return "0"
    if max(one.adjusted(), -int(one.as_tuple().exponent)) > LONGEST_DIGITS:
        return None
    return without_last_zeros(format(one, "f"))


def without_last_zeros(text: str) -> str:
    """Leave out the zeros at the end of a fraction: what others' digits lengthen it by."""
    return text.rstrip("0").rstrip(".") if "." in text else text


def _moment_text(cell: datetime) -> str | None:
    try:
        own = cell.astimezone(UTC) if cell.tzinfo is not None else cell
        plain = datetime(own.year, own.month, own.day, own.hour, own.minute, own.second, own.microsecond)
    except (ValueError, TypeError, OverflowError):  # NaT, or a moment that is none in UTC
        return None
    return plain.isoformat(" ").removesuffix(" 00:00:00")


def image_of(cell: Any, width: int) -> Sequence[float] | None:
    """Return the numbers of one image, None where it is missing, of another size, or not made of numbers."""
    try:
        pixels = np.asarray(cell, dtype=np.float64)
    except (ValueError, TypeError, OverflowError):
        return None
    if pixels.shape != (width,) or np.isnan(pixels).any():
        return None
    listed: list[float] = pixels.tolist()
    return listed
