"""Losses are values with an algebra; whatever is rounded is rounded to the private side."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from flint import arb, ctx
from hypothesis import given
from hypothesis import strategies as st

from mapl.accounting import ORDERS, Loss
from mapl.errors import InvalidParameter

SOME = (1.5, 2.0, 8.0, 32.0, math.inf)
DIVERGENCE = st.one_of(st.just(0.0), st.floats(1e-12, 100))


def losses(orders: tuple[float, ...] = SOME) -> st.SearchStrategy[Loss]:
    return st.builds(
        lambda rs, delta: Loss.of(dict(zip(orders, rs, strict=True)), delta),
        st.lists(DIVERGENCE, min_size=len(orders), max_size=len(orders)),
        st.floats(0, 1e-3),
    )


def close(a: Loss, b: Loss) -> bool:
    """Equal up to the parts in 10^15 by which each sum is rounded up."""
    return (
        [o for o, _ in a.divergences] == [o for o, _ in b.divergences]
        and all(math.isclose(a.at(o), b.at(o), rel_tol=1e-13) for o, _ in a.divergences)
        and math.isclose(a.delta, b.delta, rel_tol=1e-13)
    )


@given(losses(), losses(), losses())
def test_losses_form_a_commutative_monoid(a: Loss, b: Loss, c: Loss) -> None:
    assert close((a + b) + c, a + (b + c))
    assert a + b == b + a
    assert close(a + Loss.nothing(SOME), a)


@given(losses(), st.integers(1, 40))
def test_repeating_is_adding_again_and_again(loss: Loss, times: int) -> None:
    added = loss
    for _ in range(times - 1):
        added = added + loss
    assert close(loss * times, added)
    assert loss * times == times * loss


@given(losses(), st.integers(0, 1000), st.integers(0, 1000))
def test_repetition_distributes(loss: Loss, m: int, n: int) -> None:
    assert close(loss * m + loss * n, loss * (m + n))


def test_repeating_never_costs_nothing() -> None:
    never = Loss.pure(0.3) * 0
    assert never.epsilon(0.0) == 0.0
    assert never.delta == 0.0


@pytest.mark.parametrize("times", [-1, 1.5, True])
def test_only_whole_repetitions(times: int) -> None:
    with pytest.raises(InvalidParameter, match="whole number of times"):
        Loss.pure(1.0) * times


def test_only_common_orders_survive_and_deltas_add() -> None:
    a, b = Loss.of({2.0: 1.0, 3.0: 1.5, 7.13: 2.0}, 1e-6), Loss.of({3.0: 0.5, 7.13: 1.0, 9.0: 4.0}, 2e-6)
    both = a + b
    assert [o for o, _ in both.divergences] == [3.0, 7.13]
    assert both.at(3.0) == pytest.approx(2.0)
    assert both.at(2.0) == math.inf
    assert both.delta == pytest.approx(3e-6)


def test_nothing_and_everything_are_the_ends() -> None:
    assert Loss.nothing().epsilon(0.0) == 0.0
    assert Loss.everything().epsilon(0.5) == math.inf
    assert (Loss.everything() + Loss.nothing()).epsilon(0.99) == math.inf
    assert (Loss.everything() + Loss.pure(1.0)).epsilon(1e-5) == math.inf


@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 1.0, 5.0, 700.0])
def test_pure_losses_need_no_delta(epsilon: float) -> None:
    loss = Loss.pure(epsilon)
    assert loss.at(math.inf) == epsilon
    assert loss.epsilon(0.0) == epsilon
    assert loss.epsilon(1e-6) <= epsilon
    assert all(r <= epsilon for _, r in loss.divergences)


def test_a_loss_without_infinity_needs_a_delta() -> None:
    assert Loss.zcdp(0.1).epsilon(0.0) == math.inf
    assert Loss.zcdp(0.1).epsilon(1e-5) < 3


def test_a_spent_delta_cannot_be_spent_again() -> None:
    loss = Loss.of({2.0: 0.1, math.inf: 0.5}, 1e-6)
    assert loss.epsilon(0.9e-6) == math.inf
    assert loss.epsilon(1e-6) == 0.5
    assert Loss.of({2.0: 0.1}, 1e-6).epsilon(1e-6) == math.inf


@given(losses(), st.floats(1e-9, 0.5), st.floats(1, 100))
def test_epsilon_falls_with_delta(loss: Loss, delta: float, factor: float) -> None:
    assert loss.epsilon(min(delta * factor, 0.99)) <= loss.epsilon(delta) * (1 + 1e-9) + 1e-12


@given(losses(), losses(), st.floats(1e-9, 0.5))
def test_more_released_is_never_cheaper(a: Loss, b: Loss, delta: float) -> None:
    assert (a + b).epsilon(delta) >= a.epsilon(delta) * (1 - 1e-12)


@given(st.lists(st.floats(1e-9, 100), min_size=4, max_size=4), st.floats(0, 1e-3))
def test_the_best_order_reports_epsilon(divergences: list[float], delta: float) -> None:
    loss = Loss.of(dict(zip((1.5, 2.0, 8.0, 32.0), divergences, strict=True)), delta)
    best = loss.best_order(1e-2)
    assert Loss.of({best: loss.at(best)}, loss.delta).epsilon(1e-2) == loss.epsilon(1e-2)


@pytest.mark.parametrize(
    "bad",
    [((1.0, 0.5),), ((0.5, 0.5),), ((2.0, -0.1),), ((float("nan"), 0.5),), ((2.0, float("nan")),)],
)
def test_impossible_losses_are_refused(bad: tuple[tuple[float, float], ...]) -> None:
    with pytest.raises(InvalidParameter, match="orders above 1"):
        Loss(bad)


@pytest.mark.parametrize("delta", [-1e-9, float("nan")])
def test_impossible_deltas_are_refused(delta: float) -> None:
    with pytest.raises(InvalidParameter, match="at least 0"):
        Loss((), delta)


def test_infinite_divergences_name_no_order() -> None:
    assert Loss.of({2.0: math.inf, 3.0: 1.0}).divergences == ((3.0, 1.0),)
    assert Loss.curve(lambda a: math.inf if a > 4 else a).at(5.0) == math.inf


@given(st.floats(-9, 2), st.sampled_from(ORDERS))
def test_pure_divergences_are_rounded_up(log_epsilon: float, order: float) -> None:
    epsilon = 10**log_epsilon
    with ctx.workprec(400):
        e, a = arb(epsilon), arb(order)
        exact = (((a * e).exp() + ((1 - a) * e).exp()) / (1 + e.exp())).log() / (a - 1)
        ours = arb(Loss.pure(epsilon, [order]).at(order))
        assert ours >= exact
        assert ours <= exact * (1 + 1e-9) + 1e-17 or float(ours) == epsilon


@given(DIVERGENCE, DIVERGENCE, st.integers(0, 10**9))
def test_divergences_are_rounded_up(r: float, s: float, times: int) -> None:
    a, b = Loss.of({2.0: r}), Loss.of({2.0: s})
    assert Fraction((a + b).at(2.0)) >= Fraction(r) + Fraction(s)
    assert Fraction((a * times).at(2.0)) >= Fraction(r) * times


@given(st.floats(1e-12, 1e-3), st.floats(1e-12, 1e-3), st.integers(0, 10**6))
def test_deltas_are_rounded_up(d: float, e: float, times: int) -> None:
    a, b = Loss((), d), Loss((), e)
    assert Fraction((a + b).delta) >= Fraction(d) + Fraction(e)
    assert Fraction((a * times).delta) >= Fraction(d) * times


@given(st.floats(1e-6, 5), st.floats(1e-12, 0.1))
def test_epsilon_is_on_the_private_side_of_every_order(rho: float, delta: float) -> None:
    reported = Loss.zcdp(rho).epsilon(delta)
    with ctx.workprec(200):
        d = arb(delta)
        exact = [arb(rho) * a + (1 - 1 / arb(a)).log() - (d * a).log() / (arb(a) - 1) for a in ORDERS]
        assert any(arb(reported) >= e for e in exact)
        assert not any(arb(reported) > arb(max(0.0, float(e))) + 1e-9 for e in exact)


def test_the_certificate_of_a_ten_million_fold_release_is_kept() -> None:
    """Tiny losses are not lost in a long sum: the product and a pairwise sum agree."""
    tiny = Loss.of({2.0: 1e-17}, 1e-20)
    doubled = tiny
    for _ in range(23):
        doubled = doubled + doubled
    assert close(doubled, tiny * 2**23)
    assert (tiny * 2**23).at(2.0) > 8e-11
