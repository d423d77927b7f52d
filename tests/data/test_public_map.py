"""Bins of a number: coarse ones learn together, fine ones have something of their own as well."""

from __future__ import annotations

import numpy as np
import pytest

from mapl.data.moments.public_map import (
    COARSE_LENGTH,
    FINE_LENGTH,
    OWN,
    Layout,
    _directions_of_bins,
    _smoothing,
    draw_map,
)
from mapl.types import Floats


def product(layout: Layout) -> Floats:
    root = _smoothing(layout)
    return np.asarray(root @ root.T)


def test_coarse_bins_share_by_distance_alone() -> None:
    found = product(Layout(3, (4, 16)))
    assert np.allclose(np.diag(found), COARSE_LENGTH**2)
    assert found[4, 5] == pytest.approx(COARSE_LENGTH**2 * np.exp(-1 / 3.2))
    assert found[0, 4] == 0.0  # bins of two numbers have nothing in common


def test_fine_bins_keep_a_part_for_themselves() -> None:
    found = product(Layout(3, (32,), fine=True))
    assert np.allclose(np.diag(found), FINE_LENGTH**2)
    assert found[0, 1] == pytest.approx((1 - OWN) * FINE_LENGTH**2 * np.exp(-1 / 6.4))


def test_fine_bins_stand_out_where_a_value_is_like_none_of_its_neighbours() -> None:
    """The vector of a rare value is further from those beside it."""
    draws = np.random.default_rng(0)
    bin_of = draws.integers(32, size=4000)
    encoded = np.concatenate([(bin_of / 16 - 1)[:, None], np.eye(32)[bin_of]], axis=1)
    weights = np.full(4000, 1 / 4000)
    apart = {}
    for fine in (False, True):
        drawn = draw_map(encoded, weights, Layout(1, (32,), fine), signal=1e6, n_classes=2)
        vectors = drawn(np.concatenate([(np.arange(32) / 16 - 1)[:, None], np.eye(32)], axis=1))
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        apart[fine] = float(np.linalg.norm(np.diff(vectors, axis=0), axis=1).mean())
    assert apart[True] > 1.2 * apart[False]


def test_what_bins_tell_beyond_other_columns_is_what_a_regression_of_rows_leaves() -> None:
    """Products of columns give the directions of what is left of bins, row by row."""
    draws = np.random.default_rng(0)
    place = draws.integers(8, size=3000)
    others = np.column_stack([place - 3.5 + draws.normal(size=3000), np.ones(3000)]) / np.sqrt(3000)
    bins, smooth = np.eye(8)[place] / np.sqrt(3000), _smoothing(Layout(1, (8,)))
    variances, turn = np.linalg.eigh(others.T @ others)
    found, of_bins, of_others = _directions_of_bins(others, bins, smooth, variances, turn)
    ridge = 1e-3 * variances.mean() * np.eye(2)
    rest = bins @ smooth - others @ np.linalg.solve(others.T @ others + ridge, others.T @ bins @ smooth)
    np.testing.assert_allclose(found, np.linalg.eigvalsh(rest.T @ rest)[-len(found) :], rtol=1e-9, atol=1e-15)
    left = bins @ of_bins + others @ of_others
    np.testing.assert_allclose(left.T @ left, np.diag(found), atol=1e-12)
    assert len(found) >= 7
