"""One cell, many storages, one meaning."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from mapl.data.reading.entries import legible, numbers, pixels, places, spell, texts
from mapl.errors import InvalidData

NAN = float("nan")


@pytest.mark.parametrize(
    "column",
    [
        pa.array([7, None], pa.int8()),
        pa.array([7, None], pa.uint64()),
        pa.array([7.0, NAN], pa.float32()),
        pa.array([7.0, None]),
        pa.array([Decimal(7), None]),
        pa.array([" 7", ""]),
        pa.array(["7.0", "NA"], pa.large_string()),
        pa.array(["7", None]).dictionary_encode(),
        pa.chunked_array([[7], [None]]),
        pa.array([7, None], pa.date32()),
        pa.array([7 * 86_400, None], pa.timestamp("s", "UTC")),
    ],
    ids=lambda column: str(column.type),
)
def test_seven_and_nothing(column: Any) -> None:
    assert np.array_equal(numbers(column), [7.0, NAN], equal_nan=True)


def test_huge_integers_are_rounded() -> None:
    assert numbers(pa.array([2**63 - 1, None])).tolist()[0] == 2.0**63


@pytest.mark.parametrize(
    ("column", "wanted"),
    [
        (pa.array([" a ", "", None, "\t"]), ["a", None, None, None]),
        (pa.array([1.0, NAN, 2.5]), ["1", None, "2.5"]),
        (pa.array([1, None]), ["1", None]),
        (pa.array([True, False]), ["true", "false"]),
        (pa.chunked_array([["b"], ["b "]]).dictionary_encode(), ["b", "b"]),
    ],
)
def test_texts(column: Any, wanted: list[str | None]) -> None:
    assert texts(column).to_pylist() == wanted


def test_places_among_categories() -> None:
    categories = ("1", "2")
    for column in (
        pa.array([2, 1, 3, None]),
        pa.array([2.0, 1.0, NAN, None]),
        pa.array([" 2", "1", "x", None]),
        pa.array(["2", "1", "x", None]).dictionary_encode(),
        pa.chunked_array([["2"], ["1", "x", None]]).dictionary_encode(),
    ):
        assert places(column, categories).to_pylist() == [1, 0, None, None]
    spelled = pa.array(["True", "FALSE", "true", "yes"])
    assert places(spelled, ("false", "true")).to_pylist() == [1, 0, 1, None]
    assert places(pa.array([True, None]), ("false", "true")).to_pylist() == [1, None]


def test_pixels_of_missing_and_sliced_images() -> None:
    images = pa.array([[9, 9], [1, 2], None], pa.list_(pa.uint8(), 2)).slice(1)
    assert np.array_equal(pixels(images, 2), [[1, 2], [NAN, NAN]], equal_nan=True)
    assert np.isnan(pixels(pa.array([1, 2]), 2)).all()


def test_errors_name_the_column_and_no_cell() -> None:
    told = pytest.raises(InvalidData, match=r"Column 'age' of the private rows .* kind 'number'")
    with told as refusal, legible("age", "number", "private rows"):
        pa.array(["8675309 years"]).cast(pa.float64())
    assert "8675309" not in str(refusal.value)
    assert refusal.value.__cause__ is None
    assert refusal.value.__suppress_context__


WIDENED = {
    "an empty entry makes whole numbers fractional": (
        pa.array([7, 56_095_629_205, 4_917_012_345_678]),
        pa.array([7.0, 56_095_629_205.0, 4_917_012_345_678.0, None]),
    ),
    "somebody's cents": (
        pa.array([Decimal(1), Decimal(20)], pa.decimal128(5, 0)),
        pa.array([Decimal(1), Decimal(20), Decimal("2.55")], pa.decimal128(5, 2)),
    ),
    "somebody's nanoseconds": (
        pa.array(np.array(["2019-05-13", "2019-05-13T10:20:30"], "datetime64[us]")),
        pa.array(np.array(["2019-05-13", "2019-05-13T10:20:30", "2020-01-01T00:00:00.1234567"], "datetime64[ns]")),
    ),
    "somebody's hour": (
        pa.array(np.array(["2019-05-13", "2020-01-01"], "datetime64[D]")),
        pa.array(np.array(["2019-05-13", "2020-01-01", "2019-05-13T10:20:30"], "datetime64[us]")),
    ),
}


@pytest.mark.parametrize("how", WIDENED)
def test_what_others_do_to_a_column_changes_no_entry(how: str) -> None:
    """One more person may change the type that all rows are stored as, and must not change what others say."""
    without, with_another = WIDENED[how]
    spoken = texts(without).to_pylist()
    assert texts(with_another).to_pylist()[: len(spoken)] == spoken
    assert spell(with_another).to_pylist()[: len(spoken)] == spoken


def test_long_whole_numbers_are_rounded_alike_with_an_empty_entry_and_without() -> None:
    awkward = [(1 << 60) + (1 << 36) + 1, (1 << 62) - 1, -((1 << 61) + 1)]
    alone, beside = numbers(pa.array(awkward)), numbers(pa.array([*awkward, None]))
    assert alone.astype(np.float32).tolist() == beside[:3].astype(np.float32).tolist()
