"""A schema is drafted from public rows, written, changed by hand and read again; rows that differ are refused."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from mapl.data.drafts.draft_schema import classes_of, draft_schema
from mapl.data.tables.schema import Column, Schema
from mapl.errors import InvalidData, InvalidParameter

N = 200
SENTENCES = [f"a long sentence about thing number {i}" for i in range(N)]
PUBLIC = pa.table(
    {
        "age": np.arange(N, dtype=np.int32),
        "flag": np.arange(N) % 2,
        "grade": [None if i == 7 else i % 5 for i in range(N)],
        "town": [("Ulm", "Köln ", "")[i % 3] for i in range(N)],
        "zip": [f"{i:05d}" for i in range(N)],
        "declared": pa.array([f"{i:05d}" for i in range(N)]).dictionary_encode(),
        "here": [i % 2 == 0 for i in range(N)],
        "story": SENTENCES,
        "short_story": SENTENCES[:50] * 4,
        "price": [Decimal(i) / 4 for i in range(N)],
        "day": pa.array(range(N), pa.date32()),
        "pixels": pa.array([[i % 7, 0, 3] for i in range(N)], pa.list_(pa.uint8(), 3)),
        "y": [("no", "yes")[i % 2] for i in range(N)],
        "person": list(range(N)),
    }
)
KINDS = {
    "age": "number",
    "flag": "number",
    "grade": "number",
    "town": "category",
    "zip": "category",
    "declared": "category",
    "here": "category",
    "story": "text",
    "short_story": "category",
    "price": "number",
    "day": "date",
    "pixels": "image",
}


def drafted() -> dict[str, Column]:
    return {column.name: column for column in draft_schema(PUBLIC, label="y", unit="person").columns}


def test_kinds_of_columns() -> None:
    assert {name: column.kind for name, column in drafted().items()} == KINDS


def test_public_statistics() -> None:
    columns = drafted()
    assert (columns["age"].centre, columns["age"].spread) == pytest.approx((99.5, np.std(np.arange(N))))
    assert len(columns["age"].cuts) == 31
    inside = np.diff([0, *np.searchsorted(columns["age"].cuts, np.arange(N))])
    assert inside.max() <= 1
    assert (columns["flag"].centre, columns["flag"].spread, columns["flag"].cuts) == (0, 1, ())
    assert columns["grade"].cuts == (0.5, 1.5, 2.5, 3.5)
    assert [name for name, column in columns.items() if column.missing] == ["grade", "town"]
    assert columns["town"].categories == ("Köln", "Ulm")
    assert columns["here"].categories == ("false", "true")
    assert len(columns["declared"].categories) == N
    assert columns["pixels"].width == 3
    assert columns["pixels"].centre == pytest.approx(np.mean([[i % 7, 0, 3] for i in range(N)]))
    assert columns["day"].centre == pytest.approx(99.5)


def test_a_value_that_most_rows_share_leaves_bins_to_the_rest() -> None:
    skewed = np.concatenate([np.zeros(900), np.arange(1, 101)])
    (column,) = draft_schema(skewed.reshape(-1, 1)).columns
    assert len(column.cuts) > 20
    assert column.cuts[0] == 0.5


def test_other_rows_give_the_same_draft() -> None:
    simple = PUBLIC.select(["age", "flag", "grade", "town", "story", "day"])
    wanted = draft_schema(simple)
    assert draft_schema(simple.to_pandas()) == wanted
    assert draft_schema(pl.DataFrame(simple)) == wanted


def test_matrices_have_numbered_columns() -> None:
    matrix = np.array([[0, 1.0], [5, 1], [0, 1]])
    dense = draft_schema(matrix)
    assert dense.names == ("x0", "x1")
    assert (dense.columns[0].spread, dense.columns[1].centre) == (5, 1)
    sparse = draft_schema(sp.csr_matrix(matrix))
    assert sparse == dense  # few columns are drafted alike, whatever they are stored as
    dense.checked_against(sp.csr_matrix(matrix), "private rows")
    with pytest.raises(InvalidData, match="have 3 columns and the schema declares 2"):
        dense.checked_against(np.zeros((4, 3)), "private rows")
    with pytest.raises(InvalidData, match="as a DataFrame"):
        draft_schema(PUBLIC).checked_against(matrix, "private rows")


@settings(max_examples=60, deadline=None)
@given(st.lists(st.one_of(st.floats(), st.sampled_from([0.0, 1e308, -1e308, 5e-324])), min_size=1, max_size=60))
def test_any_public_numbers_have_usable_statistics(values: list[float]) -> None:
    schema = draft_schema(np.array(values).reshape(-1, 1))  # a column checks itself
    assert Schema.from_json(schema.to_json()) == schema
    assert len(schema.columns[0].cuts) <= 31


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (pa.nulls(3), "'bad' is empty"),
        (pa.array([None, None, ""]), "'bad' is empty"),
        (pa.array([None, None, None], pa.int8()), "'bad' is empty"),
        (pa.array([[1], [1, 2], [3]]), "different lengths"),
        (pa.array([{"a": 1}] * 3), "type struct"),
        (pa.array([b"x"] * 3), "type binary"),
        (pa.array([1, 2, 3], pa.time32("s")), "type time32"),
    ],
)
def test_public_columns_that_cannot_be_used(cells: Any, message: str) -> None:
    with pytest.raises(InvalidData, match=message):
        draft_schema(pa.table({"good": [1, 2, 3], "bad": cells}))


def test_classes_are_read_off_public_labels_only_when_asked() -> None:
    assert draft_schema(PUBLIC, label="y").classes == ()
    assert classes_of(PUBLIC, "y") == ("no", "yes")
    assert classes_of(pd.DataFrame({"y": [10, 9, 2, 10]}), "y") == ("2", "9", "10")
    assert classes_of(pa.table({"y": [1.0, 0.0, None]}), "y") == ("0", "1")
    with pytest.raises(InvalidData, match="1 different values"):
        classes_of(pa.table({"y": ["a", "a"]}), "y")


def test_a_schema_is_written_and_read(tmp_path: Path) -> None:
    schema = draft_schema(PUBLIC, label="y", classes=("no", "yes"), unit="person")
    (tmp_path / "schema.json").write_text(schema.to_json(), encoding="utf-8")
    assert Schema.read(tmp_path / "schema.json") == schema
    by_hand = '{"mapl_schema": 1, "columns": [{"name": "age", "kind": "number"}]}'
    assert Schema.from_json(by_hand) == Schema((Column("age", "number"),))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"mapl_schema": 2}, "version 2"),
        ({"columns": []}, "no columns"),
        ({"columns": [{"name": "a"}]}, "not a schema"),
        ({"columns": [{"name": "a", "kind": "number", "colour": 1}]}, "not a schema"),
        ({"columns": [{"name": "a", "kind": "amount"}]}, "'amount'; expected one of number, category"),
        ({"columns": [{"name": "a", "kind": "category"}]}, "without categories"),
        ({"columns": [{"name": "a", "kind": "category", "categories": ["x", "x"]}]}, "twice"),
        ({"columns": [{"name": "a", "kind": "category", "categories": [1, 2]}]}, "quotation marks"),
        ({"columns": [{"name": "a", "kind": "category", "categories": [" x"]}]}, "without blanks"),
        ({"columns": [{"name": 1, "kind": "number"}]}, "must be text"),
        ({"columns": [{"name": "a", "kind": "number", "spread": 0}]}, "spread"),
        ({"columns": [{"name": "a", "kind": "number", "cuts": [2, 1]}]}, "ascending"),
        ({"columns": [{"name": "a", "kind": "image", "width": 0}]}, "width"),
        ({"columns": [{"name": "a", "kind": "number"}] * 2}, "two columns of one name"),
        ({"columns": "age"}, "not a schema"),
        ({"label": "a"}, "remove it from the schema's columns"),
        ({"unit": "a"}, "again with unit=.a"),
        ({"label": "b", "unit": "b"}, "must differ"),
        ({"classes": ["yes"]}, "at least two different"),
        ({"classes": 3}, "not a schema"),
        ({"columns": [{"name": "a", "kind": "category", "categories": ["x"], "rest": "yes"}]}, "the rest 'yes'"),
        ({"columns": [{"name": "a", "kind": "category", "categories": ["(rest)"], "rest": True}]}, "called"),
        ({"columns": [{"name": "a", "kind": "number", "rest": True}]}, "for categories only"),
        ({"columns": [{"name": "a", "kind": "date", "order": "year-first"}]}, "day-first or month-first"),
        ({"columns": [{"name": "a", "kind": "number", "order": "day-first"}]}, "to a date"),
        ({"columns": [{"name": "a", "kind": "text", "blanks": ["?"]}]}, "only numbers and dates"),
        ({"columns": [{"name": "a", "kind": "number", "blanks": ["-999"]}]}, "a number among its blanks"),
        ({"columns": [{"name": "a", "kind": "number", "blanks": [""]}]}, "The blanks of column 'a'"),
        ({"dropped": ["a"]}, "drops 'a'"),
        ({"dropped": [3]}, "list names"),
        ({"label": "y", "dropped": ["y"]}, "drops 'y'"),
    ],
)
def test_schemas_that_make_no_sense(change: dict[str, Any], message: str) -> None:
    plain = {"mapl_schema": 1, "columns": [{"name": "a", "kind": "number"}]} | change
    with pytest.raises((InvalidData, InvalidParameter), match=message):
        Schema.from_json(json.dumps(plain))


def test_files_that_are_no_schema(tmp_path: Path) -> None:
    path = tmp_path / "schema.json"
    with pytest.raises(InvalidData, match="cannot be read"):
        Schema.read(path)
    for content in (b"", b"[]", b"{}", b"null", b"not json", b"\xff\xfe"):
        path.write_bytes(content)
        with pytest.raises(InvalidData, match=r"schema\.json"):
            Schema.read(path)


def test_public_and_private_columns_that_differ() -> None:
    schema = draft_schema(PUBLIC.select(["age", "town", "zip"]), label="y", unit="person")
    schema.checked_against(PUBLIC.select(["zip", "y", "age", "town"]), "private rows")
    with pytest.raises(InvalidData, match="private rows lack column 'zip'"):
        schema.checked_against(PUBLIC.select(["age", "town", "y"]), "private rows")
    with pytest.raises(InvalidData, match=r"have column 'price'.*label or unit"):
        schema.checked_against(PUBLIC.select(["age", "town", "zip", "price"]).to_pandas(), "private rows")
    # A header without the schema's names may be a row of a file that has no header: it is not quoted.
    with pytest.raises(InvalidData, match="few or none of the schema's columns") as refusal:
        schema.check_names(["8675309", "town", "Main Street 5"], "private rows")
    assert "8675309" not in str(refusal.value)


def test_a_coarsened_schema_keeps_some_of_the_same_cuts() -> None:
    values = np.random.default_rng(0).normal(size=(500, 2))
    values[:, 1] = values[:, 1] > 0
    fine = draft_schema(values)
    coarse = fine.coarsened(6)
    assert len(fine.columns[0].cuts) > 20
    assert len(coarse.columns[0].cuts) == 5
    assert set(coarse.columns[0].cuts) <= set(fine.columns[0].cuts)
    shares = np.diff(np.searchsorted(np.sort(values[:, 0]), [-9, *coarse.columns[0].cuts, 9])) / 500
    assert abs(shares - 1 / 6).max() < 0.06
    assert coarse.columns[1] == fine.columns[1]
    assert fine.coarsened(100) == fine
