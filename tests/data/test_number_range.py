"""Labels that are numbers: cut to a declared range, each by itself."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from mapl.data import Column, Schema, private_table
from mapl.data.drafts.draft_schema import classes_of
from mapl.data.tables.number_range import NumberRange, ends, label_numbers, public_numbers
from mapl.data.tables.table import leave_out_unlabelled
from mapl.errors import InvalidData, InvalidParameter
from mapl.parameters import Dialect, speaking

KNOWN = NumberRange(0, 100)
CELLS = {
    "0": -1.0,
    " 75 ": 0.5,
    "1e400": 1.0,
    "inf": 1.0,
    "-Infinity": -1.0,
    "-3": -1.0,
    "101": 1.0,
    "5e1": 0.0,
    "true": -0.98,
    "": math.nan,
    "NaN": math.nan,
    "many": math.nan,
    "1,5": math.nan,
    "0x1F": math.nan,
}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("5,5", "goes from 5 to 5"),
        ("9,1", "goes from 9 to 1"),
        ("0,inf", "finite"),
        ("-inf,0", "finite"),
        ("nan,1", "finite"),
        ("-1e308,1e308", "finite"),
        ("1,1.0000000000000002", "too narrow"),
        ("1", "separated by a comma"),
        ("1,2,3", "separated by a comma"),
        ("low,high", "separated by a comma"),
        ("", "separated by a comma"),
    ],
)
def test_what_is_no_range_is_refused_in_words(text: str, said: str) -> None:
    with pytest.raises(InvalidParameter, match=said):
        NumberRange.parse(text)


@pytest.mark.parametrize("ends", [("a", "b"), (None, 1), (0, 10**400), (0, [1])])
def test_ends_that_are_no_numbers_are_refused_in_words(ends: Any) -> None:
    with pytest.raises(InvalidParameter, match="two numbers"):
        NumberRange(*ends)


def test_a_range_reads_as_it_is_written() -> None:
    assert NumberRange.parse("-10, 1e3") == NumberRange(-10.0, 1000.0)
    assert str(NumberRange(-10, 1000)) == "-10 to 1000"


def test_a_cell_is_read_by_itself() -> None:
    together = label_numbers(pa.array(list(CELLS)), KNOWN)
    np.testing.assert_array_equal(together, list(CELLS.values()))
    for cell, expected in CELLS.items():
        np.testing.assert_array_equal(label_numbers(pa.array([cell]), KNOWN), [expected])


@pytest.mark.parametrize(
    "cells",
    [
        pa.array([25, 50, 250], pa.int16()),
        pa.array([25, 50, 250], pa.float32()),
        pa.array([b"25", b"50", b"250"]),
        pa.array(["25", "50", "250"]).dictionary_encode(),
        np.array([25, "50", 250.0], dtype=object),
    ],
    ids=["whole", "short", "bytes", "levels", "objects"],
)
def test_how_a_number_is_stored_does_not_show(cells: Any) -> None:
    assert label_numbers(cells, KNOWN).tolist() == [-0.5, 0.0, 1.0]


def test_predictions_lie_in_the_range() -> None:
    odd = NumberRange(0.1, 0.3)
    restored = odd.restored(np.array([-5.0, -1.0, 0.0, 1.0, 7.0]))
    assert odd.low <= restored.min()
    assert restored.max() <= odd.high
    np.testing.assert_allclose(restored, [0.1, 0.1, 0.2, 0.3, 0.3])
    numbers = np.linspace(0.1, 0.3, 50)
    np.testing.assert_allclose(odd.restored(odd.scaled(numbers)), numbers)


def test_a_record_whose_label_is_no_number_is_left_out_and_moves_no_other() -> None:
    schema = Schema((Column("x", "number", centre=0, spread=1),))

    def read(labels: list[Any]) -> Any:
        rows = pa.table({"x": np.arange(len(labels)) * 1.0, "y": pa.array(labels, pa.string())})
        whole = private_table(rows, label="y", classes=ends(), schema=schema, number_range=KNOWN)
        return leave_out_unlabelled(whole)

    plain, odd = read(["10", "20"]), read(["10", "nothing", "20", None])
    np.testing.assert_array_equal(plain.labels, odd.labels)
    assert (plain.n_left_out, odd.n_left_out) == (0, 2)
    assert odd.rows.open()["x"].to_pylist() == [0.0, 2.0]


@pytest.mark.parametrize("cell", [None, math.nan, math.inf])
def test_public_labels_that_are_no_numbers_are_refused(cell: Any) -> None:
    with pytest.raises(InvalidData, match="test rows has empty or infinite cells"):
        public_numbers(pa.array([1.0, cell]), name="cost", what="test rows")


def test_text_labels_where_numbers_are_declared_are_told_apart_from_gaps() -> None:
    with pytest.raises(
        InvalidData, match=r"'cost' of the test rows holds no number at all.*leave out regression\.$"
    ):
        public_numbers(pa.array(["low", "high"]), name="cost", what="test rows")
    with speaking(Dialect(lacks=frozenset({"regression"}))), pytest.raises(InvalidData, match=r"give numbers\.$"):
        public_numbers(pa.array(["low", "high"]))
    assert public_numbers(pa.array(["1", "2.5"])).tolist() == [1.0, 2.5]


@pytest.mark.parametrize("numbers", [np.arange(30) / 7, np.arange(200)])
def test_many_public_numbers_are_not_taken_for_classes(numbers: Any) -> None:
    with pytest.raises(InvalidData, match=r"hardly classes.*regression"):
        classes_of(pa.table({"y": numbers}), "y")


def test_few_numbers_are_classes_as_before() -> None:
    assert classes_of(pa.table({"y": [0, 1, 1]}), "y") == ("0", "1")
    assert len(classes_of(pa.table({"y": np.arange(100)}), "y")) == 100
