"""The same releases priced by dp-accounting: its Renyi accountant must agree, its exact one must never say more."""

from __future__ import annotations

import math

import pytest
from dp_accounting import dp_event
from dp_accounting.pld import privacy_loss_distribution as pld
from dp_accounting.privacy_accountant import NeighboringRelation
from dp_accounting.rdp import RdpAccountant

from mapl.accounting import ORDERS, Loss

AGREE = 1e-9
"""Relative difference allowed between two evaluations of the same formula; ours is the larger by about 1e-12."""

GRID = 1e-4
"""dp-accounting rounds losses up to this grid, once for each composition, where it works with atoms."""

TIMES = (1, 10, 1000)
DELTAS = (1e-3, 1e-5, 1e-9)


def their_renyi_epsilon(event: dp_event.DpEvent, times: int, delta: float) -> float:
    accountant = RdpAccountant(list(ORDERS), NeighboringRelation.REPLACE_ONE)
    epsilon: float = accountant.compose(event, times).get_epsilon(delta)
    return epsilon


def their_exact_epsilon(once: pld.PrivacyLossDistribution, times: int, delta: float) -> float:
    epsilon: float = once.self_compose(times).get_epsilon_for_delta(delta)
    return epsilon


def check_same(ours: float, theirs: float) -> None:
    """Agreement up to AGREE, and never below: the direction that protects."""
    assert ours == pytest.approx(theirs, rel=AGREE, abs=1e-12)
    assert ours >= theirs * (1 - 1e-14)


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("times", TIMES)
@pytest.mark.parametrize("sigma", [5.0, 40.0])
def test_gaussian_noise_composed(sigma: float, times: int, delta: float) -> None:
    ours = (Loss.zcdp(1 / (2 * sigma**2)) * times).epsilon(delta)
    accountant = RdpAccountant(list(ORDERS), NeighboringRelation.ADD_OR_REMOVE_ONE)
    check_same(ours, accountant.compose(dp_event.GaussianDpEvent(sigma), times).get_epsilon(delta))


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("rho", [1e-4, 0.02, 1.0])
def test_zero_concentrated_privacy(rho: float, delta: float) -> None:
    accountant = RdpAccountant(list(ORDERS), NeighboringRelation.ADD_OR_REMOVE_ONE)
    check_same(Loss.zcdp(rho).epsilon(delta), accountant.compose(dp_event.ZCDpEvent(rho)).get_epsilon(delta))


@pytest.mark.parametrize("sigma", [5.0, 40.0])
def test_no_exact_gaussian_epsilon_is_above_ours(sigma: float) -> None:
    exact = pld.from_gaussian_mechanism(sigma)
    for times in (1, 30):
        ours = (Loss.zcdp(1 / (2 * sigma**2)) * times).epsilon(1e-5)
        theirs = their_exact_epsilon(exact, times, 1e-5)
        assert theirs <= ours
        assert ours <= 1.6 * theirs + 0.02  # and ours is a bound worth having


@pytest.mark.parametrize("sigma", [2.0, 10.0])
def test_no_exact_discrete_gaussian_epsilon_is_above_ours(sigma: float) -> None:
    """An integer shift by one costs R(a) = a / (2 sigma^2), as in the continuous case."""
    exact = pld.from_discrete_gaussian_mechanism(sigma, 1)
    for times in (1, 10):
        ours = (Loss.zcdp(1 / (2 * sigma**2)) * times).epsilon(1e-5)
        theirs = their_exact_epsilon(exact, times, 1e-5)
        assert theirs <= ours
        assert ours <= 1.6 * theirs + 0.02


def orders_only(epsilon: float) -> Loss:
    """Pure privacy without its order of infinity, which the Renyi accountant does not use."""
    return Loss.of({a: r for a, r in Loss.pure(epsilon).divergences if a < math.inf})


def response(epsilon: float) -> float:
    """The share of fair coin answers that makes two-way randomised response epsilon-private."""
    return 2 / (1 + math.exp(epsilon))


@pytest.mark.parametrize("epsilon", [0.05, 0.5, 2.0])
@pytest.mark.parametrize("times", TIMES)
def test_randomised_response_costs_what_pure_privacy_costs(epsilon: float, times: int) -> None:
    event = dp_event.RandomizedResponseDpEvent(response(epsilon), 2)
    for delta in DELTAS:
        ours = (orders_only(epsilon) * times).epsilon(delta)
        check_same(ours, their_renyi_epsilon(event, times, delta))
        assert (Loss.pure(epsilon) * times).epsilon(delta) <= ours


@pytest.mark.parametrize("epsilon", [0.05, 0.5, 2.0])
def test_no_exact_randomised_response_epsilon_is_above_ours(epsilon: float) -> None:
    exact = pld.from_randomized_response(response(epsilon), 2, neighboring_relation=NeighboringRelation.REPLACE_ONE)
    for times in (1, 10, 100):
        ours = (Loss.pure(epsilon) * times).epsilon(1e-5)
        theirs = their_exact_epsilon(exact, times, 1e-5)
        assert theirs <= ours + GRID * times


@pytest.mark.parametrize("scale", [0.5, 4.0, 30.0])
def test_laplace_noise_is_one_of_the_pure_releases(scale: float) -> None:
    """Every epsilon-DP release is priced as randomised response, which nothing epsilon-DP exceeds."""
    accountant = RdpAccountant(list(ORDERS), NeighboringRelation.ADD_OR_REMOVE_ONE)
    theirs = accountant.compose(dp_event.LaplaceDpEvent(scale), 20)
    exact = pld.from_laplace_mechanism(scale)
    for delta in DELTAS:
        assert theirs.get_epsilon(delta) <= (orders_only(1 / scale) * 20).epsilon(delta)
        assert their_exact_epsilon(exact, 20, delta) <= (Loss.pure(1 / scale) * 20).epsilon(delta) + GRID * 20


@pytest.mark.parametrize("scale", [0.5, 4.0])
def test_no_exact_discrete_laplace_epsilon_is_above_the_closed_form(scale: float) -> None:
    """THEORY.md section 4: D_a(shift 1) = ln[(r^(1-a) + r^a) / (1 + r)] / (a - 1), r = e^(-1/b)."""
    r = math.exp(-1 / scale)
    closed = Loss.curve(lambda a: math.log((r ** (1 - a) + r**a) / (1 + r)) / (a - 1))
    if scale == 4.0:
        assert closed.at(8.0) == pytest.approx(0.17104, abs=5e-6)
    # One step of discrete Laplace noise is randomised response on its direction: the curve of pure privacy.
    for order, divergence in closed.divergences:
        assert Loss.pure(1 / scale).at(order) == pytest.approx(divergence, rel=1e-9)
    exact = pld.from_discrete_laplace_mechanism(1 / scale)
    for times in (1, 50):
        assert their_exact_epsilon(exact, times, 1e-5) <= (closed * times).epsilon(1e-5) + GRID * times
