"""The conversion inequality holds pointwise, so it is tested pointwise, and on subsets of outcomes."""

from __future__ import annotations

import math

import pytest
from flint import arb, ctx
from hypothesis import example, given
from hypothesis import strategies as st

from mapl.accounting import capacity, epsilon_of_moment

ORDER = st.floats(1.01, 200)


def test_the_printed_value_of_the_capacity() -> None:
    assert capacity(2, 1e-5, 8) == pytest.approx(5.50124, abs=5e-6)


@pytest.mark.parametrize("order", [1.01, 2.0, 7.13, 128.0])
def test_no_delta_no_capacity(order: float) -> None:
    assert capacity(2, 0.0, order) == -math.inf
    assert epsilon_of_moment(0.5, 0.0, order) == math.inf


def moment(p: float, q: float, order: float) -> float:
    return math.exp(order * math.log(p) + (1 - order) * math.log(q))


@given(st.floats(1e-9, 1), st.floats(1e-9, 1), st.floats(0, 20), ORDER)
def test_the_inequality_holds_for_any_two_masses(p: float, q: float, epsilon: float, order: float) -> None:
    with ctx.workprec(300):
        a, e, x, y = arb(order), arb(epsilon), arb(p), arb(q)
        stick = x - e.exp() * y
        bound = (1 / a) * (1 - 1 / a) ** (a - 1) * (-(a - 1) * e).exp() * x**a * y ** (1 - a)
        assert bound > 0
        # "Not certainly above": the two meet where p = e^eps q a/(a-1), and balls have a radius.
        assert not stick > bound


@given(st.floats(0, 8), ORDER, st.floats(1e-6, 1))
def test_the_inequality_is_tight_somewhere(epsilon: float, order: float, q: float) -> None:
    """Equality at p = e^eps q a/(a-1): a smaller factor would be wrong."""
    p = math.exp(epsilon) * q * order / (order - 1)
    log_bound = (
        -math.log(order)
        + (order - 1) * (math.log1p(-1 / order) - epsilon)
        + order * math.log(p)
        + (1 - order) * math.log(q)
    )
    assert math.log(p - math.exp(epsilon) * q) == pytest.approx(log_bound, abs=1e-8)


@given(
    st.lists(st.tuples(st.floats(1e-4, 1), st.floats(1e-4, 1), st.booleans()), min_size=1, max_size=8),
    st.floats(1e-9, 0.5),
    st.floats(1.05, 60),
)
@example([(0.9, 0.01, True), (0.1, 0.99, True)], 0.1, 2.0)  # far from any slack
def test_a_moment_over_a_subset_bounds_the_hockey_stick_there(
    outcomes: list[tuple[float, float, bool]], delta: float, order: float
) -> None:
    """Sub-probabilities: normalise two laws, keep any subset G of outcomes, compare on G only."""
    total_p, total_q = sum(p for p, _, _ in outcomes), sum(q for _, q, _ in outcomes)
    kept = [(p / total_p, q / total_q) for p, q, keep in outcomes if keep]
    log_moment = math.log(max(1e-300, sum(moment(p, q, order) for p, q in kept)))
    epsilon = epsilon_of_moment(log_moment, delta, order)
    assert sum(max(0.0, p - math.exp(epsilon) * q) for p, q in kept) <= delta * (1 + 1e-9)


@given(st.floats(0.01, 20), st.floats(1e-12, 0.1), ORDER)
def test_the_two_directions_are_inverse(epsilon: float, delta: float, order: float) -> None:
    there_and_back = epsilon_of_moment(capacity(epsilon, delta, order), delta, order)
    size = ((order - 1) * epsilon + abs(math.log(delta)) + 10) / (order - 1)
    assert there_and_back == pytest.approx(epsilon, abs=1e-11 * size)


@given(st.floats(1e-3, 50), st.floats(1e-15, 0.5), ORDER)
def test_capacity_is_rounded_down_and_epsilon_up(epsilon: float, delta: float, order: float) -> None:
    with ctx.workprec(200):
        a, e, d = arb(order), arb(epsilon), arb(delta)
        exact = (a - 1) * e + d.log() + a.log() - (a - 1) * (1 - 1 / a).log()
        rounded = capacity(epsilon, delta, order)
        assert arb(rounded) <= exact
        assert arb(rounded) >= exact - arb(1e-11) * ((a - 1) * e + abs(d.log()) + 10)
        log_moment = abs(rounded)
        needed = (arb(log_moment) - d.log() - a.log() + (a - 1) * (1 - 1 / a).log()) / (a - 1)
        assert arb(epsilon_of_moment(log_moment, delta, order)) >= needed


@given(st.floats(0, 50), st.floats(1e-12, 0.5), st.floats(1, 10), ORDER)
def test_more_delta_or_less_moment_never_costs_more(m: float, delta: float, factor: float, order: float) -> None:
    epsilon = epsilon_of_moment(m, delta, order)
    assert epsilon_of_moment(m, min(1.0, delta * factor), order) <= epsilon + 1e-9 * (1 + epsilon)
    assert epsilon_of_moment(m / factor, delta, order) <= epsilon + 1e-9 * (1 + epsilon)
