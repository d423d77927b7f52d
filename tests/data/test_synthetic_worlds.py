"""Worlds with a known truth: what they claim in closed form is what samples of them show."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from mapl.bounds.lzcw21.voting import small_margin_share
from mapl.data import synthetic
from mapl.errors import InvalidParameter
from mapl.reproduce.worlds import (
    FewRules,
    HalfspaceWorld,
    LabelNoise,
    ThresholdWorld,
    voting_fails,
    voting_wins,
)
from mapl.reproduce.worlds.label_noise import FLATNESS
from mapl.types import Floats

N = 200_000
TAUS = (0.0, 0.3, 0.5, 0.8, 1.0)
WORLDS = [
    *(ThresholdWorld(cut=0.3, noise=LabelNoise(tau, 0.4)) for tau in TAUS),
    *(HalfspaceWorld(n_columns=4, noise=LabelNoise(tau, 0.4)) for tau in TAUS),
    ThresholdWorld(),
    HalfspaceWorld(),
]


World = FewRules | HalfspaceWorld | ThresholdWorld


def regret(world: World, X: Floats, predicted: NDArray[np.integer]) -> float:
    """Return by how much the error of any predictions exceeds Bayes' on these rows, with labels averaged out.

    It equals the mean of 2 |r(x) - 1/2| over the rows on which the two differ, and is an unbiased estimate of the
    excess risk that no noise of labels disturbs.
    """
    lost = 2 * np.abs(world.regression(X) - 0.5)
    return float(np.mean(lost * (predicted != world.bayes(X))))


def test_the_names_of_the_clinic_are_where_they_were() -> None:
    for name in ("CLASSES", "LABEL", "UNIT", "REGIONS", "SMOKING", "Clinic", "best_accuracy"):
        assert hasattr(synthetic, name)


@pytest.mark.parametrize("world", WORLDS, ids=repr)
def test_the_error_of_bayes_is_the_one_in_closed_form(world: World) -> None:
    X, y = world.sample(N, np.random.default_rng(1))
    measured = np.mean(world.bayes(X) != y)
    assert abs(measured - world.bayes_error) < 5 * math.sqrt(0.25 / N)
    if world.bayes_error == 0:
        assert measured == 0


def _share_below(noise: LabelNoise, t: float) -> float:
    """Return P(|r(x) - 1/2| <= t), exactly."""
    if t >= noise.most:
        return 1.0
    if t < 0 or noise.tau == 1:
        return 0.0
    if noise.tau == 0:
        return 0.0 if t == 0 else FLATNESS / (FLATNESS + math.log(noise.most / t))
    return float((t / noise.most) ** noise.exponent)


@pytest.mark.parametrize("world", WORLDS, ids=repr)
def test_the_margins_spread_as_the_noise_condition_says(world: ThresholdWorld | HalfspaceWorld) -> None:
    X, _ = world.sample(N, np.random.default_rng(2))
    margins = np.abs(world.regression(X) - 0.5)
    for t in (0.001, 0.01, 0.1, 0.3):
        exact = _share_below(world.noise, t)
        assert abs(np.mean(margins <= t) - exact) < 5 * math.sqrt(exact * (1 - exact) / N) + 1e-9


@pytest.mark.parametrize("tau", [0.3, 0.5, 0.8])
@pytest.mark.parametrize("make", [ThresholdWorld, HalfspaceWorld])
def test_the_fitted_exponent_is_tau_over_one_minus_tau(
    make: type[ThresholdWorld | HalfspaceWorld], tau: float
) -> None:
    world = make(noise=LabelNoise(tau))
    X, _ = world.sample(N, np.random.default_rng(3))
    margins = np.sort(np.abs(world.regression(X) - 0.5))
    shares = np.geomspace(0.01, 0.5, 20)
    slope = np.polyfit(np.log(np.quantile(margins, shares)), np.log(shares), 1)[0]
    assert slope == pytest.approx(tau / (1 - tau), rel=0.02)
    assert world.noise.exponent == pytest.approx(tau / (1 - tau))


def test_at_tau_0_the_local_exponent_falls_to_0() -> None:
    noise = LabelNoise(tau=0.0)
    ratios = [_share_below(noise, 2 * t) / _share_below(noise, t) for t in (1e-2, 1e-6, 1e-24, 1e-96)]
    slopes = [math.log(ratio) / math.log(2) for ratio in ratios]
    assert slopes == sorted(slopes, reverse=True)
    assert 0 < slopes[-1] < 0.005
    assert noise.exponent == 0


@pytest.mark.parametrize("tau", TAUS)
@pytest.mark.parametrize("cut", [0.0, 0.1, 0.3, 0.35, 0.8, 1.0])
def test_the_risk_of_a_cut_is_exact(tau: float, cut: float) -> None:
    world = ThresholdWorld(cut=0.3, noise=LabelNoise(tau, 0.4))
    X, y = world.sample(N, np.random.default_rng(4))
    predicted = (X[:, 0] >= cut).astype(np.int32)
    assert abs(np.mean(predicted != y) - world.error(cut)) < 5 * math.sqrt(0.25 / N)
    assert abs(regret(world, X, predicted) - world.excess_risk(cut)) < 5 * 0.8 * math.sqrt(0.25 / N)
    assert abs(np.mean(predicted != world.bayes(X)) - world.disagreement(cut)) < 5 * math.sqrt(0.25 / N)


@pytest.mark.parametrize("tau", TAUS)
@pytest.mark.parametrize(
    ("weights", "offset"),
    [((1, 0, 0), 0.0), ((1, 1e-6, 0), 0.3), ((1, 0.5, -0.2), 0.4), ((-1, 2, 0), -1.0), ((0, 1, 0), 0.0)],
)
def test_the_risk_of_a_halfspace_is_exact(tau: float, weights: tuple[float, ...], offset: float) -> None:
    world = HalfspaceWorld(n_columns=3, noise=LabelNoise(tau, 0.4))
    X, _ = world.sample(N, np.random.default_rng(5))
    predicted = (X @ np.array(weights) + offset > 0).astype(np.int32)
    assert abs(regret(world, X, predicted) - world.excess_risk(weights, offset=offset)) < 5 * math.sqrt(0.16 / N)
    differ = world.disagreement(weights, offset=offset)
    assert abs(np.mean(predicted != world.bayes(X)) - differ) < 5 * math.sqrt(0.25 / N)


@given(angle=st.floats(0.001, math.pi - 0.001), flip=st.floats(0, 0.45))
def test_halfspaces_with_bounded_noise_err_by_their_angle(angle: float, flip: float) -> None:
    world = HalfspaceWorld(n_columns=2, noise=LabelNoise.massart(flip))
    weights = (math.cos(angle), math.sin(angle))
    assert world.disagreement(weights) == pytest.approx(angle / math.pi, abs=1e-9)
    assert world.excess_risk(weights) == pytest.approx((1 - 2 * flip) * angle / math.pi, abs=1e-9)


@given(tau=st.floats(0.05, 1), most=st.floats(0.05, 0.5), cut=st.floats(0, 1))
def test_disagreement_is_bounded_by_eta_and_tau(tau: float, most: float, cut: float) -> None:
    world = ThresholdWorld(cut=0.5, noise=LabelNoise(tau, most))
    assert world.disagreement(cut) <= world.noise.eta * world.excess_risk(cut) ** tau * (1 + 1e-9)


def test_eta_is_the_smallest_one() -> None:
    # Whoever is wrong everywhere disagrees with probability 1 and attains the bound.
    noise = LabelNoise(tau=0.5, most=0.3)
    assert noise.eta * (2 * noise.mean_margin_to(1.0)) ** noise.tau == pytest.approx(1.0)


@pytest.mark.parametrize(("tau", "slope"), [(0.0, 0.5), (0.5, 2 / 3), (1.0, 1.0)])
def test_the_best_cut_of_a_sample_learns_at_the_rate_of_tau(tau: float, slope: float) -> None:
    """The excess risk falls like n^(-1 / (2 - tau)), up to logarithms at tau = 0."""
    world = ThresholdWorld(noise=LabelNoise(tau, 0.3))
    rng = np.random.default_rng(6)
    sizes = (200, 20_000)
    risks = [
        np.mean([world.excess_risk(world.erm(*world.sample(n, rng))) for _ in range(1500 if n < 1000 else 150)])
        for n in sizes
    ]
    measured = math.log(risks[0] / risks[1]) / math.log(sizes[1] / sizes[0])
    assert measured == pytest.approx(slope, abs=0.12)


def test_erm_finds_the_fewest_errors() -> None:
    rng = np.random.default_rng(7)
    world = ThresholdWorld(noise=LabelNoise.massart(0.3))
    for _ in range(50):
        X, y = world.sample(12, rng)
        found = np.count_nonzero((X[:, 0] >= world.erm(X, y)) != y)
        assert found == min(np.count_nonzero((X[:, 0] >= cut) != y) for cut in [*X[:, 0], 0.0, 1.1])


def _vote_error(world: FewRules, n_teachers: int, rounds: int, rng: np.random.Generator) -> float:
    points = np.arange(world.n_points, dtype=np.float64)[:, None]
    wrong = []
    for _ in range(rounds):
        taught = [world.erm(*world.sample(6, rng), rng) for _ in range(n_teachers)]
        ones = np.sum([world.answers(rule, points) for rule in taught], axis=0)
        wrong.append(np.mean(2 * ones <= n_teachers))
    return float(np.mean(wrong))


def test_example_8_voting_fails() -> None:
    world = voting_fails()
    assert world.errors == (0.5, 0.5, 0.5)
    assert world.voting_error(1) == pytest.approx(0.5)
    assert world.limit_error == 0.75
    assert [world.voting_error(k) for k in (11, 101, 1001)] == sorted(
        world.voting_error(k) for k in (11, 101, 1001)
    )
    assert world.voting_error(1001) == pytest.approx(0.75, abs=1e-12)
    assert world.vc == 1
    assert [small_margin_share(world.right, margin) for margin in (0.16, 0.17, 0.5)] == [0, 0.75, 1]
    measured = _vote_error(world, 9, 600, np.random.default_rng(8))
    assert measured == pytest.approx(world.voting_error(9), abs=5 * 0.25 / math.sqrt(600))


def test_example_9_voting_wins() -> None:
    world = voting_wins(5, n_wrong=2)
    assert world.errors == pytest.approx((0.4,) * 5)
    assert world.voting_error(1) == pytest.approx(0.4)
    assert world.limit_error == 0
    for k in (1, 11, 101, 301):
        assert world.voting_error(k) <= math.exp(-2 * k * 0.1**2)
    assert world.voting_error(1001) < 1e-9
    measured = _vote_error(world, 9, 600, np.random.default_rng(9))
    assert measured == pytest.approx(world.voting_error(9), abs=5 * 0.3 / math.sqrt(600))


def test_what_makes_no_world_is_refused() -> None:
    for wrong in (
        lambda: LabelNoise(tau=1.1),
        lambda: LabelNoise(most=0.0),
        lambda: LabelNoise.massart(0.5),
        lambda: ThresholdWorld(cut=1.0),
        lambda: HalfspaceWorld(n_columns=0),
        lambda: HalfspaceWorld(n_columns=2).error((0.0, 0.0)),
        lambda: HalfspaceWorld(n_columns=2).error((1.0,)),
        lambda: voting_wins(4, n_wrong=2),
    ):
        with pytest.raises(InvalidParameter):
            wrong()
