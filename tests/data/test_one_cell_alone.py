"""What a cell says is decided by that cell: a stranger of another type beside it changes nothing."""

from __future__ import annotations

from datetime import time
from decimal import Decimal
from typing import Any
from uuid import UUID

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from mapl.data.reading.entries import images, reals, spell
from mapl.data.reading.python_cells import arrow_column
from mapl.data.units.row_digests import digests
from mapl.data.units.unit_names import unit_names
from mapl.estimators.handed_over import codes, declare_classes, labels, matrix

LONG = "x" * 2 * 10**7
"""As wide as this in a thousand rows would be 80 GB."""

IDS: dict[str, list[Any]] = {
    "bytes": [b"\xff\x01", b"\xfe\x02"],
    "uuids": [UUID(int=1), UUID(int=2)],
    "times": [time(10), time(11, 0, 0, 60_000)],
    "decimals": [Decimal("12345678901234567890123456789012345678"), Decimal("1.50")],
    "floats": [0.0, -0.0, 7.0, 0.1, 1e23, 5e-324, float("inf")],
    "short floats": [np.float32(one) for one in (0.0, -0.0, 7.0, 0.1)],
}
STRANGERS = ["x", 7, None, b"\xff", Decimal("1E+9999999"), Decimal("1E-9999999"), np.datetime64("30000-01-01")]


@pytest.mark.parametrize("kind", IDS)
@pytest.mark.parametrize("stranger", STRANGERS, ids=repr)
def test_ids_and_texts_are_spelled_alone(kind: str, stranger: object) -> None:
    own = IDS[kind]
    alone, beside = (pd.Series(cells, dtype=object) for cells in (own, [*own, stranger]))
    assert unit_names(beside)[: len(own)].to_pylist() == unit_names(alone).to_pylist()
    assert None not in unit_names(alone).to_pylist()
    assert spell(arrow_column(beside))[: len(own)].to_pylist() == spell(arrow_column(alone)).to_pylist()


def test_uuids_and_decimals_are_named_like_their_text() -> None:
    long = IDS["decimals"][0]
    assert unit_names(pa.array([long], pa.decimal128(38, 0))) == unit_names([str(long)])
    stored = pa.ExtensionArray.from_storage(pa.uuid(), pa.array([UUID(int=5).bytes], pa.binary(16)))
    assert unit_names(stored) == unit_names([str(UUID(int=5))])


@pytest.mark.parametrize("unit", [pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns")], ids=str)
def test_times_have_one_spelling(unit: pa.DataType) -> None:
    assert spell(pa.array([time(10, 20)], unit)).to_pylist() == ["10:20:00"]


@pytest.mark.parametrize("text", ["0" * 1500 + "7", "1e" + "0" * 30 + "5", "1" * 900, "+.5"], ids=lambda t: t[:4])
def test_a_number_is_read_alike_beside_what_is_none(text: str) -> None:
    assert reals(pa.array([text, "1"]))[0].as_py() == reals(pa.array([text, "abc"]))[0].as_py()


@pytest.mark.parametrize(
    ("kind", "pixels"),
    [
        (pa.list_(pa.string()), ["1", "2"]),
        (pa.list_(pa.decimal128(5, 1)), [Decimal(1), Decimal(2)]),
        (pa.list_view(pa.int64()), [1, 2]),
        (pa.large_list_view(pa.uint8()), [1, 2]),
    ],
    ids=str,
)
def test_images_are_read_from_lists_of_whatever(kind: pa.DataType, pixels: list[object]) -> None:
    assert images(pa.array([pixels, None, pixels[:1]], kind), 2).to_pylist() == [[1.0, 2.0], None, None]


@pytest.mark.parametrize("stranger", [pd.NA, 1j, "abc", None, pd.Timestamp("2020-01-01"), 10**400], ids=str)
def test_a_matrix_of_objects_is_read_cell_by_cell(stranger: object) -> None:
    given = np.array([["1_0", 2.5], [" 3 ", 4]], dtype=object)
    more = np.empty((1, 2), dtype=object)
    more[0, :] = stranger
    np.testing.assert_array_equal(matrix(np.vstack([given, more]), "rows")[:2], matrix(given, "rows"))


@pytest.mark.parametrize("stranger", [7, np.nan, None, "x", ["a", "b"], LONG], ids=lambda s: str(s)[:9])
@pytest.mark.parametrize("classes", [(False, True), (2**53, 2**53 + 1), ("no", "yes"), (0.1, 0.2)], ids=str)
def test_lists_of_labels_are_read_cell_by_cell(classes: tuple[Any, ...], stranger: object) -> None:
    known = declare_classes(classes, np.empty(0))
    assert codes(labels([*classes] * 500 + [stranger]), known).tolist() == [0, 1] * 500 + [-1]


@pytest.mark.parametrize("stranger", [LONG, [1, 2], None], ids=lambda s: str(s)[:9])
def test_lists_of_rows_are_read_cell_by_cell(stranger: object) -> None:
    rows = matrix([[1, 2.5]] * 500 + [[stranger, 1]], "rows")
    np.testing.assert_array_equal(rows, [[1, 2.5]] * 500 + [[np.nan, 1]])


def test_a_frame_may_begin_with_a_missing_image() -> None:
    frame = pd.DataFrame({"p": [None, np.array([1.0, 2.0])]})
    assert len({one for block in digests(frame, None) for one in block}) == 2


@pytest.mark.parametrize("beside", ["a number", "an image"])
@pytest.mark.parametrize("kind", ["pandas", "arrow"])
def test_the_only_image_of_a_column_moves_nobody_else(kind: str, beside: str) -> None:
    """Frames forget that a column holds images where nobody has one, and images of others have other sizes."""
    own = {"number": [1.5, 2.5, 3.5], "image": [[1.0, 2.0], None, [3.0, 4.0, 5.0]]}
    second = [*own["number"], 4.5] if beside == "a number" else [*own["image"], [1.0] * 9]
    with_one = {"a": [None, None, None, [7.0, 8.0]], "z": second}

    def told(n: int) -> list[bytes]:
        columns = {name: cells[:n] for name, cells in with_one.items()}
        rows = pd.DataFrame(columns) if kind == "pandas" else pa.table(columns)
        return [digest for block in digests(rows, None) for digest in block]

    assert told(4)[:3] == told(3)
    assert len(set(told(4))) == 4
