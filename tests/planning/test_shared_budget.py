"""Mechanisms that share a budget: priced together, never above it, and better off than with linear shares."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mapl.errors import InvalidParameter
from mapl.mechanisms import AnyMechanism, Task, make
from mapl.planning.budgets.shared import Shared, proportions, share_budget
from mapl.types import Budget, State

BUDGET = Budget(1.0, 1e-5)


def shared(name: str, weights: list[float], budget: Budget = BUDGET, **settings: Any) -> Shared:
    def one(j: int, own: Budget) -> AnyMechanism:
        return make(name, Task(own, 400, 2, 200), **settings)

    return share_budget(budget, weights, one)


CASES = [("link", {}), ("noisy-max", {}), ("ladder", {"max_abstentions": 5})]


@pytest.mark.parametrize(("name", "settings"), CASES)
@pytest.mark.parametrize("weights", [[1.0], [1.0] * 10])
def test_all_together_stay_within_the_budget_and_use_it(
    name: str, settings: dict[str, Any], weights: list[float]
) -> None:
    found = shared(name, weights, **settings)
    assert found.epsilon(None, BUDGET.delta) <= BUDGET.epsilon
    linear = [part * BUDGET.epsilon for part in proportions(weights)]
    for own, share in zip(found.alone, linear, strict=True):
        assert own.epsilon >= share * (1 - 1e-9)
    if len(weights) == 10:
        assert found.alone[0].epsilon > 2.5 * linear[0]  # about sqrt(10) times as much
        assert found.epsilon(None, BUDGET.delta) > 0.85 * BUDGET.epsilon
    assert math.fsum(own.delta for own in found.alone) <= BUDGET.delta


def test_weights_say_how_epsilons_relate() -> None:
    found = shared("link", [3.0, 1.0, 1.0])
    first, second, third = (own.epsilon for own in found.alone)
    assert first / second == pytest.approx(3.0)
    assert second == third
    assert 0.9 < found.epsilon(None, BUDGET.delta) <= BUDGET.epsilon


def test_all_of_them_cost_the_sum_of_their_losses_not_the_dearest_one() -> None:
    found = shared("link", [1.0] * 4)
    assert found.composed
    each = found.mechanisms[0].total
    together = found.epsilon(None, BUDGET.delta)
    assert together == pytest.approx((each * 4).epsilon(BUDGET.delta))
    assert together > 1.5 * each.epsilon(BUDGET.delta)
    state = State(answered=50)
    assert found.epsilon([state] * 4, BUDGET.delta) > 1.5 * found.mechanisms[0].epsilon(state, BUDGET.delta)


def test_pricing_follows_what_was_published() -> None:
    found = shared("ladder", [1.0] * 4, max_abstentions=5)
    nothing = found.epsilon([State()] * 4, BUDGET.delta)
    some = found.epsilon([State(answered=9, abstained=2)] * 4, BUDGET.delta)
    assert nothing < some < found.epsilon(None, BUDGET.delta)


def test_without_composition_the_epsilons_and_deltas_add_up() -> None:
    found = replace(shared("ladder", [1.0] * 2, max_abstentions=5), composed=False)
    assert found.epsilon(None, BUDGET.delta) == pytest.approx(sum(own.epsilon for own in found.alone))
    assert found.epsilon(None, BUDGET.delta / 2) == math.inf


@settings(max_examples=6, deadline=None)
@given(
    weights=st.lists(st.floats(0.2, 5), min_size=1, max_size=4),
    epsilon=st.floats(0.3, 4.0),
    delta=st.floats(1e-9, 1e-3),
)
def test_whatever_the_weights_the_budget_is_kept(weights: list[float], epsilon: float, delta: float) -> None:
    budget = Budget(epsilon, delta)
    assert shared("link", weights, budget).epsilon(None, delta) <= epsilon


def test_what_no_share_can_pay_for_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="delta is 0"):
        shared("ladder", [1.0] * 10, Budget(1.0, 0.0), max_abstentions=5)


@pytest.mark.parametrize("weights", [[], [0.0], [1.0, -1.0], [math.inf], [math.nan]])
def test_senseless_weights_are_refused(weights: list[float]) -> None:
    with pytest.raises(InvalidParameter, match="weights must be"):
        proportions(weights)
