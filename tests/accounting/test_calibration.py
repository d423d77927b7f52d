"""Calibration ends on the private side of the root, however the root falls."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mapl.accounting import Loss, largest_integer, smallest_real
from mapl.errors import CannotCalibrate


@given(st.floats(1e-6, 1e9), st.floats(1e-3, 1e3))
def test_the_smallest_real_is_affordable_and_nearly_smallest(root: float, high: float) -> None:
    found = smallest_real(lambda x: x >= root, 0.0, high)
    assert found >= root
    if root > 1e-3:  # sixty halvings of (0, high] reach an absolute error, too
        assert found <= root * (1 + 1e-8)


@given(st.integers(0, 1 << 40), st.integers(1, 1 << 40))
def test_the_largest_integer_is_exact(limit: int, most: int) -> None:
    asked: list[int] = []

    def affordable(n: int) -> bool:
        asked.append(n)
        return n <= limit

    assert largest_integer(affordable, most=most) == min(limit, most)
    assert max(asked) <= most
    assert len(asked) < 100


def test_what_no_noise_buys_is_refused_with_advice() -> None:
    with pytest.raises(CannotCalibrate, match="raise epsilon or delta"):
        smallest_real(lambda _: False, 0.0, 1.0)
    assert largest_integer(lambda _: False) == 0


def test_calibrated_noise_stays_within_the_budget() -> None:
    def epsilon(sigma: float) -> float:
        return (Loss.zcdp(0.5 / sigma**2) * 20).epsilon(1e-5)

    sigma = smallest_real(lambda s: epsilon(s) <= 1.0, 0.1, 10.0)
    assert epsilon(sigma) <= 1.0
    assert epsilon(sigma * (1 - 1e-6)) > 1.0


def test_calibrated_counts_stay_within_the_budget() -> None:
    once = Loss.pure(0.01)
    times = largest_integer(lambda n: (once * n).epsilon(1e-6) <= 1.0)
    assert (once * times).epsilon(1e-6) <= 1.0 < (once * (times + 1)).epsilon(1e-6)
