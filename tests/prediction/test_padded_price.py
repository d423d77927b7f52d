"""What an answer of the padded stumps costs: closed forms, rounded to the private side."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mapl.errors import InvalidParameter
from mapl.prediction.prices.padded_stumps import (
    LEAST_EPSILON,
    MOST_EPSILON,
    SLACK,
    epsilon_of,
    loss_of,
    rate_for,
    span_of,
)
from mapl.types import RecordAdjacency

BOTH: tuple[RecordAdjacency, ...] = ("add-remove", "replace-one")


@given(st.floats(LEAST_EPSILON, MOST_EPSILON), st.sampled_from(BOTH))
def test_a_rate_costs_what_was_asked_and_hardly_less(epsilon: float, adjacency: RecordAdjacency) -> None:
    rate = rate_for(epsilon, adjacency=adjacency)
    cost = epsilon_of(rate, adjacency=adjacency)
    assert cost <= epsilon
    assert cost >= epsilon * (1 - 1e-8) - 1e-12
    # Never worse than the plain bounds of two and four steps.
    assert cost <= {"add-remove": 2, "replace-one": 3}[adjacency] * rate + 2 * SLACK


def test_prices_are_the_theorems() -> None:
    assert epsilon_of(0.5, adjacency="add-remove") == pytest.approx(math.log(2 * math.exp(0.5) - 1) + SLACK)
    assert epsilon_of(0.5, adjacency="replace-one") == pytest.approx(math.log(2 * math.exp(0.5) - 1) + 0.5 + SLACK)
    assert span_of(0.5, adjacency="replace-one") == pytest.approx(2 * math.log(2 * math.exp(0.5) - 1) + SLACK)


@pytest.mark.parametrize("adjacency", BOTH)
def test_one_answer_costs_its_epsilon_and_many_compose_better_than_by_addition(adjacency: RecordAdjacency) -> None:
    rate = rate_for(0.1, adjacency=adjacency)
    loss = loss_of(rate, adjacency=adjacency)
    assert loss.epsilon(0.0) == pytest.approx(epsilon_of(rate, adjacency=adjacency), rel=1e-12)
    assert (loss * 1000).epsilon(1e-6) < 100 / 4


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.nan, math.inf, 1e-5, 31.0])
def test_epsilons_out_of_range_are_refused(epsilon: float) -> None:
    with pytest.raises(InvalidParameter, match="epsilon is"):
        rate_for(epsilon, adjacency="add-remove")


def test_an_unknown_adjacency_is_refused_with_the_known_ones() -> None:
    with pytest.raises(InvalidParameter, match="'labels'; choose add-remove or replace-one"):
        rate_for(1.0, adjacency="labels")  # type: ignore[arg-type]


@pytest.mark.parametrize("rate", [0.0, 1e-6, math.nan, 1e3])
def test_rates_without_a_rounding_bound_are_refused(rate: float) -> None:
    with pytest.raises(InvalidParameter, match="The rate is"):
        epsilon_of(rate, adjacency="add-remove")
