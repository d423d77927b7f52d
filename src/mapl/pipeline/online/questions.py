"""Questions as they come over a wire: JSON values, read cell by cell by the schema alone, kept as canonical bytes.

A question is a row of bytes: numbers, dates, places of categories, pixels, texts. Equal rows have equal bytes
however they were written, so their digest tells whether a question was asked before. Building tables of one row
each would take longer than all teachers together.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mapl.data.reading.conform import as_declared
from mapl.data.reading.entries import illegible, legible, numbers, places
from mapl.data.reading.gaps import has_illegible
from mapl.data.reading.moments import MICROSECONDS_PER_DAY, MOMENT
from mapl.data.tables.column import Column
from mapl.data.tables.schema import Schema
from mapl.errors import InvalidData

Questions = NDArray[np.object_]
"""One entry per question: its canonical bytes."""

WHAT = "questions"
NOWHERE = -1
"""The place of a category that is missing or not declared."""

NO_MOMENT = -(1 << 63)
PLAIN = frozenset((float, int))
QUOTED = 60


class QuestionForm:
    """How the rows of one schema are read and kept."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self._names = schema.names
        self._ignored = frozenset((*schema.asides, *schema.dropped))
        self._plain = [(place, one) for place, one in enumerate(schema.columns) if one.kind in READERS]
        # Wide cells first, so that everything is aligned.
        self._plain.sort(key=lambda pair: ("number", "date", "category").index(pair[1].kind))
        timed = [place for place, one in self._plain if one.kind != "category"]
        self._in_order = np.argsort(timed, kind="stable")
        self._n_dates = sum(one.kind == "date" for _, one in self._plain)
        self._n_numbers = len(timed) - self._n_dates
        self._read = [(place, one, _reader(one), _known_texts(one)) for place, one in self._plain]
        self._images = [(place, one) for place, one in enumerate(schema.columns) if one.kind == "image"]
        self._texts = [(place, one) for place, one in enumerate(schema.columns) if one.kind == "text"]
        self._packed = struct.Struct("<" + "".join(FORMATS[one.kind] for _, one in self._plain))
        fields: list[Any] = [(one.name, f"<{DTYPES[one.kind]}") for _, one in self._plain]
        fields += [(one.name, "<f4", (one.width,)) for _, one in self._images]
        self._fixed = np.dtype(fields)

    def read(self, rows: Sequence[Any]) -> Questions:
        """Read rows as JSON has them: lists in the order of the schema's columns, or objects by their names.

        Raises
        ------
        InvalidData
            If a row lacks a column, has another one, or a cell is not of the declared kind. No cell is quoted.
        """
        cells = [self._cells(row) for row in rows]
        read = np.empty(len(rows), dtype=object)
        read[:] = self._fixed_parts(cells)
        for place, declared in self._images:
            read += np.array([_image(row[place], declared) for row in cells], dtype=object)
        for place, declared in self._texts:
            read += np.array([_spelled(row[place], declared) for row in cells], dtype=object)
        return read

    def _fixed_parts(self, cells: Sequence[Sequence[Any]]) -> list[bytes]:
        """Pack what has a fixed width; column by column, which takes half the time of row by row."""
        if not self._read:
            return [b""] * len(cells)
        columns = []
        for place, declared, reader, known in self._read:
            try:
                columns.append(_column_read([row[place] for row in cells], declared, reader, known))
            except (ValueError, TypeError, OverflowError, pa.ArrowException):
                raise illegible(declared.name, declared.kind, WHAT) from None
        return list(map(self._packed.pack, *columns))

    def _cells(self, row: Any) -> Sequence[Any]:
        if isinstance(row, Mapping):
            cells = [row.get(name, row) for name in self._names]  # a row is no cell, so it stands for "not there"
            surplus = len(row) - len(self._names)
            if surplus or any(cell is row for cell in cells):
                self._check_names(row)
            return cells
        if not isinstance(row, (list, tuple)):
            raise InvalidData(f"A row of the {WHAT} is no list and no object; give one list or one object per row.")
        if len(row) != len(self._names):
            raise InvalidData(
                f"A row of the {WHAT} has {len(row)} cells and the schema declares {len(self._names)} columns; "
                "give one cell per column in the schema's order, null for one that is missing."
            )
        return row

    def _check_names(self, row: Mapping[str, Any]) -> None:
        lacking = next((name for name in self._names if name not in row), None)
        if lacking is not None:
            raise InvalidData(
                f"A row of the {WHAT} has no {lacking!r}; give every column, null where it is missing."
            )
        surplus = next((name for name in row if name not in self._names and name not in self._ignored), None)
        if surplus is not None:
            raise InvalidData(
                f"A row of the {WHAT} has {str(surplus)[:QUOTED]!r}, which the schema does not declare; leave it "
                f"away. Columns are {', '.join(self._names[:20])}."
            )

    def values(self, questions: Questions) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
        """Return the numbers of questions, dates as days among them, and the places of their categories.

        Both are in the order of the schema's columns, NaN or below zero where one is missing.
        """
        size, n = self._packed.size, len(questions)
        whole = size == self._fixed.itemsize and not self._texts
        cells = np.frombuffer(b"".join(questions if whole else (one[:size] for one in questions)), np.uint8)
        cells = cells.reshape(n, size)
        ends = [8 * self._n_numbers, 8 * (self._n_numbers + self._n_dates)]
        values = np.ascontiguousarray(cells[:, : ends[0]]).view("<f8")
        if self._n_dates:
            moments = np.ascontiguousarray(cells[:, ends[0] : ends[1]]).view("<i8")
            days = np.where(moments == NO_MOMENT, np.nan, moments.astype(np.float64) / MICROSECONDS_PER_DAY)
            values = np.concatenate([values, days], axis=1)[:, self._in_order]
        return values, np.ascontiguousarray(cells[:, ends[1] :]).view("<i4")

    def table(self, questions: Questions) -> pa.Table:
        """Return questions as a table in the form that `conform` gives."""
        size = self._fixed.itemsize
        joined = b"".join(one[:size] for one in questions) if self._texts else b"".join(questions)
        cells = np.frombuffer(joined, dtype=self._fixed, count=len(questions))
        columns = {one.name: _column(one, cells[one.name]) for _, one in (*self._plain, *self._images)}
        ends = [size] * len(questions)
        for _, declared in self._texts:
            texts = []
            for i, one in enumerate(questions):
                start = ends[i] + 4
                ends[i] = start + int.from_bytes(one[start - 4 : start], "little")
                texts.append(one[start : ends[i]].decode())
            columns[declared.name] = pa.array(texts, pa.large_string())
        return pa.table([columns[name] for name in self._names], names=list(self._names))


def _column(declared: Column, cells: NDArray[Any]) -> Any:
    match declared.kind:
        case "number":
            return pa.array(np.ascontiguousarray(cells), from_pandas=True)
        case "date":
            return pa.array(np.ascontiguousarray(cells), mask=cells == NO_MOMENT).cast(MOMENT)
        case "category":
            index = pa.int8() if len(declared.values) < 128 else pa.int32()
            found = pa.array(np.ascontiguousarray(cells), mask=cells == NOWHERE).cast(index)
            return pa.DictionaryArray.from_arrays(found, pa.array(declared.values, pa.string()))
        case _:
            pixels = np.ascontiguousarray(cells)
            missing = pa.array(np.isnan(pixels).any(axis=1))
            return pa.FixedSizeListArray.from_arrays(pa.array(pixels.ravel()), declared.width, mask=missing)


def _column_read(
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


def _known_texts(declared: Column) -> dict[str, int]:
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


def _reader(declared: Column) -> Callable[[Any], Any]:
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
    known = _known_texts(declared)

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


def _spelled(cell: Any, declared: Column) -> bytes:
    """Keep a text with its length before it, so that no two texts run together."""
    try:
        text = _text(cell).encode()
    except (ValueError, TypeError):
        raise illegible(declared.name, declared.kind, WHAT) from None
    return len(text).to_bytes(4, "little") + text


def _image(cell: Any, declared: Column) -> bytes:
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
FORMATS = {"number": "d", "date": "q", "category": "i"}
DTYPES = {"number": "f8", "date": "i8", "category": "i4"}
