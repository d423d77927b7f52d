"""What an entry of a table says, whatever it is stored as.

7, 7.0 and "7" are one number, and an entry of a dictionary is its text. These functions see one column and decide
entry by entry; no entry changes what another one says, and none is refused: what cannot be read is missing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
from numpy.typing import NDArray

from mapl.data.reading.moments import MICROSECONDS_PER_DAY, MOMENT, parse_moments, read_moments
from mapl.data.reading.numerals import as_floats, parse_numerals, spell_floats, spell_numerals, without_nan
from mapl.data.reading.python_cells import decimal_text
from mapl.data.reading.sound_text import is_bytes, sound
from mapl.errors import InvalidData
from mapl.parameters import takes

Entries = Any
"""A pyarrow Array or ChunkedArray."""

MISSING_NUMBERS: tuple[str, ...] = tuple(pa.csv.ConvertOptions().null_values)
"""How others write a number that is missing: nothing at all, NA, NaN, null, ..."""

TRUTH = ("false", "true")

REST = "(rest)"
"""What the values outside a declared list are called together, where they have a group of their own."""


def reals(column: Entries) -> Entries:
    """Return a column as 64-bit floats, null where an entry is missing or no number.

    Whole numbers and decimals of any width become the nearest float, ties to even; shorter floats are widened.
    """
    column = decode(column)
    kind = column.type
    if pa.types.is_floating(kind):
        return without_nan(column.cast(pa.float64()))
    if pa.types.is_integer(kind):
        return column.cast(pa.float64(), safe=False)
    if pa.types.is_boolean(kind):
        return column.cast(pa.uint8()).cast(pa.float64())
    if pa.types.is_decimal(kind):
        # Arrow's own way to floats depends on the column's scale.
        return parse_numerals(column.cast(pa.large_string()))
    return parse_numerals(texts(column)) if is_text(kind) or is_bytes(kind) else pa.nulls(len(column), pa.float64())


def moments(column: Entries, order: str = "") -> Entries:
    """Return a column as microseconds in UTC, null where an entry is missing or no moment.

    Parameters
    ----------
    order
        Whether texts may begin with the day or the month, as `parse_moments` takes it.
    """
    column = decode(column)
    if is_date(column.type):
        return read_moments(column)
    if is_text(column.type) or is_bytes(column.type):
        return parse_moments(texts(column), order)
    return pa.nulls(len(column), MOMENT)


def numbers(column: Entries) -> NDArray[np.float64]:
    """Return a column as numbers, NaN where an entry is missing or no number; dates count the days since 1970."""
    if column.type == pa.float64():  # as conformed rows have them; NaN is missing already
        return as_floats(column)
    column = decode(column)
    if is_date(column.type):
        microseconds = moments(column).cast(pa.int64()).cast(pa.float64(), safe=False)
        return as_floats(pc.divide(microseconds, MICROSECONDS_PER_DAY))
    return as_floats(reals(column))


def texts(column: Entries) -> Entries:
    """Return a column as text without surrounding blanks, null where an entry is missing or blank."""
    trimmed = pc.utf8_trim_whitespace(spell(column))
    return pc.if_else(pc.equal(trimmed, ""), pa.scalar(None, trimmed.type), trimmed)


def spell(column: Entries) -> Entries:
    """Return a column as text, every entry spelled by itself, null where one is missing.

    All rows together decide a column's type: somebody's empty entry makes whole numbers fractional, somebody's
    cents or nanoseconds lengthen everybody's. None of that may change what an entry says.
    """
    column = decode(column)
    kind = column.type
    if is_text(kind) or is_bytes(kind):
        return sound(column)
    if pa.types.is_floating(kind):
        return spell_floats(column)
    if pa.types.is_decimal(kind):
        return pa.array(
            [None if one is None else decimal_text(one) for one in column.to_pylist()], pa.large_string()
        )
    if is_date(kind):
        spoken = moments(column).cast(pa.large_string())
        return pc.replace_substring_regex(spoken, r"( 00:00:00)?\.0{6}$", "")
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        return column.cast(pa.large_string())
    if pa.types.is_time(kind):  # the zeros at the end are those of the unit
        spoken = pc.replace_substring_regex(column.cast(pa.large_string()), r"(\.[0-9]*?)0+$", r"\1")
        return pc.replace_substring_regex(spoken, r"\.$", "")
    return pa.nulls(len(column), pa.large_string())


def places(column: Entries, categories: Sequence[str], *, rest: bool = False) -> Entries:
    """Return each entry's place among the categories, null where it is none of them.

    An entry is a category by its very text, or else by the whole number that both spell.

    Parameters
    ----------
    rest
        Whether whatever else an entry says has a place too, one behind the last; null is then what says nothing.
    """
    if isinstance(column, pa.ChunkedArray):
        return pa.chunked_array([places(chunk, categories, rest=rest) for chunk in column.chunks], pa.int32())
    if pa.types.is_dictionary(column.type):
        if column.dictionary.equals(pa.array([*categories, *[REST] * rest], pa.string())):
            return column.indices.cast(pa.int32())
        return places(column.dictionary, categories, rest=rest).take(column.indices)
    spoken = texts(column)
    found = _places_declared(spoken, categories)
    if not rest or found.null_count == spoken.null_count:
        return found
    last = pa.scalar(len(categories), pa.int32())
    return pc.if_else(pc.and_(pc.is_null(found), pc.is_valid(spoken)), last, found)


def _places_declared(spoken: Entries, categories: Sequence[str]) -> Entries:
    if set(categories) == set(TRUTH):
        spoken = pc.utf8_lower(spoken)  # pandas writes True where Arrow writes true
    declared = pa.array(list(categories), pa.large_string())
    found = pc.index_in(spoken, value_set=declared, skip_nulls=True)
    if found.null_count == spoken.null_count:
        return found
    spelled = spell_numerals(spoken)
    return pc.coalesce(found, pc.index_in(spelled, value_set=spell_numerals(declared), skip_nulls=True))


def images(column: Entries, width: int) -> Entries:
    """Return a column of lists as images of 32-bit floats; one of another size, or with a gap, is missing."""
    whole = _one_piece(decode(column))
    kind, canonical = whole.type, pa.list_(pa.float32(), width)
    if _is_view(kind):
        whole = whole.cast(pa.large_list(kind.value_type))
    elif not _holds_lists(kind):
        return pa.nulls(len(whole), canonical)
    if kind == canonical and not _some_gap(whole.flatten()):
        return whole
    sized = pc.fill_null(pc.equal(pc.list_value_length(whole), width), False)
    pixels = _floats32(pc.filter(whole, sized).flatten()).reshape(-1, width)
    gapless = ~np.isnan(pixels).any(axis=1)
    place = np.asarray(sized, dtype=np.bool_)
    place[place] = gapless
    matrix = np.zeros((len(whole), width), dtype=np.float32)
    matrix[place] = pixels[gapless]
    return pa.FixedSizeListArray.from_arrays(pa.array(matrix.ravel()), width, mask=pa.array(~place))


def _is_view(kind: Any) -> bool:
    return bool(pa.types.is_list_view(kind) or pa.types.is_large_list_view(kind))


def _holds_lists(kind: Any) -> bool:
    """Say whether a column holds lists, of whatever: somebody's word among the pixels makes them all text."""
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def _one_piece(column: Entries) -> Entries:
    if not isinstance(column, pa.ChunkedArray):
        return column
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _some_gap(values: Entries) -> bool:
    return bool(values.null_count or pc.any(pc.is_nan(values)).as_py())


def _floats32(values: Entries) -> NDArray[np.float32]:
    if values.type == pa.float32() and not values.null_count:
        return np.asarray(values)
    with np.errstate(over="ignore"):
        return numbers(values).astype(np.float32)


def pixels(column: Entries, width: int) -> NDArray[np.float32]:
    """Return a column of images as a matrix, NaN where one is missing."""
    read = images(column, width)
    matrix = np.full((len(read), width), np.nan, dtype=np.float32)
    matrix[np.asarray(read.is_valid(), dtype=np.bool_)] = np.asarray(read.flatten()).reshape(-1, width)
    return matrix


def decode(column: Entries) -> Entries:
    """Return a column with every entry of a dictionary written out, and without the clothes of extension types."""
    kind = column.type
    if isinstance(kind, pa.BaseExtensionType):
        if kind.extension_name == "arrow.uuid":  # named as its text is
            return pa.array([None if one is None else str(one) for one in column.to_pylist()], pa.large_string())
        return decode(column.cast(kind.storage_type))
    if pa.types.is_dictionary(kind):
        return decode(column.cast(kind.value_type))
    if pa.types.is_run_end_encoded(kind):
        return decode(pc.run_end_decode(column))
    return column


def is_number(kind: Any) -> bool:
    """Say whether a column of this type holds numbers."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


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
        "date": "write dates like 2024-01-31 or 2024-01-31 13:45:00, or declare their order (docs/reading.md)",
        "image": "every image must have the same number of values",
    }.get(kind, "write it as text")
    if not takes("schema"):
        return InvalidData(
            f"Column {name!r} of the {what} cannot be read as the kind {kind!r}, which it is elsewhere: {advice}."
        )
    return InvalidData(
        f"Column {name!r} of the {what} cannot be read as the kind {kind!r} that the schema declares: {advice}, or "
        "declare another kind in the schema."
    )
