"""Rows of every kind answer alike, and a digest knows its own row only."""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from mapl.data.tables import rows as of
from mapl.data.units import row_digests
from mapl.errors import InvalidData

TABLE = pa.table(
    {
        "age": pa.array([31, 45, None, 31], pa.int32()),
        "pay": pa.array([1.5, float("nan"), -0.0, 1.5]),
        "town": pa.array(["Ulm", " Köln", None, "Ulm"]).dictionary_encode(),
        "here": pa.array([True, None, False, True]),
        "seen": pa.array([0, 86_400_000_000, None, 0], pa.timestamp("us")),
    }
)
MATRIX = np.array([[0, 1.5, -2], [np.nan, 0, 0], [7, 0, 1e30], [0, 0, 0]])
KINDS = {
    "table": TABLE,
    "pandas": TABLE.to_pandas(),
    "polars": pl.DataFrame(TABLE),
    "numpy": MATRIX,
    "sparse": sp.csr_matrix(MATRIX),
}


def digests(rows: Any, labels: Any = None, **how: Any) -> list[bytes]:
    return list(chain.from_iterable(row_digests.digests(rows, labels, **how)))


@pytest.mark.parametrize("rows", KINDS.values(), ids=KINDS)
def test_rows_of_every_kind_are_taken_and_counted(rows: Any) -> None:
    assert of.check_rows(rows, "public rows") is not None
    assert of.n_rows(rows) == 4
    taken = of.take(rows, np.array([2, 0]))
    assert type(taken) is type(rows)
    assert digests(taken) == [digests(rows)[i] for i in (2, 0)]


@pytest.mark.parametrize("rows", [TABLE, KINDS["pandas"], KINDS["polars"]], ids=["table", "pandas", "polars"])
def test_columns_by_name(rows: Any) -> None:
    assert of.names(rows) == ("age", "pay", "town", "here", "seen")
    assert of.names(of.select(rows, ["town", "age"])) == ("town", "age")
    assert of.names(of.without(rows, ["town", "not there"])) == ("age", "pay", "here", "seen")
    assert of.column(rows, "town").to_pylist() == ["Ulm", " Köln", None, "Ulm"]
    with pytest.raises(InvalidData, match="no column 'tow'"):
        of.column(rows, "tow")


@pytest.mark.parametrize("rows", [MATRIX, KINDS["sparse"]], ids=["numpy", "sparse"])
def test_columns_of_a_matrix_are_numbered(rows: Any) -> None:
    assert of.names(rows) is None
    assert of.column(rows, "x2").to_pylist() == [-2, 0, 1e30, 0]
    assert of.without(rows, ["x0", "x1"]).shape == (4, 1)
    for name in ("x3", "2nd", "x"):
        with pytest.raises(InvalidData, match="x0, x1"):
            of.column(rows, name)


def test_taken_rows_are_copies_without_row_numbers() -> None:
    taken = of.take(MATRIX, np.array([0, 1]))
    assert not np.shares_memory(taken, MATRIX)
    frame = KINDS["pandas"].set_index(np.array([10, 20, 30, 40]))
    assert of.take(frame, np.array([3, 1])).index.tolist() == [0, 1]


def test_learners_get_pandas_with_the_declared_levels() -> None:
    frame = of.for_learner(TABLE)
    assert isinstance(frame, pd.DataFrame)
    assert frame["town"].cat.categories.tolist() == ["Ulm", " Köln"]
    for rows in (MATRIX, KINDS["sparse"], KINDS["polars"], KINDS["pandas"]):
        assert of.for_learner(rows) is rows
    images = pa.table({"pixels": pa.array([[1, 2], [3, 4]], pa.list_(pa.uint8(), 2))})
    assert of.for_learner(images).tolist() == [[1, 2], [3, 4]]


def test_other_things_that_are_rows() -> None:
    assert of.check_rows([[1, 2], [3, 4]], "rows").tolist() == [[1, 2], [3, 4]]
    assert isinstance(of.check_rows(sp.coo_array(MATRIX), "rows"), sp.csr_array)
    assert isinstance(of.check_rows(TABLE.to_batches()[0], "rows"), pa.Table)
    assert of.names(of.check_rows(pd.DataFrame(MATRIX), "rows")) == ("0", "1", "2")
    some_missing = pd.DataFrame({"here": pd.Series([True, None], dtype=object)})
    assert of.column(of.check_rows(some_missing, "rows"), "here").to_pylist() == [True, None]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([1, 2, 3], "1 dimensions"),
        (np.zeros((2, 2, 2)), "3 dimensions"),
        ([[1, 2], [3]], "different lengths"),
        (np.array([["a", "b"]]), "matrix of type"),
        (np.array([[1, None]], dtype=object), "matrix of type object"),
        (np.array([[1j]]), "matrix of type complex"),
        (np.ma.masked_array([[1.0]], mask=[[True]]), "masked array"),
        (np.zeros((0, 3)), "no public rows"),
        (np.zeros((3, 0)), "no columns"),
        (pa.table({"a": pa.array([], pa.int8())}), "no public rows"),
        (pa.table([[1], [2]], names=["a", "a"]), "two columns named 'a'"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "two columns of one name"),
        (pd.DataFrame([[1, 2]], columns=pd.MultiIndex.from_tuples([("a", "b"), ("a", "c")])), "several levels"),
        (pl.DataFrame({"a": [1]}).lazy(), "collected"),
        (pl.Series([1]), "expected a NumPy"),
        (pd.Series([1]), "expected a NumPy"),
        ("rows.csv", "expected a NumPy"),
        (None, "expected a NumPy"),
    ],
)
def test_what_is_no_table_is_refused_in_words(rows: Any, message: str) -> None:
    with pytest.raises(InvalidData, match=message) as refusal:
        of.check_rows(rows, "public rows")
    assert "8675309" not in str(refusal.value)


def test_digests_do_not_depend_on_how_rows_are_stored() -> None:
    wanted = digests(TABLE)
    assert len(set(wanted)) == 3  # the first and the last row are alike
    chunked = pa.concat_tables([TABLE.slice(0, 1), TABLE.slice(1)])
    decoded = TABLE.set_column(2, "town", TABLE["town"].cast(pa.string()))
    large = TABLE.set_column(2, "town", TABLE["town"].cast(pa.large_string()))
    floats = TABLE.set_column(0, "age", TABLE["age"].cast(pa.float64()))
    reordered = TABLE.select(["town", "seen", "pay", "here", "age"])
    for same in (chunked, decoded, large, floats, reordered, KINDS["pandas"], KINDS["polars"]):
        assert digests(same) == wanted
    trimmed = TABLE.set_column(2, "town", pa.array(["Ulm ", "Köln", "", "\tUlm"]))
    assert digests(trimmed) == wanted


def test_digests_tell_rows_labels_and_columns_apart() -> None:
    assert len(set(digests(MATRIX))) == 4
    with_labels = digests(MATRIX, np.array([0, 1, 0, 1], dtype=np.int32))
    assert not set(with_labels) & set(digests(MATRIX))
    assert digests(MATRIX, np.array([1, 1, 0, 1], dtype=np.int32))[1:] == with_labels[1:]
    assert digests(MATRIX, np.array([1, 1, 0, 1], dtype=np.int32))[0] != with_labels[0]
    assert digests(np.array([[1.0, 0.0]])) != digests(np.array([[0.0, 1.0]]))
    assert digests(pa.table({"a": ["x"], "b": ["y"]})) != digests(pa.table({"a": ["y"], "b": ["x"]}))


def test_digests_of_images() -> None:
    images = [[0, 1, 2], [9, 0, 0]]
    fixed = pa.table({"pixels": pa.array(images, pa.list_(pa.uint8(), 3))})
    listed = pa.table({"pixels": pa.array(images, pa.list_(pa.float64()))})
    assert digests(fixed) == digests(listed) == digests(fixed.to_pandas()) == digests(pl.DataFrame(fixed))
    assert digests(fixed) == digests(np.array(images))


CELLS = st.one_of(st.sampled_from([0.0, -0.0, 1.0, float("nan"), 1e300, 5e-324]), st.floats(allow_subnormal=False))


@settings(max_examples=60, deadline=None)
@given(hnp.arrays(np.float64, hnp.array_shapes(min_dims=2, max_dims=2, max_side=6), elements=CELLS), st.data())
def test_a_digest_depends_on_its_own_row_alone(matrix: Any, data: st.DataObject) -> None:
    whole = digests(matrix)
    where = np.array(data.draw(st.lists(st.integers(0, len(matrix) - 1), min_size=1)))
    assert digests(matrix[where]) == [whole[i] for i in where]
    assert digests(matrix, block=1) == whole
    explicit_zeros = sp.csr_matrix(np.ones_like(matrix))
    explicit_zeros.data = matrix.ravel().copy()
    for same in (sp.csr_matrix(matrix), sp.csr_array(matrix), explicit_zeros, np.asfortranarray(matrix)):
        assert digests(same) == whole
    frame = pd.DataFrame(matrix, columns=[f"c{j}" for j in range(matrix.shape[1])])
    assert digests(frame) == whole


def test_digests_of_a_wide_sparse_matrix_stay_sparse() -> None:
    wide = sp.random_array((50, 10_000_000), density=1e-6, rng=np.random.default_rng(1), format="csr")
    assert len(set(digests(wide))) == 50


def test_an_empty_entry_of_somebody_else_changes_no_digest() -> None:
    """Whole numbers beyond 2^53 used to be rounded twice where somebody's entry was empty, and once elsewhere."""
    awkward = [(1 << 60) + (1 << 36) + 1, (1 << 62) - 1, 5]
    alone = pa.table({"number": awkward})
    beside = pa.table({"number": [*awkward, None]})
    first, second = list(digests(alone, None)), list(digests(beside, None))
    assert first == second[:3]


def test_a_column_of_a_wide_table_is_found_without_listing_all(monkeypatch: pytest.MonkeyPatch) -> None:
    table = pa.table({f"x{j}": [j] for j in range(40)})
    monkeypatch.setattr("mapl.data.tables.rows.names", lambda rows: pytest.fail("takes the square of the width"))
    assert of.column(table, "x7").to_pylist() == [7]
    with pytest.raises(InvalidData, match="There is no column 'x40'"):
        of.column(table, "x40")
