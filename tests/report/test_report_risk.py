"""Attack risk against a second derivation, another library, and an attacker who is simulated exactly."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mapl.report.risk import FALSE_ALARMS, Risk
from mapl.types import Budget

BUDGETS = st.builds(Budget, st.floats(1e-3, 20), st.one_of(st.just(0.0), st.floats(1e-15, 0.5)))


def closed_form(budget: Budget, false_alarms: float) -> float:
    """The best true-positive rate under (epsilon, delta), by the outcomes of the worst mechanism there is.

    Its four outcomes have these chances with and without a person (Kairouz, Oh and Viswanath, ICML 2015): told
    outright with delta, else randomised response. The best attacker raises alarms from the most telling one on.
    """
    odds = math.exp(budget.epsilon)
    rest = 1 - budget.delta
    outcomes = [
        (budget.delta, 0.0),
        (rest * odds / (1 + odds), rest / (1 + odds)),
        (rest / (1 + odds), rest * odds / (1 + odds)),
        (0.0, budget.delta),
    ]
    hits, left = 0.0, false_alarms
    for with_person, without in outcomes:
        share = 1.0 if without <= left else left / without
        hits, left = hits + share * with_person, max(left - share * without, 0.0)
    return hits


@settings(max_examples=100, deadline=None)
@given(BUDGETS)
def test_hit_rates_are_those_of_the_closed_form(budget: Budget) -> None:
    risk = Risk.of(budget)
    assert [rate for rate, _ in risk.hits] == list(FALSE_ALARMS) == [0.001, 0.01, 0.05, 0.1]
    for rate, hits in (*risk.hits, *risk.curve):
        assert hits == pytest.approx(closed_form(budget, rate), rel=1e-9, abs=1e-12)


@settings(max_examples=100, deadline=None)
@given(BUDGETS)
def test_the_advantage_is_the_largest_distance_from_guessing(budget: Budget) -> None:
    risk = Risk.of(budget)
    grid = [i / 2000 for i in range(2001)]
    searched = max(closed_form(budget, rate) - rate for rate in grid)
    assert risk.advantage >= searched - 1e-12
    false_alarms, hits = risk.sharpest
    assert risk.advantage == pytest.approx(hits - false_alarms, abs=1e-12)
    assert risk.accuracy == pytest.approx((hits + 1 - false_alarms) / 2, abs=1e-12)


@settings(max_examples=30, deadline=None)
@given(BUDGETS)
def test_riskcal_has_the_same_figures(budget: Budget) -> None:
    analysis = pytest.importorskip("riskcal", reason="riskcal, a second opinion, is not installed").analysis
    risk = Risk.of(budget)
    assert risk.advantage == pytest.approx(analysis.get_advantage_from_adp(budget.epsilon, budget.delta), abs=1e-12)
    for rate, hits in (*risk.hits, *risk.curve):
        missed = analysis.get_beta_from_adp(budget.epsilon, budget.delta, np.float64(rate))
        assert hits == pytest.approx(1 - missed, abs=1e-12)


def test_randomised_response_reaches_the_bound() -> None:
    # One bit told truthfully with probability 3/4 is exactly (ln 3, 0)-private: an attack that believes it.
    risk = Risk.of(Budget(math.log(3), 0.0))
    assert risk.accuracy == pytest.approx(3 / 4)
    assert risk.sharpest == pytest.approx((1 / 4, 3 / 4))
    assert risk.odds_factor == pytest.approx(3)


@given(BUDGETS, st.floats(0, 1), st.floats(0, 1e-3))
@settings(max_examples=50, deadline=None)
def test_more_budget_is_never_less_risk(budget: Budget, more_epsilon: float, more_delta: float) -> None:
    less, more = Risk.of(budget), Risk.of(Budget(budget.epsilon + more_epsilon, budget.delta + more_delta))
    assert more.advantage >= less.advantage - 1e-12
    assert all(after[1] >= before[1] - 1e-12 for before, after in zip(less.hits, more.hits, strict=True))


def test_an_absurd_budget_is_certainty_and_no_overflow() -> None:
    risk = Risk.of(Budget(1000.0, 1e-5))
    assert risk.accuracy == 1
    assert all(hits == 1 for _, hits in risk.hits)
