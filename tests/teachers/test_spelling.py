"""How learners see classes, and how what they say is read."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from mapl.data.tables.classes import Classes
from mapl.errors import InvalidData
from mapl.teachers.learners.spelling import codes_of, natural

YES_NO = Classes(("no", "yes"))
DIGITS = Classes(("0", "1", "7"))


def test_names_that_are_all_numbers_become_numbers() -> None:
    assert natural(DIGITS).tolist() == [0, 1, 7]
    assert natural(DIGITS).dtype == np.int64
    assert natural(YES_NO).tolist() == ["no", "yes"]
    assert natural(Classes(("1", "x"))).tolist() == ["1", "x"]
    assert natural(Classes(("1", "01"))).tolist() == ["1", "01"]


@pytest.mark.parametrize(
    "said",
    [
        ["yes", "no", "maybe"],
        np.array(["yes", "no", ""]),
        np.array(["yes", "no", "?"], dtype=object),
        np.array([["yes"], ["no"], ["perhaps"]]),
        np.array([b"yes", b"no", b"x"]),
        pd.Series(["yes", "no", "x"]),
        pd.Series(["yes", "no", "x"], dtype="category"),
        pl.Series(["yes", "no", "x"]),
    ],
    ids=repr,
)
def test_names_are_read(said: Any) -> None:
    assert codes_of(said, YES_NO, 3).tolist() == [1, 0, -1]


@pytest.mark.skipif(not hasattr(np.dtypes, "StringDType"), reason="this NumPy has no strings of any length")
def test_names_in_numpys_own_strings_are_read() -> None:
    said = np.array(["yes", "no", "x"], dtype=np.dtypes.StringDType())
    assert codes_of(said, YES_NO, 3).tolist() == [1, 0, -1]


@pytest.mark.parametrize(
    "said",
    [
        [7, 0, 2],
        np.array([7.0, 0.0, np.nan]),
        np.array([7, 0, 10**18]),
        np.array([7, 0, np.inf]),
        np.array([7, 0, 0.5]),
        np.array([7, 0, -1], dtype=object),
        np.array(["7", "0", "77"]),
        pl.Series([7, 0, 3]),
    ],
    ids=repr,
)
def test_numbers_are_read(said: Any) -> None:
    assert codes_of(said, DIGITS, 3).tolist() == [2, 0, -1]


def test_truth_values_are_zero_and_one() -> None:
    assert codes_of(np.array([True, False]), Classes(("0", "1")), 2).tolist() == [1, 0]


@pytest.mark.parametrize(
    "said",
    [
        ["yes", "no"],
        np.zeros((3, 2)),
        np.zeros((1, 3)),
        "yes",
        None,
        3,
        {"yes": 3},
        (word for word in ("yes", "no", "yes")),
        np.broadcast_to(np.int8(0), (10**12,)),
    ],
    ids=lambda said: type(said).__name__,
)
def test_anything_but_one_prediction_per_row_is_refused(said: Any) -> None:
    with pytest.raises(InvalidData, match="The predictions for 3 rows have shape"):
        codes_of(said, YES_NO, 3)


@pytest.mark.parametrize("said", [[None, None, None], [{}, {}, {}], [1j, 2j, 3j]], ids=repr)
def test_predictions_that_are_no_names_are_refused(said: Any) -> None:
    with pytest.raises(InvalidData, match="expected class names or whole numbers"):
        codes_of(said, YES_NO, 3)
