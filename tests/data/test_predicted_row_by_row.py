"""What is predicted for a row depends on no other row, not even by the rounding of a matrix product."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mapl.data.tables.row_by_row import PLACES, row_by_row
from mapl.errors import InvalidData
from mapl.release import MostRight


@given(st.lists(st.integers(0, 40), max_size=60))
def test_predictions_come_back_in_order(values: list[int]) -> None:
    rows = np.array(values, dtype=np.float64).reshape(-1, 1)
    assert row_by_row(lambda X: X[:, 0] * 2, rows).tolist() == [2 * value for value in values]


def test_frames_and_many_equal_rows() -> None:
    frame = pd.DataFrame({"city": ["Oslo"] * 7 + ["Rome"] * 5, "age": np.arange(12.0) // 6})
    assert row_by_row(lambda X: (X["city"] == "Rome").to_numpy(), frame).tolist() == [False] * 7 + [True] * 5


def rounding(rows: Any) -> Any:
    """Say something else in another place or among another number of rows, as rounding on the border does."""
    return (len(rows) + np.arange(len(rows))) % 2


@pytest.mark.parametrize("n", [1, 2, 99, 100, 300])
def test_a_record_more_changes_nothing_that_is_said_of_others(n: int) -> None:
    rows = np.random.default_rng(n).normal(size=(n + 1, 3))
    without = row_by_row(rounding, rows[1:])
    assert (row_by_row(rounding, rows)[1:] == without).all()
    assert (row_by_row(rounding, rows[::-1])[::-1][1:] == without).all()
    labels = np.ones(n + 1)
    query = MostRight("best", {"rounds": rounding, "never": lambda X: np.full(len(X), 2)})
    (_, all_of_them), (_, all_but_one) = query((rows, labels)), query((rows[1:], labels[1:]))
    assert abs(all_of_them - all_but_one) <= 1


def test_no_row_and_other_shapes() -> None:
    assert row_by_row(rounding, np.empty((0, 2))).tolist() == []
    with pytest.raises(InvalidData, match="one label per row"):
        row_by_row(lambda X: np.zeros((PLACES, 2)), np.ones((3, 2)))
