"""Rows in the declared form: decided by the schema, cell by cell."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from mapl.data.reading.conform import conform
from mapl.data.tables.schema import Column, Schema
from mapl.data.units.row_digests import digests
from mapl.errors import InvalidData

SCHEMA = Schema(
    (
        Column("age", "number"),
        Column("town", "category", ("Ulm", "Bonn")),
        Column("note", "text"),
        Column("day", "date"),
        Column("eyes", "image", width=2),
    ),
    label="y",
)
ROWS = pa.table(
    {
        "y": ["no", "yes", "no"],
        "note": pa.array([None, "x", ""], pa.string()),
        "day": pa.array([0, 1, None], pa.date32()),
        "town": pa.array(["Bonn ", "Paris", None]),
        "eyes": pa.array([[1, 2], [3, 4], None], pa.list_(pa.int32())),
        "age": pa.array(["31", " 4.5", "NA"]),
    }
)


def test_a_table_is_cast_to_the_declared_kinds() -> None:
    table = conform(ROWS, SCHEMA, "private rows")
    assert table.column_names == ["age", "town", "note", "day", "eyes"]
    assert np.array_equal(table["age"].to_numpy(), [31, 4.5, np.nan], equal_nan=True)
    assert table["town"].type == pa.dictionary(pa.int8(), pa.string())
    assert table["town"].chunk(0).dictionary.to_pylist() == ["Ulm", "Bonn"]
    assert table["town"].to_pylist() == ["Bonn", None, None]
    assert table["note"].to_pylist() == ["", "x", ""]
    assert table["day"].type == pa.timestamp("us")
    assert table["eyes"].type == pa.list_(pa.float32(), 2)
    assert table["eyes"].to_pylist() == [[1, 2], [3, 4], None]


def test_what_has_the_declared_form_is_not_copied() -> None:
    once = conform(pa.concat_tables([ROWS, ROWS]), SCHEMA, "private rows")
    twice = conform(once, SCHEMA, "private rows")
    for name in SCHEMA.names:
        assert once[name].num_chunks == 1
        first, second = (t[name].chunk(0).buffers()[-1].address for t in (once, twice))
        assert first == second


@pytest.mark.parametrize(
    ("name", "cells", "kind"),
    [
        ("age", ["1", "3", "8675309 years"], "number"),
        ("age", [[1], [2], [8675309]], "number"),
        ("day", ["", "", "8675309-01-01x"], "date"),
        ("eyes", [[1, 2], [3, 4], [8675309]], "image"),
        ("eyes", ["1", "2", "8675309"], "image"),
    ],
)
@pytest.mark.parametrize("frame", [False, True])
def test_cells_of_another_kind_are_missing_and_refused_in_public_rows(
    name: str, cells: Any, kind: str, frame: bool
) -> None:
    place = ROWS.column_names.index(name)
    changed = ROWS.set_column(place, name, pa.array(cells))
    rows = pl.DataFrame(changed) if frame else changed
    read = conform(rows, SCHEMA, "private rows")
    assert read[name].to_pylist()[2] is None if not frame else read[name].to_list()[2] is None
    with pytest.raises(InvalidData, match=rf"Column '{name}' of the public rows .* kind '{kind}'") as refusal:
        conform(rows, SCHEMA, "public rows", public=True)
    assert "8675309" not in str(refusal.value)


def test_levels_of_a_frame_are_the_declared_ones() -> None:
    """Levels that pandas collects from all private rows would tell every teacher about them."""
    schema = Schema((Column("age", "number"), Column("town", "category", ("Ulm", "Bonn"))))
    frame = pd.DataFrame({"town": pd.Categorical(["Bonn", "secret", "Ulm"]), "age": [1, 2, 3]}, index=[5, 6, 7])
    known = conform(frame, schema, "private rows")
    assert list(known.columns) == ["age", "town"]
    assert known["town"].cat.categories.tolist() == ["Ulm", "Bonn"]
    assert known["town"].cat.codes.tolist() == [1, -1, 0]
    assert known.index.tolist() == [5, 6, 7]
    assert frame["town"].cat.categories.tolist() == ["Bonn", "Ulm", "secret"]  # the user's own stays
    polars = conform(pl.DataFrame(frame), schema, "private rows")
    assert polars["town"].dtype == pl.Enum(["Ulm", "Bonn"])
    assert polars["town"].to_list() == ["Bonn", None, "Ulm"]
    numbers = Schema((Column("age", "number"), Column("town", "text")))
    assert "category" not in map(str, conform(frame, numbers, "private rows").dtypes)


def test_frames_get_the_declared_types_and_matrices_stay_what_they_are() -> None:
    schema = Schema((Column("age", "number"), Column("town", "category", ("Ulm", "Bonn"))))
    frame = conform(pd.DataFrame({"age": [1, 2], "town": ["Ulm", "Paris"]}), schema, "rows")
    assert frame["age"].dtype == np.float64
    assert frame["age"].tolist() == [1, 2]
    assert frame["town"].cat.categories.tolist() == ["Ulm", "Bonn"]
    assert frame["town"].isna().tolist() == [False, True]
    matrix = np.zeros((2, 2))
    assert conform(matrix, Schema((Column("x0", "number"), Column("x1", "number"))), "rows") is matrix


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_one_cell_changes_nothing_about_other_rows_of_a_frame(kind: str) -> None:
    # The type of a frame's column is inferred from all rows; identities and what learners see must not follow it.
    schema = Schema((Column("a", "number"), Column("c", "number"), Column("t", "category", categories=("0", "1"))))
    make = pd.DataFrame if kind == "pandas" else partial(pl.DataFrame, strict=False)
    others = {"a": [1, 2, 3], "c": [None, None, None], "t": [0, 1, 1]}
    for a, c, t in ((4, 5.0, 1), (None, 5.0, None), (4, None, 7), (" 4 ", "6", "1")):
        added = {name: [*cells, cell] for (name, cells), cell in zip(others.items(), (a, c, t), strict=True)}
        if isinstance(a, str):  # as a reader gives a column in which one number is not one
            added = {name: [None if cell is None else str(cell) for cell in cells] for name, cells in added.items()}
        before = conform(make(others), schema, "rows")
        after = conform(make(added), schema, "rows")
        assert list(before.dtypes) == list(after.dtypes)
        first = [one for block in digests(before, None) for one in block]
        assert [one for block in digests(after, None) for one in block][:3] == first
        assert len(set(first)) == 3


def test_whole_numbers_are_spelled_alike_whatever_stands_beside_them() -> None:
    codes = [123456789012, 10**16, 7]
    schema = Schema((Column("code", "category", categories=tuple(map(str, codes))),))
    fractional = pa.array([*map(float, codes), None], pa.float64())
    for table in (pa.table({"code": codes}), pa.table({"code": fractional})):
        assert conform(table, schema, "rows")["code"].to_pylist()[:3] == list(map(str, codes))
