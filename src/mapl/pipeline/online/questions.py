"""Questions as they come over a wire: JSON values, read cell by cell by the schema alone, kept as canonical bytes.

A question is a row of bytes: numbers, dates, places of categories, pixels, texts. Equal rows have equal bytes
however they were written, so their digest tells whether a question was asked before. Building tables of one row
each would take longer than all teachers together.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mapl.data.reading.entries import illegible
from mapl.data.reading.moments import MICROSECONDS_PER_DAY, MOMENT
from mapl.data.tables.column import Column
from mapl.data.tables.schema import Schema
from mapl.errors import InvalidData
from mapl.pipeline.online.question_cells import (
    NO_MOMENT,
    NOWHERE,
    READERS,
    WHAT,
    image_bytes,
    known_texts,
    read_column,
    reader_of,
    text_bytes,
)

Questions = NDArray[np.object_]
"""One entry per question: its canonical bytes."""

QUOTED = 60
FORMATS = {"number": "d", "date": "q", "category": "i"}
DTYPES = {"number": "f8", "date": "i8", "category": "i4"}


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
        self._read = [(place, one, reader_of(one), known_texts(one)) for place, one in self._plain]
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
            read += np.array([image_bytes(row[place], declared) for row in cells], dtype=object)
        for place, declared in self._texts:
            read += np.array([text_bytes(row[place], declared) for row in cells], dtype=object)
        return read

    def _fixed_parts(self, cells: Sequence[Sequence[Any]]) -> list[bytes]:
        """Pack what has a fixed width; column by column, which takes half the time of row by row."""
        if not self._read:
            return [b""] * len(cells)
        columns = []
        for place, declared, reader, known in self._read:
            try:
                columns.append(read_column([row[place] for row in cells], declared, reader, known))
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
