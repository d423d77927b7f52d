"""Tables of pass probabilities: the inequality (L), its roots, and the exact certificate."""

from __future__ import annotations

import math

import numpy as np
import pytest
from flint import arb, ctx, fmpq
from hypothesis import given
from hypothesis import strategies as st

from mapl.accounting import ORDERS
from mapl.mechanisms.mechanism import Task
from mapl.mechanisms.tables.rungs import (
    LogChance,
    Rungs,
    certify_rungs,
    excess,
    lowest_step,
    price_at,
    root,
    to_numerators,
)
from mapl.mechanisms.votes.ladder import Ladder
from mapl.noise import ONE
from mapl.types import Budget


def chance(abstaining: float) -> LogChance:
    return LogChance.of_abstaining(np.array([math.log(abstaining)]))


def array(value: float) -> np.ndarray:
    return np.array([value])


def left_side(x: arb, z: arb, order: float, price: float) -> arb:
    """(L) as it is written, in ball arithmetic."""
    a = arb(order)
    return (1 - x) ** a * (1 - z) ** (1 - a) + (-arb(price)).exp() * x**a * z ** (1 - a)


@given(st.floats(1e-6, 0.999), st.floats(0.5, 1.0), st.floats(1.1, 20), st.floats(1e-3, 2))
def test_the_excess_is_the_inequality_minus_one(x: float, share: float, order: float, price: float) -> None:
    z = x * share
    with ctx.workprec(300):
        for p, q in ((x, z), (z, x)):
            exact = float(left_side(arb(p), arb(q), order, price) - 1)
            ours = float(excess(chance(p), chance(q), array(order), array(price))[0])
            assert ours == pytest.approx(exact, rel=1e-8, abs=1e-11)


@given(st.floats(1e-5, 0.9999), st.floats(1.5, 20), st.floats(0.01, 2))
def test_a_step_is_the_lowest_that_holds_in_both_orders(x: float, order: float, price: float) -> None:
    """The step satisfies (L) both ways; a thousandth lower it does not."""
    start = chance(x)
    guess = LogChance.of_passing(start.passing * (order - 1) / order).log_odds  # what `climb` starts from
    z = lowest_step(start, array(order), array(price), guess)
    assert z.abstaining[0] <= start.abstaining[0]
    for p, q in ((start, z), (z, start)):
        assert excess(p, q, array(order), array(price))[0] <= 1e-9 * price
    # A little further down the ladder one of the two orders breaks.
    gap = float(np.exp(start.abstaining - z.abstaining)[0]) - 1
    lower = LogChance.of_abstaining(z.abstaining - 1e-3 * max(gap, 1e-9) - 1e-9)
    broken = max(excess(p, q, array(order), array(price))[0] for p, q in ((start, lower), (lower, start)))
    assert broken > 0


@pytest.mark.parametrize(("passing", "order", "price"), [(1e-7, 1.0145663535230711, 0.3024341179606339)])
def test_long_steps_find_their_root_too(passing: float, order: float, price: float) -> None:
    """From a first rung at (epsilon 1000, delta 1e-5, T 10): the root is near one half, far from both ends."""
    start = LogChance.of_passing(array(math.log(passing)))
    guess = LogChance.of_passing(start.passing * (order - 1) / order).log_odds
    z = lowest_step(start, array(order), array(price), guess)
    assert excess(z, start, array(order), array(price))[0] == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("numerator", ["x", "z"])
def test_roots_turn_the_inequality_to_equality(numerator: str) -> None:
    x = chance(0.7)
    z = root(x, array(8.0), array(0.3), chance(0.65).log_odds, numerator="x" if numerator == "x" else "z")
    p, q = (x, z) if numerator == "x" else (z, x)
    assert z.abstaining[0] < x.abstaining[0]
    assert excess(p, q, array(8.0), array(0.3))[0] == pytest.approx(0, abs=1e-10)


def test_chances_keep_their_digits_at_both_ends() -> None:
    rare_pass = LogChance.of_passing(np.log(np.array([1e-15])))
    assert rare_pass.abstaining[0] == pytest.approx(-1e-15, rel=1e-9)
    rare_abstention = LogChance.of_abstaining(np.log(np.array([1e-15])))
    assert rare_abstention.passing[0] == pytest.approx(-1e-15, rel=1e-9)


@given(st.floats(-40, -1e-9))
def test_pass_probabilities_are_rounded_down(log_small: float) -> None:
    """From whichever of pass and abstention is small; the floating-point exponential costs a few ulps."""
    log_large = math.log1p(-math.exp(log_small))
    for lp, ly in ((log_small, log_large), (log_large, log_small)):
        n = int(to_numerators([lp], [ly])[0])
        with ctx.workprec(200):
            exact = arb(lp).exp() * ONE if lp < ly else ONE - arb(ly).exp() * ONE
            small = exact if lp < ly else ONE - exact
            assert arb(n) <= exact + small * 1e-15
            assert arb(n) >= exact - 1 - small * 1e-15
    assert 0 <= n <= ONE


def test_the_last_rung_is_held_beyond_the_end() -> None:
    rungs = Rungs(np.array([0, ONE // 4, ONE // 2]))
    assert rungs.at(np.array([0, 1, 2, 3, 10**9])).tolist() == [0, ONE // 4, ONE // 2, ONE // 2, ONE // 2]
    assert rungs.passing().tolist() == [0, 0.25, 0.5]
    assert rungs.abstaining().tolist() == [1, 0.75, 0.5]
    assert [rungs.distance_for(p) for p in (0.0, 0.1, 0.25, 0.5)] == [0, 1, 1, 2]


def half_ladder(order: float, price: float) -> tuple[int, int]:
    """A pass numerator and the largest next one that (L) allows, found by bisection on the integers."""
    x = ONE // 2
    low, high = x, ONE - 1
    while high - low > 1:
        middle = (low + high) // 2
        fine = certify_rungs(np.array([x, middle]), [(0, 1), (1, 0)], order, price)
        low, high = (middle, high) if fine else (low, middle)
    return x, low


def test_the_certificate_is_sharp_to_the_last_integer() -> None:
    x, z = half_ladder(8.0, 0.3)
    both = [(0, 1), (1, 0)]
    assert certify_rungs(np.array([x, z]), both, 8.0, 0.3)
    assert not certify_rungs(np.array([x, z + 1]), both, 8.0, 0.3)
    with ctx.workprec(400):
        y, next_y = arb(fmpq(ONE - x, ONE)), arb(fmpq(ONE - z, ONE))
        assert left_side(y, next_y, 8.0, 0.3) <= 1
        assert left_side(next_y, y, 8.0, 0.3) <= 1
        above = arb(fmpq(ONE - z - 1, ONE))
        assert left_side(y, above, 8.0, 0.3) > 1 or left_side(above, y, 8.0, 0.3) > 1


def test_the_certificate_refuses_what_is_possible_on_one_side_only() -> None:
    assert not certify_rungs(np.array([0, 1]), [(1, 0)], 8.0, 5.0)
    assert certify_rungs(np.array([0, 1]), [(0, 1)], 8.0, 5.0)
    assert not certify_rungs(np.array([ONE - 1, ONE]), [(0, 1)], 8.0, 5.0)
    assert certify_rungs(np.array([0, 0, 0]), [(0, 1), (1, 2), (2, 1)], 8.0, 0.0)


def test_the_certificate_checks_every_pair_it_is_given() -> None:
    x, z = half_ladder(8.0, 0.3)
    numerators = np.array([x, z, ONE - 1])
    assert certify_rungs(numerators, [(0, 1), (1, 0)], 8.0, 0.3)
    assert not certify_rungs(numerators, [(0, 1), (1, 0), (1, 2), (2, 1)], 8.0, 0.3)


def true_price(rungs: Rungs, order: float) -> float:
    """The price of an abstention from the exact rationals, or infinity where free passes are already too dear."""
    with ctx.workprec(300):
        a = arb(order)
        passing = [arb(fmpq(n, ONE)).log() for n in rungs.numerators.tolist()]
        abstaining = [arb(fmpq(ONE - n, ONE)).log() for n in rungs.numerators.tolist()]
        worst = 0.0
        for d in range(len(rungs) - 1):
            for i, j in ((d, d + 1), (d + 1, d)):
                left = 1 - (a * passing[i] + (1 - a) * passing[j]).exp()
                if not left > 0:
                    return math.inf
                price = a * abstaining[i] + (1 - a) * abstaining[j] - left.log()
                worst = max(worst, math.nextafter(float(price.upper()), math.inf))
        return worst


BUDGETS = [(2.0, 1e-5, 10, 250), (1.0, 1e-6, 10, 400), (2.0, 1e-5, 100, 400)]


def ladder(epsilon: float, delta: float, max_abstentions: int, n_teachers: int) -> Ladder:
    task = Task(Budget(epsilon, delta), n_teachers, 10, 1000)
    return Ladder.for_task(task, max_abstentions=max_abstentions)


@pytest.mark.parametrize(("epsilon", "delta", "most", "teachers"), BUDGETS)
def test_prices_at_other_orders_are_sound_and_close(epsilon: float, delta: float, most: int, teachers: int) -> None:
    rungs = ladder(epsilon, delta, most, teachers).rungs
    finite = 0
    for order in ORDERS:
        ours, true = price_at(rungs, order), true_price(rungs, order)
        assert ours >= true
        if math.isfinite(true):
            finite += 1
            assert ours <= true + 2e-5
    assert finite > 10


@pytest.mark.parametrize(("epsilon", "delta", "most", "teachers"), BUDGETS)
def test_prices_stay_sound_where_passing_is_almost_too_dear(
    epsilon: float, delta: float, most: int, teachers: int
) -> None:
    """Just below the first order without a price, `1 - S` is all cancellation; no digit may be invented there."""
    made = ladder(epsilon, delta, most, teachers)
    low, high = made.order, 2 * made.order
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if math.isfinite(true_price(made.rungs, middle)) else (low, middle)
    orders = [low * (1 - 3e-13 * k) for k in range(0, 60, 3)]
    under = {a for a in orders if price_at(made.rungs, a) < true_price(made.rungs, a)}
    assert not under
