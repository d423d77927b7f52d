"""What an entry of a table says, whatever it is stored as.

7, 7.0 and "7" are one number, and an entry of a dictionary is its text. These functions see one column and decide
entry by entry; no entry changes what another one says. What pyarrow complains about may quote an entry, so callers
with a name to report turn its errors into words (`legible`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
from numpy.typing import NDArray

from mapl.errors import InvalidData

Entries = Any
"""A pyarrow Array or ChunkedArray."""

Numbers = NDArray[np.floating[Any]]

MISSING_NUMBERS: tuple[str, ...] = tuple(pa.csv.ConvertOptions().null_values)
"""How others write a number that is missing: nothing at all, NA, NaN, null, ..."""

LONG = (pa.int64(), pa.uint64())
TRUTH = ("false", "true")
MICROSECONDS_PER_DAY = 86_400_000_000


def numbers(column: Entries) -> NDArray[Any]:
    """Return a column as numbers, NaN where a cell is missing; dates count the days since 1970."""
    column = decoded(column)
    kind = column.type
    if is_text(kind):
        written = texts(column)
        missing = pc.is_in(written, value_set=pa.array(MISSING_NUMBERS))
        column = pc.if_else(missing, None, written).cast(pa.float64())
    elif is_date(kind):
        microseconds = column.cast(pa.timestamp("us"), safe=False).cast(pa.int64())
        column = pc.divide(microseconds.cast(pa.float64(), safe=False), MICROSECONDS_PER_DAY)
    elif pa.types.is_boolean(kind):
        column = column.cast(pa.uint8())
    elif kind in LONG:
        # Rounded once and then once more by whoever wants less; alike with somebody's empty entry and without it.
        column = column.cast(pa.float64(), safe=False)
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        column = column.cast(pa.float64())
    if column.null_count:
        column = pc.fill_null(column.cast(pa.float64(), safe=False), float("nan"))
    values: NDArray[Any] = column.to_numpy() if isinstance(column, pa.ChunkedArray) else column.to_numpy(False)
    return values


def texts(column: Entries) -> Entries:
    """Return a column as text without surrounding blanks, null where a cell is missing or blank."""
    trimmed = pc.utf8_trim_whitespace(written(column).cast(pa.string()))
    return pc.if_else(pc.equal(trimmed, ""), None, trimmed)


def written(column: Entries) -> Entries:
    """Return a column as text, every entry spelled by itself, null where one is missing.

    All rows together decide a column's type: somebody's empty entry makes whole numbers fractional, somebody's
    cents or nanoseconds lengthen everybody's. None of that may change what an entry says.
    """
    column = decoded(column)
    kind = column.type
    if pa.types.is_floating(kind):
        return spelled(column)
    if pa.types.is_decimal(kind):
        return pa.array([None if one is None else _decimal(one) for one in column.to_pylist()], pa.large_string())
    if is_date(kind):
        moments = column.cast(pa.timestamp("us"), safe=False).cast(pa.string())
        return pc.replace_substring_regex(moments, r"( 00:00:00)?\.0{6}$", "")
    return column if is_text(kind) else column.cast(pa.string())


def _decimal(one: Decimal) -> str:
    return format(one.normalize(), "f") if one else "0"


def spelled(column: Entries) -> Entries:
    """Write floating-point cells as text: whole numbers as integers, so that 7 and 7.0 are one, NaN as nothing.

    Each is spelled by itself: an empty cell elsewhere makes a column of whole numbers one of fractions.
    """
    written = [
        None if one is None or one != one else str(int(one)) if one.is_integer() else repr(one)
        for one in column.cast(pa.float64()).to_pylist()
    ]
    return pa.array(written, pa.large_string())


def places(column: Entries, categories: Sequence[str]) -> Entries:
    """Return each cell's place among the categories, null where it is none of them."""
    if isinstance(column, pa.ChunkedArray):
        return pa.chunked_array([places(chunk, categories) for chunk in column.chunks], pa.int32())
    if pa.types.is_dictionary(column.type):
        if column.dictionary.to_pylist() == list(categories):
            return column.indices.cast(pa.int32())
        return places(column.dictionary, categories).take(column.indices)
    spoken = texts(column)
    if set(categories) == set(TRUTH):
        spoken = pc.utf8_lower(spoken)  # pandas writes True where Arrow writes true
    return pc.index_in(spoken, value_set=pa.array(list(categories), pa.string()), skip_nulls=True)


def pixels(column: Entries, width: int) -> NDArray[np.float32]:
    """Return a column of lists of equal length as a matrix, NaN where a list is missing."""
    kind = column.type
    if not is_list(kind):
        raise pa.ArrowInvalid("not lists")
    column = column.cast(pa.list_(kind.value_type, width))
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    matrix = np.full((len(whole), width), np.nan, dtype=np.float32)
    present = whole.is_valid().to_numpy(zero_copy_only=False)
    matrix[present] = numbers(whole.flatten()).reshape(-1, width)
    return matrix


def decoded(column: Entries) -> Entries:
    """Return a column with every entry of a dictionary written out."""
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def is_text(kind: Any) -> bool:
    """Say whether a column of this type holds text."""
    return kind in (pa.string(), pa.large_string(), pa.string_view())


def is_date(kind: Any) -> bool:
    """Say whether a column of this type holds days or moments."""
    return bool(pa.types.is_date(kind) or pa.types.is_timestamp(kind))


def is_list(kind: Any) -> bool:
    """Say whether a column of this type holds lists of numbers."""
    lists = pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    return bool(lists and (pa.types.is_integer(kind.value_type) or pa.types.is_floating(kind.value_type)))


@contextmanager
def legible(name: str, kind: str, what: str) -> Iterator[None]:
    """Turn what pyarrow says about a column into words that quote none of its cells."""
    try:
        yield
    except InvalidData:
        raise
    except (pa.ArrowException, ValueError, TypeError):
        raise illegible(name, kind, what) from None


def illegible(name: str, kind: str, what: str) -> InvalidData:
    """Say that some cells of a column are not what the schema declares."""
    advice = {
        "number": "write numbers with a point and leave missing ones empty",
        "date": "write dates like 2024-01-31 or 2024-01-31 13:45:00, without a time zone",
        "image": "every image must have the same number of values",
    }.get(kind, "write it as text")
    return InvalidData(
        f"Column {name!r} of the {what} cannot be read as the kind {kind!r} that the schema declares: {advice}, or "
        "declare another kind in the schema."
    )
