"""Slope and offsets: found again from the totals of labels, and left alone where totals are noise."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import softmax

from mapl.students.probabilities.line import SLOPES, Totals, find_line
from mapl.types import Floats

EXACT = 1e-9
N_ROWS = 4000


def world(n_classes: int) -> Floats:
    scores = 1.5 * np.random.default_rng(0).normal(size=(N_ROWS, n_classes))
    return np.asarray(scores - scores.mean(axis=1, keepdims=True))


def totals_of(scores: Floats, slope: float, offsets: Floats, noise: float) -> Totals:
    """Return the totals of labels that were drawn by some slope and offsets."""
    so = softmax(slope * scores + offsets, axis=1) - 1 / scores.shape[1]
    products = float((so * scores).sum(axis=1).mean())
    return Totals(products, so.mean(axis=0), noise, np.full(scores.shape[1], noise))


@pytest.mark.parametrize("n_classes", [2, 3, 7])
@pytest.mark.parametrize("slope", [0.4, 1.0, 1.7])
def test_labels_give_slope_and_offsets_back(n_classes: int, slope: float) -> None:
    scores = world(n_classes)
    offsets = np.linspace(-0.6, 0.6, n_classes)
    found = find_line(scores, np.full(N_ROWS, 1 / N_ROWS), totals_of(scores, slope, offsets, EXACT))
    assert found[0] == pytest.approx(slope, abs=0.01)
    np.testing.assert_allclose(found[1] - found[1].mean(), offsets, atol=0.01)


def test_what_is_noise_moves_nothing() -> None:
    scores = world(3)
    told = totals_of(scores, 0.3, np.array([1.0, 0.0, -1.0]), noise=1e4)
    slope, offsets = find_line(scores, np.full(N_ROWS, 1 / N_ROWS), told)
    assert slope == pytest.approx(1, abs=1e-3)
    np.testing.assert_allclose(offsets, 0, atol=1e-3)


def test_scores_are_never_turned_round_and_flat_ones_do_no_harm() -> None:
    scores = world(2)
    turned = totals_of(scores, -2.0, np.zeros(2), EXACT)
    assert find_line(scores, np.full(N_ROWS, 1 / N_ROWS), turned)[0] == SLOPES[0]
    flat = find_line(np.zeros_like(scores), np.full(N_ROWS, 1 / N_ROWS), turned)
    assert np.isfinite([flat[0], *flat[1]]).all()


def test_a_slope_alone_leaves_every_order_as_it_is() -> None:
    scores = world(3)
    told = totals_of(scores, 1.7, np.array([0.6, 0.0, -0.6]), EXACT)
    slope, offsets = find_line(scores, np.full(N_ROWS, 1 / N_ROWS), told, slope_alone=True)
    assert slope > 1.1
    np.testing.assert_array_equal(offsets, 0)
