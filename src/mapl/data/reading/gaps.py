"""Which cells say nothing: empty ones, and those that are not what the schema declares.

A word that the schema lists among a column's blanks, such as unknown, is as good as nothing.
For public rows, which may be refused, and for the eyes of a table's owner; never for what is released.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mapl.data.reading.entries import MISSING_NUMBERS, decode, images, is_list, moments, places, reals, texts
from mapl.data.tables.column import Column
from mapl.types import Silent

REFUSED = ("number", "date", "image")
"""The kinds of which a public cell is refused that cannot be read; an unknown category is no mistake."""


@dataclass(frozen=True, slots=True, repr=False)
class Gaps(Silent):
    """How many cells of a column are empty, and how many say something else than the schema declares. Private."""

    empty: int
    illegible: int


def gaps_of(declared: Column, cells: Any, read: Any = None) -> Gaps:
    """Count the cells of a column that count as missing.

    Parameters
    ----------
    read
        The cells as the schema reads them (`conform.as_declared`), where somebody did that already.
    """
    if read is None or declared.kind == "text":  # where what is missing is read as nothing at all
        read = _read(declared, cells)
    if not read.null_count:
        return Gaps(0, 0)
    missing = np.asarray(pc.is_null(read), dtype=np.bool_)
    empty = _empty(declared, cells.filter(pa.array(missing)))  # few are, and spelling all cells would take long
    return Gaps(int(np.count_nonzero(empty)), int(np.count_nonzero(~empty)))


def has_illegible(declared: Column, cells: Any) -> bool:
    """Say whether a public column has cells that should be refused."""
    return declared.kind in REFUSED and gaps_of(declared, cells).illegible > 0


def _read(declared: Column, cells: Any) -> Any:
    match declared.kind:
        case "number":
            return reals(cells)
        case "category":
            return places(cells, declared.categories, rest=declared.rest)
        case "text":
            return texts(cells)
        case "date":
            return moments(cells, declared.order)
        case _:
            return images(cells, declared.width)


def _empty(declared: Column, cells: Any) -> Any:
    plain = decode(cells)
    if is_list(plain.type) or not _speaks(plain.type):
        return np.asarray(pc.is_null(plain, nan_is_null=False), dtype=np.bool_)
    spoken = texts(plain)
    empty = pc.is_null(spoken)
    if declared.kind in ("number", "date"):
        unsaid = (*MISSING_NUMBERS, *declared.blanks)
        empty = pc.or_(empty, pc.is_in(spoken, value_set=pa.array(unsaid, spoken.type)))
    return np.asarray(empty, dtype=np.bool_)


def _speaks(kind: Any) -> bool:
    """Say whether cells of a type can be spelled, so that one without a spelling is empty."""
    return not (pa.types.is_nested(kind) or pa.types.is_duration(kind))
