"""Numbers as text: what a text says as a number, how a number is spelled, when two spellings name the same thing.

Each of these is a function of one cell. A text becomes the nearest 64-bit float, ties to even, and so do decimals
and whole numbers of every width: what a number is stored as, which all rows decide together, does not show.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

LEGIBLE = r"(?i)^[+-]?(([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?|inf|infinity)$"
LONGEST = 1000
"""No number takes more characters; what does is none."""

WHOLE = r"^(-?[0-9]+)\.0*$"
SCIENTIFIC = r"^-?[0-9](\.[0-9]+)?[eE]\+[0-9]{1,3}$"
"""How writers put large floats; with its plus sign it is no id in hexadecimal digits."""

CODE = r"^[+-]?0[0-9]"
"""007 is no number that anybody would compute with."""

TRUTH_VALUES = {"false": "0", "true": "1"}


def parse_numerals(texts: Any) -> Any:
    """Return trimmed texts as 64-bit floats, null where one says no number; true and false are 1 and 0."""
    try:
        read = texts.cast(pa.float64()) if _all_short(texts) else None
    except pa.ArrowInvalid:
        read = None
    if read is None:
        lower = pc.utf8_lower(texts)
        for word, digit in TRUTH_VALUES.items():
            texts = pc.if_else(pc.equal(lower, word), digit, texts)
        short = pc.less_equal(pc.binary_length(texts), LONGEST)
        legible = pc.and_(short, pc.match_substring_regex(texts, LEGIBLE))
        read = pc.if_else(legible, texts, pa.scalar(None, texts.type)).cast(pa.float64())
    return without_nan(read)


def _all_short(texts: Any) -> bool:
    longest = pc.max(pc.binary_length(texts)).as_py()
    return longest is None or longest <= LONGEST


def without_nan(floats: Any) -> Any:
    """Return floats with null in the place of NaN, which says the same."""
    if not len(floats) or not pc.any(pc.is_nan(floats)).as_py():
        return floats
    return pc.if_else(pc.is_nan(floats), pa.scalar(None, floats.type), floats)


def spell_floats(floats: Any) -> Any:
    """Write floats as text: whole numbers as the integers they are, so that 7 and 7.0 are one, NaN as nothing.

    Each is spelled by itself: an empty cell elsewhere makes a column of whole numbers one of fractions.
    """
    written = [None if one is None else spell_float(one) for one in floats.cast(pa.float64()).to_pylist()]
    return pa.array(written, pa.large_string())


def spell_float(number: float) -> str | None:
    """Write a float as text; a zero below zero keeps its sign, as in a column of numbers.

    >>> [spell_float(one) for one in (7.0, 0.0, -0.0, 0.5, float("nan"))]
    ['7', '0', '-0.0', '0.5', None]
    """
    if number != number:
        return None
    spelled = repr(number)
    return str(int(number)) if number.is_integer() and spelled != "-0.0" else spelled


def spell_numerals(texts: Any) -> Any:
    """Return texts with whole numbers spelled as integers: 7.0, 7.00 and 7 name one thing, 007 another.

    Fractions stay as they are written: 1.10 may be a version, or a bed in a ward, and not 1.1.
    """
    whole = pc.replace_substring_regex(texts, WHOLE, r"\1")
    whole = pc.if_else(pc.equal(whole, "-0"), "0", whole)
    scientific = pc.fill_null(pc.match_substring_regex(whole, SCIENTIFIC), False)
    if not pc.any(scientific).as_py():
        return whole
    cells = [
        _integer(text) if large else text
        for text, large in zip(whole.to_pylist(), scientific.to_pylist(), strict=True)
    ]
    return pa.array(cells, pa.large_string())


def _integer(text: str) -> str:
    value = float(text)
    return str(int(value)) if value.is_integer() else text


def as_floats(numbers: Any) -> NDArray[np.float64]:
    """Return 64-bit floats as an array, NaN where one is missing."""
    filled = pc.fill_null(numbers, float("nan")) if numbers.null_count else numbers
    floats: NDArray[np.float64] = (
        filled.to_numpy() if isinstance(filled, pa.ChunkedArray) else filled.to_numpy(zero_copy_only=False)
    )
    return floats
