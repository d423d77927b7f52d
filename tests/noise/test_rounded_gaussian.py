"""Rounded Gaussian noise against the normal distribution it is made of."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from mapl.errors import InvalidParameter
from mapl.mechanisms.tables.noise_law import masses
from mapl.noise import DEVIATION, SeededCoins, rounded_gaussian


@pytest.mark.parametrize("sigma", [0.3, 1.0, 7.5, 200.0])
def test_masses_are_those_of_a_rounded_normal_variable(sigma: float) -> None:
    table = rounded_gaussian(sigma)
    k = np.arange(-table.half_width, table.half_width + 1)
    expected = stats.norm.cdf((k + 0.5) / sigma) - stats.norm.cdf((k - 0.5) / sigma)
    assert np.abs(masses(table) - expected).max() < 1e-14
    assert np.allclose(masses(table), masses(table)[::-1], rtol=1e-9, atol=1e-30)
    assert table.deviation <= DEVIATION


def test_draws_have_that_deviation() -> None:
    drawn = SeededCoins(2).draw(rounded_gaussian(50.0), (40_000,))
    assert drawn.std() == pytest.approx(50.0, rel=0.02)
    assert abs(drawn.mean()) < 1


def test_one_shift_costs_no_more_than_the_continuous_mechanism() -> None:
    """Post-processing: every divergence between shifted tables is at most that of the normal laws."""
    p = masses(rounded_gaussian(2.0))
    for shift in (1, 2, 5):
        one, other = np.append(np.zeros(shift), p), np.append(p, np.zeros(shift))
        seen = (one > 1e-30) & (other > 1e-30)
        for order in (1.5, 2.0, 4.0, 8.0):
            moment = (one[seen] ** order * other[seen] ** (1 - order)).sum()
            assert np.log(moment) / (order - 1) <= order * shift**2 / (2 * 2.0**2) * (1 + 1e-12)


def test_refuses_too_little_and_too_much() -> None:
    for sigma in (0.01, 1e6):
        with pytest.raises(InvalidParameter, match="Rounded Gaussian"):
            rounded_gaussian(sigma)
