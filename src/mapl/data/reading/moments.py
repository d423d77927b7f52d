"""Days and moments, stored or written in whatever way, as microseconds since 1970 in UTC: cell by cell.

What lies below a microsecond is dropped, a moment with a time zone is moved to UTC, and what is no moment of the
years 1 to 9999 counts as missing. A text begins with its year. Whether it may begin with the day or the month
instead, and with which of them, is declared for the column: 03/04/2024 alone does not say.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from mapl.types import Integers

MOMENT = pa.timestamp("us")
MICROSECONDS_PER_DAY = 86_400_000_000
FIRST, LAST = -719_162 * MICROSECONDS_PER_DAY, 2_932_897 * MICROSECONDS_PER_DAY - 1
"""The first microsecond of the year 1, and the last one of the year 9999."""

PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
WRITTEN = (
    r"^(?P<year>[0-9]{4})-(?P<month>[0-9]{2})-(?P<day>[0-9]{2})"
    r"(?:[T ](?P<hour>[0-9]{2})"
    r"(?::(?P<minute>[0-9]{2})(?::(?P<second>[0-9]{2})(?:[.,](?P<fraction>[0-9]{1,40}))?)?)?"
    r" ?(?P<zone>Z|[+-][0-9]{2}(?::?[0-9]{2})?)?)?$"
)

DAY_FIRST, MONTH_FIRST = "day-first", "month-first"
ORDERS = (DAY_FIRST, MONTH_FIRST)
YEAR_LAST = r"^[0-9]{1,2}(/[0-9]{1,2}/|-[0-9]{1,2}-|\.[0-9]{1,2}\.)[0-9]{4}($|[T ])"
YEAR_TO_THE_FRONT = r"^([0-9]{1,2})[/.-]([0-9]{1,2})[/.-]([0-9]{4})"


def read_moments(column: Any) -> Any:
    """Return a column of dates or timestamps as moments."""
    kind = column.type
    if kind == MOMENT and not _outside(_integers(column.cast(pa.int64()))).any():
        return column
    if pa.types.is_date32(kind):
        days = _integers(column.cast(pa.int32()).cast(pa.int64()))
        inside = np.abs(days) < 4_000_000
        micros = np.where(inside, days, 0) * MICROSECONDS_PER_DAY
    else:
        unit = 1_000 if pa.types.is_date64(kind) else PER_SECOND[kind.unit]
        ticks, micro = _integers(column.cast(pa.int64())), PER_SECOND["us"]
        inside = np.ones(len(ticks), dtype=np.bool_)
        if unit > micro:
            micros = ticks // (unit // micro)
        else:
            factor = micro // unit
            inside = (ticks >= FIRST // factor) & (ticks <= LAST // factor)
            micros = np.where(inside, ticks, 0) * factor
    missing = ~inside | _outside(micros) | np.asarray(column.is_null(), dtype=np.bool_)
    return pa.array(micros, pa.int64(), mask=missing).cast(MOMENT)


def parse_moments(texts: Any, order: str = "") -> Any:
    """Read trimmed texts such as 2024-01-31, 2024-01-31 13:45:00.5 or 2024-01-31T13:45Z as moments.

    Parameters
    ----------
    order
        "day-first" reads 31/01/2024, 31-1-2024 and 31.01.2024 13:45 too, "month-first" 01/31/2024; "" neither.
    """
    texts = texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts
    texts = _year_first(texts, order) if order else texts
    found = pc.extract_regex(texts, WRITTEN)
    known = np.asarray(found.is_valid(), dtype=np.bool_)
    parts = {name: pc.fill_null(pc.struct_field(found, name), "") for name in PARTS}
    year, month, day, hour, minute, second = (_whole(parts[name]) for name in PARTS[:6])
    fraction = _whole(pc.utf8_slice_codeunits(pc.utf8_rpad(parts["fraction"], 6, "0"), 0, 6))
    known &= (year >= 1) & (month >= 1) & (month <= 12) & (day >= 1)
    month, year = np.where(known, month, 1), np.where(known, year, 1970)
    known &= (day <= _days_in(year, month)) & (hour < 24) & (minute < 60) & (second < 60)
    first = (year - 1970).astype("datetime64[Y]").astype("datetime64[M]") + (month - 1)
    days = first.astype("datetime64[D]").astype(np.int64) + day - 1
    seconds = ((days * 24 + hour) * 60 + minute) * 60 + second - _seconds_east(parts["zone"])
    micros = seconds * PER_SECOND["us"] + fraction
    return pa.array(micros, pa.int64(), mask=~known | _outside(micros)).cast(MOMENT)


def _year_first(texts: Any, order: str) -> Any:
    """Rewrite texts that end with the year as those that begin with it, each by itself."""
    day, month = (r"\1", r"\2") if order == DAY_FIRST else (r"\2", r"\1")
    turned = pc.replace_substring_regex(texts, YEAR_TO_THE_FRONT, rf"\3-{month}-{day}")
    for one_digit in (r"^([0-9]{4}-)([0-9]-)", r"^([0-9]{4}-[0-9]{2}-)([0-9](?:$|[T ]))"):
        turned = pc.replace_substring_regex(turned, one_digit, r"\10\2")  # groups have one digit here
    return pc.if_else(pc.match_substring_regex(texts, YEAR_LAST), turned, texts)


PARTS = ("year", "month", "day", "hour", "minute", "second", "fraction", "zone")


def _integers(column: Any) -> Integers:
    filled = pc.fill_null(column, 0) if column.null_count else column
    return np.asarray(filled, dtype=np.int64)


def _outside(micros: Integers) -> NDArray[np.bool_]:
    return np.asarray((micros < FIRST) | (micros > LAST), dtype=np.bool_)


def _whole(digits: Any) -> Integers:
    """Read digits; none are zero."""
    return np.asarray(pc.if_else(pc.equal(digits, ""), "0", digits).cast(pa.int64()), dtype=np.int64)


def _days_in(year: Integers, month: Integers) -> Integers:
    leap = (year % 4 == 0) & ((year % 100 != 0) | (year % 400 == 0))
    lengths = np.array([31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31], dtype=np.int64)
    return np.asarray(lengths[month - 1] + (leap & (month == 2)), dtype=np.int64)


def _seconds_east(zones: Any) -> Integers:
    digits = pc.utf8_rpad(pc.replace_substring_regex(zones, "[^0-9]", ""), 4, "0")
    hours, minutes = (_whole(pc.utf8_slice_codeunits(digits, start, start + 2)) for start in (0, 2))
    west = np.asarray(pc.starts_with(zones, "-"), dtype=np.bool_)
    return (hours * 60 + minutes) * 60 * np.where(west, -1, 1)
