"""One cell of a question: a JSON value, read by what its column is declared to be, and by itself.

Numbers, dates and places of categories become numbers of a fixed width, texts and images bytes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from mapl.data.reading.conform import as_declared
from mapl.data.reading.entries import illegible, legible, numbers, places
from mapl.data.reading.gaps import has_illegible
from mapl.data.tables.column import Column

WHAT = "questions"
NOWHERE = -1
"""The place of a category that is missing or not declared."""

NO_MOMENT = -(1 << 63)
PLAIN = frozenset((float, int))


def read_column(
    cells: list[Any], declared: Column, reader: Callable[[Any], Any], known: Mapping[str, Any]
) -> list[Any]:
    """Read the cells of a column as `reader` reads each, but plain numbers and texts all at once.

    pyarrow takes as long for one text as for hundreds, and a request may hold hundreds of thousands. Those that are
    `known` it need not look at.
    """
    if len(cells) == 1:
        return [reader(cells[0])]
    if declared.kind == "number" and PLAIN.issuperset(map(type, cells)):
        return _plain_numbers(cells)
    texts = list(dict.fromkeys(cell for cell in cells if type(cell) is str and cell not in known))
    if texts:
        known = {**known, **dict(zip(texts, WRITTEN[declared.kind](texts, declared), strict=True))}
    return [known[cell] if type(cell) is str else reader(cell) for cell in cells]


def _plain_numbers(cells: list[Any]) -> list[float]:
    values = np.array(cells, dtype=np.float64) + 0.0  # no negative zero
    values[np.isnan(values)] = np.nan  # and one NaN
    read: list[float] = values.tolist()
    return read


def _numbers_written(texts: list[str], declared: Column) -> list[float]:
    return [float(one) + 0.0 for one in numbers(_checked(texts, declared)).tolist()]


def _dates_written(texts: list[str], declared: Column) -> list[int]:
    moments = as_declared(declared, _checked(texts, declared)).cast(pa.int64()).to_pylist()
    return [NO_MOMENT if one is None else int(one) for one in moments]


def _places_written(texts: list[str], declared: Column) -> list[int]:
    sound = [one.encode("utf-8", "replace").decode() for one in texts]
    found = places(pa.array(sound, pa.large_string()), declared.categories, rest=declared.rest).to_pylist()
    return [NOWHERE if one is None else int(one) for one in found]


def known_texts(declared: Column) -> dict[str, int]:
    """Return what declared categories are read as; whatever else is read when it comes."""
    if declared.kind != "category":
        return {}
    names = list(declared.categories)
    return dict(zip(names, _places_written(names, declared), strict=True))


def _checked(texts: list[str], declared: Column) -> Any:
    """Refuse texts that say something else than what was declared; a question is not a private row."""
    cells = pa.array(texts, pa.large_string())
    if has_illegible(declared, cells):
        raise ValueError
    return cells


def reader_of(declared: Column) -> Callable[[Any], Any]:
    """Return what reads one cell of a column of fixed width."""
    return READERS[declared.kind](declared)


def _numbers(declared: Column) -> Callable[[Any], float]:
    def read(cell: Any) -> float:
        if type(cell) is float or type(cell) is int:
            value = float(cell)
            return value + 0.0 if value == value else math.nan  # no negative zero, and one NaN
        if cell is None:
            return math.nan
        if isinstance(cell, str):
            return _numbers_written([cell], declared)[0]
        if isinstance(cell, bool):
            return float(cell)
        raise TypeError

    return read


def _categories(declared: Column) -> Callable[[Any], int]:
    known = known_texts(declared)

    def read(cell: Any) -> int:
        if cell is None:
            return NOWHERE
        said = cell if type(cell) is str else _text(cell)
        return known[said] if said in known else _places_written([said], declared)[0]

    return read


def _dates(declared: Column) -> Callable[[Any], int]:
    def read(cell: Any) -> int:
        if cell is None:
            return NO_MOMENT
        if not isinstance(cell, str):
            raise TypeError
        return _dates_written([cell], declared)[0]

    return read


def _text(cell: Any) -> str:
    """Spell a cell as `written` does: 7 and 7.0 are one, and nothing is missing text."""
    if isinstance(cell, str):
        return cell
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, int):
        return str(cell)
    if isinstance(cell, float):
        return "" if cell != cell else str(int(cell)) if cell.is_integer() else repr(cell)
    raise TypeError


def text_bytes(cell: Any, declared: Column) -> bytes:
    """Keep a text with its length before it, so that no two texts run together."""
    try:
        text = _text(cell).encode()
    except (ValueError, TypeError):
        raise illegible(declared.name, declared.kind, WHAT) from None
    return len(text).to_bytes(4, "little") + text


def image_bytes(cell: Any, declared: Column) -> bytes:
    """Return the pixels of an image, all of them missing where there is none."""
    if cell is None:
        return np.full(declared.width, np.nan, dtype="<f4").tobytes()
    with legible(declared.name, declared.kind, WHAT), np.errstate(over="ignore"):
        if not isinstance(cell, (list, tuple)):
            raise TypeError
        pixels = np.array(cell)
        if pixels.shape != (declared.width,) or pixels.dtype.kind not in "iuf":
            raise ValueError
        values = pixels.astype(np.float64).astype("<f4") + np.float32(0)
        values[np.isnan(values)] = np.nan
        return values.tobytes()


READERS: dict[str, Callable[[Column], Callable[[Any], Any]]] = {
    "number": _numbers,
    "date": _dates,
    "category": _categories,
}
WRITTEN: dict[str, Callable[[list[str], Column], list[Any]]] = {
    "number": _numbers_written,
    "date": _dates_written,
    "category": _places_written,
}
