"""Integers in the order of floating point numbers, and the search in many runs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mapl.prediction.order_keys import count_below, order_keys


@given(st.lists(st.floats(), min_size=2, max_size=2))
def test_keys_compare_as_the_numbers_do(pair: list[float]) -> None:
    one, other = order_keys(np.array(pair)).tolist()
    # NaN above infinity, as numpy sorts too.
    ranks = [(math.isnan(value), 0.0 if math.isnan(value) else value) for value in pair]
    assert (one < other, one == other) == (ranks[0] < ranks[1], ranks[0] == ranks[1])


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_zeros_and_nans_are_one_value_each(kind: type[np.floating]) -> None:
    values = np.array([-np.inf, -1, -0.0, 0.0, 1, np.inf, np.nan, -np.nan], dtype=kind)
    keys = order_keys(values)
    assert keys.dtype.itemsize == values.dtype.itemsize
    assert keys[2] == keys[3]
    assert keys[6] == keys[7] > keys[5]
    assert (np.diff(keys[[0, 1, 2, 4, 5, 6]].astype(object)) > 0).all()
    assert keys.max() < np.iinfo(keys.dtype).max, "one more than a key must be a key"


@given(st.lists(st.lists(st.integers(-5, 5), max_size=9), min_size=1, max_size=4), st.integers(-7, 7))
def test_the_search_counts_smaller_keys_in_every_run(runs: list[list[int]], target: int) -> None:
    keys = np.array([key for run in runs for key in sorted(run)], dtype=np.int64)
    lengths = np.array([len(run) for run in runs])
    starts = np.cumsum(lengths) - lengths
    counts = count_below(keys, starts, lengths, np.full(len(runs), target))
    assert counts.tolist() == [sum(key < target for key in run) for run in runs]
