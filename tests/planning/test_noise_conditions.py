"""Margin curves and the Tsybakov parameter, against worlds whose truth is known."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from mapl.bounds.lzcw21.voting import small_margin_share
from mapl.errors import InvalidData, InvalidParameter
from mapl.planning.votes.halving import split_margins
from mapl.planning.votes.noise_conditions import MarginCurve, fit_tsybakov
from mapl.reproduce.worlds import HalfspaceWorld, LabelNoise, ThresholdWorld, voting_fails


@pytest.mark.parametrize("n_teachers", [4, 5, 8, 9])
def test_the_estimate_is_the_mean_over_all_ways_to_halve_the_teachers(n_teachers: int) -> None:
    half = n_teachers // 2
    for ones in range(n_teachers + 1):
        votes = np.array([1] * ones + [0] * (n_teachers - ones))
        each = []
        for members in combinations(range(n_teachers), half):
            signing = np.isin(np.arange(n_teachers), members)
            sign = np.sign(2 * votes[signing].sum() - half)
            each.append(sign * (votes[~signing].mean() - 0.5))
        assert split_margins(n_teachers)[ones] == pytest.approx(np.mean(each), abs=1e-12)


@given(n_teachers=st.integers(4, 300))
def test_estimates_do_not_care_which_class_is_which(n_teachers: int) -> None:
    margins = split_margins(n_teachers)
    assert margins == pytest.approx(margins[::-1], abs=1e-9)
    assert (margins[0], margins[-1]) == pytest.approx((0.5, 0.5))
    # The sign is never better than certain, so the estimate never exceeds |mean - 1/2|.
    assert (margins <= np.abs(np.arange(n_teachers + 1) / n_teachers - 0.5) + 1e-9).all()


@pytest.mark.parametrize("n_teachers", [20, 51, 200])
def test_teachers_that_toss_coins_have_no_margin_on_average(n_teachers: int) -> None:
    from scipy.stats import binom

    chances = binom.pmf(np.arange(n_teachers + 1), n_teachers, 0.5)
    plain = np.abs(np.arange(n_teachers + 1) / n_teachers - 0.5)
    assert chances @ split_margins(n_teachers) == pytest.approx(0.0, abs=1e-10)
    assert chances @ plain == pytest.approx(1 / math.sqrt(2 * math.pi * n_teachers), rel=0.02)  # the bias


@given(n_teachers=st.integers(4, 120), chance=st.floats(1e-9, 1) | st.just(0.0))
def test_the_expected_estimate_is_never_above_the_margin(n_teachers: int, chance: float) -> None:
    from scipy.stats import binom

    chances = binom.pmf(np.arange(n_teachers + 1), n_teachers, chance)
    assert chances @ split_margins(n_teachers) <= abs(chance - 0.5) + 1e-9


def _curve(votes: NDArray[np.integer]) -> MarginCurve:
    """Measure on votes for 0 or 1, a row for each teacher and a column for each question."""
    return MarginCurve.of_counts(np.stack([(votes == 0).sum(axis=0), (votes == 1).sum(axis=0)], axis=1))


def _closure_votes(n_teachers: int, size: int, asked: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Train teachers that say 1 from their lowest positive row on; the true cut is 1/2."""
    votes = []
    for _ in range(n_teachers):
        X, y = ThresholdWorld().sample(size, rng)
        lowest = X[y == 1, 0].min(initial=1.0)
        votes.append(asked >= lowest)
    return np.array(votes, dtype=np.int64)


@pytest.mark.parametrize("size", [10, 40])
def test_the_curve_of_threshold_teachers_is_the_one_in_closed_form(size: int) -> None:
    """P(h(x) = 1) is 1 - (1 - (x - 1/2))^n above the cut: its margin is at most Delta on an interval."""
    rng = np.random.default_rng(1)
    asked = (np.arange(4000) + 0.5) / 4000
    curve = _curve(_closure_votes(2000, size, asked, rng))
    for margin in (0.1, 0.2, 0.3, 0.4):
        exact = (0.5 + margin) ** (1 / size) - (0.5 - margin) ** (1 / size)
        assert curve.nu(margin) == pytest.approx(exact, abs=0.008)


def test_where_voting_fails_margins_are_high_all_the_same() -> None:
    world, rng = voting_fails(), np.random.default_rng(2)
    points = np.repeat(np.arange(4.0), 25)[:, None]
    votes = np.array([world.answers(world.erm(*world.sample(5, rng), rng), points) for _ in range(2000)])
    curve = _curve(votes)
    for margin in (0.1, 0.25, 0.49):
        assert curve.nu(margin) == small_margin_share(world.right, margin)


def test_nu_grows_from_nobody_to_everybody() -> None:
    rng = np.random.default_rng(3)
    votes = (rng.random((30, 500)) < rng.random(500)).astype(np.int64)
    curve = _curve(votes)
    assert (curve.n_teachers, curve.n_rows) == (30, 500)
    nus = [curve.nu(margin) for margin in np.linspace(-0.5, 0.5, 50)]
    assert nus == sorted(nus)
    assert (nus[0], nus[-1]) == (0.0, 1.0)
    low, high = curve.interval(0.2)
    assert 0 <= low < curve.nu(0.2) < high <= 1


def test_the_interval_of_nu_covers() -> None:
    rng = np.random.default_rng(4)
    covered = 0
    for _ in range(400):
        margins = np.sort(rng.random(200) / 2)
        low, high = MarginCurve(margins, 10).interval(0.05)
        covered += low <= 0.1 <= high
    assert covered / 400 > 0.92


@pytest.mark.parametrize("tau", [0.3, 0.5, 0.8, 1.0])
@pytest.mark.parametrize("make", [ThresholdWorld, HalfspaceWorld])
def test_tau_and_eta_of_worlds_are_found(make: type[ThresholdWorld | HalfspaceWorld], tau: float) -> None:
    world = make(noise=LabelNoise(tau, 0.3))
    X, _ = world.sample(20_000, np.random.default_rng(5))
    fitted = fit_tsybakov(world.regression(X))
    assert fitted.tau == pytest.approx(tau, abs=0.02)
    assert fitted.eta == pytest.approx(world.noise.eta, rel=0.05)
    assert fitted.low - 1e-9 <= tau <= fitted.high + 1e-9
    assert fitted.high - fitted.low < 0.1


def test_coins_and_flat_noise_have_small_tau() -> None:
    coins = np.concatenate([np.full(500, 0.5), np.full(500, 0.9)])
    assert (fit_tsybakov(coins).tau, fit_tsybakov(coins).eta) == (0.0, 1.0)
    world = ThresholdWorld(noise=LabelNoise(0.0))
    X, _ = world.sample(20_000, np.random.default_rng(6))
    assert fit_tsybakov(world.regression(X)).tau < 0.1


def test_the_interval_of_tau_covers() -> None:
    world = ThresholdWorld(noise=LabelNoise(0.5))
    rng = np.random.default_rng(7)
    covered = 0
    for _ in range(100):
        fitted = fit_tsybakov(world.regression(world.sample(1000, rng)[0]), n_draws=60)
        covered += fitted.low <= 0.5 <= fitted.high
    assert covered >= 78  # 90% are meant


def test_an_estimate_with_errors_is_fitted_above_them() -> None:
    """Errors of r(x) move rows to and from the boundary; above the errors the slope is the true one."""
    world = ThresholdWorld(noise=LabelNoise(0.5, 0.5))
    rng = np.random.default_rng(8)
    X, _ = world.sample(40_000, rng)
    blurred = np.clip(world.regression(X) + rng.normal(0, 0.01, len(X)), 0, 1)
    assert fit_tsybakov(blurred, resolution=0.02).tau == pytest.approx(0.5, abs=0.04)
    assert fit_tsybakov(blurred, resolution=0.02).lowest == pytest.approx(0.04, abs=0.01)
    with pytest.raises(InvalidData, match="tau cannot be told"):
        fit_tsybakov(blurred, resolution=0.2)


def test_bad_votes_and_estimates_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="There are 3 teachers"):
        MarginCurve.of_counts(np.ones((5, 3), dtype=np.int64))
    with pytest.raises(InvalidData, match="totals"):
        MarginCurve.of_counts(np.array([[4, 0], [4, 1]]))
    with pytest.raises(InvalidData, match="at least 100 rows"):
        fit_tsybakov(np.full(99, 0.7))
    with pytest.raises(InvalidData, match="probability"):
        fit_tsybakov(np.full(200, 1.7))
    with pytest.raises(InvalidData, match="probability"):
        fit_tsybakov(np.full(200, np.nan))
