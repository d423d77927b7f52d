"""The encoder knows public facts only, and encodes each row by itself, however it is stored."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest
import scipy.sparse as sp
import skops.io
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from mapl.data import Column, Schema, conform, draft_schema, read_table, take
from mapl.data.encoding.encoder import Encoder
from mapl.data.encoding.layout import CLIP, TEXT_WIDTH
from mapl.errors import InvalidData

SCHEMA = Schema(
    (
        Column("age", "number", centre=40, spread=10, cuts=(30.0, 50.0), missing=True),
        Column("town", "category", ("Bonn", "Ulm")),
        Column("here", "category", ("false", "true")),
        Column("hours", "number", centre=5, spread=2),
        Column("day", "date", centre=10, spread=5),
    )
)
ROWS = pa.table(
    {
        "town": ["Ulm", "Paris", None, "Bonn"],
        "age": [50, None, 30, 10_000],
        "here": [True, None, False, True],
        "hours": [7.0, float("nan"), 1.0, float("inf")],
        "day": pa.array([20, None, 10, 0], pa.date32()),
    }
)
NAMES = ["age", "hours", "day", "age is missing", "town=Bonn", "town=Ulm", "here=false", "here=true"]
ENCODED = [
    [1, 1, 2, 0, 0, 1, 0, 1],
    [0, 0, 0, 1, 0, 0, 0, 0],
    [-1, -2, 0, 0, 0, 0, 1, 0],
    [CLIP, CLIP, -2, 0, 1, 0, 0, 1],
]


def test_every_kind_of_column() -> None:
    encoder = Encoder.of(SCHEMA)
    encoded = encoder.transform(ROWS)
    assert encoded.dtype == np.float32
    assert encoded.tolist() == ENCODED
    assert encoder.get_feature_names_out().tolist() == NAMES


@pytest.mark.parametrize(
    "rows",
    [
        ROWS.to_pandas(),
        pl.DataFrame(ROWS),
        conform(ROWS, SCHEMA, "rows"),
        conform(ROWS, SCHEMA, "rows").to_pandas(),
        pl.DataFrame(conform(ROWS, SCHEMA, "rows")),
        pa.concat_tables([ROWS.slice(0, 1), ROWS.slice(1)]),
    ],
    ids=["pandas", "polars", "conformed", "conformed pandas", "conformed polars", "chunked"],
)
def test_rows_of_every_kind(rows: Any) -> None:
    assert Encoder.of(SCHEMA).transform(rows).tolist() == ENCODED


def test_bins_are_public_intervals() -> None:
    encoder = Encoder.of(SCHEMA, bins=True)
    ages = pa.table({**dict(zip(ROWS.column_names, ROWS.columns, strict=True)), "age": [29.9, None, 30.0, 51.0]})
    names, encoded = encoder.get_feature_names_out().tolist(), encoder.transform(ages)
    assert names[-3:] == ["age in ..30", "age in 30..50", "age in 50.."]
    assert encoded.shape[1] == len(names)
    assert encoded[:, -3:].tolist() == [[1, 0, 0], [0, 0, 0], [0, 1, 0], [0, 0, 1]]


def test_matrices() -> None:
    matrix = np.array([[0.0, 3, 1], [2, 5, np.nan], [0, 7, 0]])
    dense = Encoder.of(draft_schema(matrix))
    encoded = dense.transform(matrix)
    assert encoded[:, 1] == pytest.approx(np.array([-1, 0, 1]) / np.std([1, 0, -1]))
    assert encoded[:, 0].tolist() == [0, 1, 0]
    assert dense.get_feature_names_out().tolist() == ["x0", "x1", "x2", "x2 is missing"]
    for same in (sp.csr_matrix(matrix), np.asfortranarray(matrix), matrix.tolist(), matrix.astype(np.float32)):
        assert np.array_equal(dense.transform(same), encoded)


def test_wide_sparse_matrices_stay_sparse() -> None:
    matrix = sp.random_array((40, 300), density=0.1, rng=np.random.default_rng(0), format="csr")
    encoder = Encoder.of(draft_schema(matrix))
    encoded = encoder.transform(matrix)
    assert sp.issparse(encoded)
    assert encoded.dtype == np.float32
    assert encoded.nnz == matrix.nnz
    assert np.array_equal(encoded.toarray(), encoder.transform(matrix.toarray()))
    assert abs(encoded).max() == 1


def test_text_is_hashed_and_sparse() -> None:
    schema = Schema((Column("note", "text"), Column("age", "number")))
    rows = pa.table({"note": ["good film", "bad film", None], "age": [1, 2, 3]})
    encoder = Encoder.of(schema)
    encoded = encoder.transform(rows)
    assert sp.issparse(encoded)
    assert encoded.dtype == np.float32
    assert encoded.shape == (3, 1 + TEXT_WIDTH) == (3, len(encoder.get_feature_names_out()))
    assert encoded[:, 0].toarray().ravel().tolist() == [1, 2, 3]
    assert np.diff(encoded.indptr).tolist() == [4, 4, 1]


def test_images_as_lists_or_matrices() -> None:
    pixels = np.random.default_rng(0).integers(0, 255, size=(20, 6))
    table = pa.table({"pixels": pa.array(pixels.tolist(), pa.list_(pa.uint8(), 6))})
    encoder = Encoder.of(draft_schema(table))
    encoded = encoder.transform(table)
    assert encoded == pytest.approx((pixels - pixels.mean()) / pixels.std(), abs=1e-5)
    for same in (pixels, table.to_pandas(), pl.DataFrame(table), sp.csr_matrix(pixels)):
        assert np.array_equal(encoder.transform(same), encoded)
    assert encoder.get_feature_names_out()[5] == "pixels[5]"
    missing = pa.table({"pixels": pa.array([None, [1] * 6], pa.list_(pa.uint8(), 6))})
    assert not encoder.transform(missing)[0].any()


def test_fitting_learns_nothing() -> None:
    encoder = Encoder.of(SCHEMA, bins=True)
    before = dict(encoder.get_params())
    assert encoder.fit(ROWS.slice(3)) is encoder
    assert vars(encoder) == before
    assert clone(encoder).get_params() == before
    assert np.array_equal(encoder.fit_transform(ROWS.slice(0, 2)), encoder.transform(ROWS)[:2])


def test_in_a_pipeline() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.normal(size=200), "town": rng.choice(["a", "b"], size=200)})
    truth = (frame["age"] + (frame["town"] == "b")) > 0.5
    model = make_pipeline(Encoder.of(draft_schema(frame)), LogisticRegression()).fit(frame, truth)
    assert model.score(frame, truth) > 0.95
    assert model[:-1].get_feature_names_out().tolist() == ["age", "town=a", "town=b"]


def test_a_model_file_holds_plain_values_and_names_one_class() -> None:
    encoder = Encoder.of(SCHEMA, bins=True)
    stored = skops.io.dumps(encoder)
    assert skops.io.get_untrusted_types(data=stored) == ["mapl.data.encoding.encoder.Encoder"]
    loaded = skops.io.loads(stored, trusted=["mapl.data.encoding.encoder.Encoder"])
    assert loaded.get_params() == encoder.get_params()
    assert np.array_equal(loaded.transform(ROWS), encoder.transform(ROWS))


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (ROWS.drop_columns("age"), "no column 'age'"),
        (ROWS.to_pandas().drop(columns="age"), "no column 'age'"),
        (np.zeros((2, 5)), "some of them text"),
    ],
)
def test_rows_that_do_not_fit(rows: Any, message: str) -> None:
    with pytest.raises(InvalidData, match=message) as refusal:
        Encoder.of(SCHEMA).transform(rows)
    assert "8675309" not in str(refusal.value)
    with pytest.raises(InvalidData, match="declares 2 columns"):
        Encoder.of(draft_schema(np.eye(2))).transform(np.eye(3))


RECORDS = st.fixed_dictionaries(
    {
        "age": st.none() | st.integers(-(2**53), 2**53),
        "town": st.none() | st.sampled_from(["Ulm", "Bonn", " Ulm ", "Paris", "", "NA"]),
        "here": st.none() | st.booleans(),
        "hours": st.none() | st.floats(allow_nan=False),
        "day": st.none() | st.integers(-(10**15), 10**15),
    }
)
TYPES = pa.schema(
    {"age": pa.int64(), "town": pa.string(), "here": pa.bool_(), "hours": pa.float64(), "day": pa.timestamp("us")}
)


@settings(max_examples=40, deadline=None)
@given(st.lists(RECORDS, min_size=1, max_size=5), st.booleans())
def test_any_small_table_is_encoded_alike_however_it_is_stored(records: list[dict[str, Any]], bins: bool) -> None:
    table = pa.Table.from_pylist(records, schema=TYPES)
    encoder = Encoder.of(SCHEMA, bins=bins)
    wanted = encoder.transform(table)
    with TemporaryDirectory() as folder:
        names = [Path(folder) / f"t{suffix}" for suffix in (".csv", ".parquet", ".feather")]
        pa.csv.write_csv(table, names[0])
        pa.parquet.write_table(table, names[1])
        pa.feather.write_feather(table, names[2])
        stored = [read_table(name, what="private rows", schema=SCHEMA) for name in names]
    for rows in (*stored, table.to_pandas(), pl.DataFrame(table), table.slice(0)):
        assert np.array_equal(encoder.transform(rows), wanted)
    where = np.arange(len(records))[::-1]
    assert np.array_equal(encoder.transform(take(table, where)), wanted[where])
    assert np.isfinite(wanted).all()
    assert (abs(wanted) <= CLIP).all()
