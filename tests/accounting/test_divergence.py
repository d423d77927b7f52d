"""The supremum of Renyi divergences: never below direct evaluation, exact where a law is kept, both directions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from mapl.accounting.divergence import RenyiSupremum, log_moment

Floats = NDArray[np.float64]

ORDERS = (1.2, 1.25, 1.7, 2.0, 3.0, 4.5, 6.99, 8.0, 11.0, 16.0)


def laws(rng: np.random.Generator, rows: int, outcomes: int, strength: float) -> tuple[Floats, Floats]:
    """Random pairs whose log-ratios are of the size of `strength`."""
    q = rng.dirichlet(np.ones(outcomes), rows) * 0.999 + 0.001 / outcomes
    p = q * np.exp(strength * rng.uniform(-1, 1, (rows, outcomes)))
    return p / p.sum(axis=1, keepdims=True), q


def divergences(p: Floats, q: Floats, order: float) -> Floats:
    """One row at a time, by the definition, in both directions."""
    found = []
    for first, second in zip(p, q, strict=True):
        for x, y in ((first, second), (second, first)):
            found.append(
                math.log(sum(a**order * b ** (1 - order) for a, b in zip(x, y, strict=True))) / (order - 1)
            )
    return np.array(found)


def supremum(*blocks: tuple[Floats, Floats], keep: float, rounding: float = 0.0) -> RenyiSupremum:
    found = RenyiSupremum(16.0, keep=keep, rounding=rounding)
    found.observe(blocks)
    return found


def test_log_moment_is_the_definition() -> None:
    p, q = laws(np.random.default_rng(0), 7, 3, 0.5)
    assert log_moment(q, np.log(p / q), 3.5) == pytest.approx(np.log((p**3.5 * q**-2.5).sum(axis=1)), rel=1e-12)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("outcomes", [2, 3])
def test_all_laws_kept_give_the_exact_maximum(order: float, outcomes: int) -> None:
    p, q = laws(np.random.default_rng(1), 40, outcomes, 0.8)
    exact = divergences(p, q, order).max()
    assert supremum((p, q), keep=0.0).at(order) == pytest.approx(exact, rel=1e-9)


@pytest.mark.parametrize("keep", [0.2, 0.7, 0.99, 1.0])
@pytest.mark.parametrize("seed", range(4))
def test_laws_that_are_not_kept_are_bounded_by_chords(keep: float, seed: int) -> None:
    """Families of mixed strength: the law with the largest chi-square is not the worst one at high orders."""
    rng = np.random.default_rng(seed)
    blocks = [laws(rng, 30, 3, s) for s in (0.05, 0.6, 0.3, 0.9)]
    found = supremum(*blocks, keep=keep)
    for order in ORDERS:
        exact = max(divergences(p, q, order).max() for p, q in blocks)
        assert exact * (1 - 1e-12) <= found.at(order) <= 1.05 * exact


def test_the_chord_is_what_bounds_a_dropped_law() -> None:
    """A rare outcome with a huge ratio has a small chi-square but wins at high orders."""
    p = np.array([[0.5, 0.5], [1e-9, 1 - 1e-9]])
    q = np.array([[0.4, 0.6], [1e-12, 1 - 1e-12]])
    found = supremum((p, q), keep=0.9)
    single = supremum((p[:1], q[:1]), keep=0.9)
    worst = divergences(p[1:], q[1:], 16.0).max()
    assert worst > 5 * single.at(16.0)
    assert found.at(16.0) >= worst * (1 - 1e-12)
    assert found.at(15.0) >= divergences(p[1:], q[1:], 15.0).max()


def test_both_directions_count() -> None:
    p, q = np.array([[0.01, 0.99]]), np.array([[0.2, 0.8]])
    forward, backward = (math.log((x**4 * y**-3.0).sum()) / 3 for x, y in ((p, q), (q, p)))
    assert forward != pytest.approx(backward, rel=0.1)
    for pair in ((p, q), (q, p)):
        assert supremum(pair, keep=0.5).at(4.0) == pytest.approx(max(forward, backward), rel=1e-9)


def test_the_order_of_observation_does_not_matter() -> None:
    rng = np.random.default_rng(5)
    blocks = [laws(rng, 20, 3, s) for s in (0.1, 0.2, 0.4, 0.8)]
    rising, falling = supremum(*blocks, keep=0.5), supremum(*blocks[::-1], keep=0.5)
    for order in ORDERS:
        exact = max(divergences(p, q, order).max() for p, q in blocks)
        assert exact * (1 - 1e-12) <= min(rising.at(order), falling.at(order))
    one_by_one = RenyiSupremum(16.0, keep=0.5, rounding=0.0)
    for block in blocks:
        one_by_one.observe([block])
    assert one_by_one.at(4.0) >= max(divergences(p, q, 4.0).max() for p, q in blocks) * (1 - 1e-12)


def test_rounding_pays_for_the_error_of_the_probabilities() -> None:
    """Probabilities off by a relative 1e-6, to the worse side: the raised result is still an upper bound."""
    p, q = laws(np.random.default_rng(6), 30, 3, 0.02)
    error = 1e-6
    for order in (1.25, 2.0, 8.0):
        worst = max(
            math.log(((x * (1 + error)) ** order * (y * (1 - error)) ** (1 - order)).sum()) / (order - 1)
            for first, second in zip(p, q, strict=True)
            for x, y in ((first, second), (second, first))
        )
        plain = supremum((p, q), keep=0.0).at(order)
        raised = supremum((p, q), keep=0.0, rounding=error).at(order)
        assert plain < worst <= raised
        assert raised - plain == pytest.approx(2 * (order + 1) / (order - 1) * error, rel=1e-6)


def test_orders_beyond_the_anchors_have_no_bound() -> None:
    found = supremum(laws(np.random.default_rng(7), 5, 2, 0.5), keep=0.5)
    assert math.isinf(found.at(16.1))
    assert math.isinf(found.at(1.1))
    assert math.isfinite(found.at(16.0))


def test_equal_laws_cost_nothing() -> None:
    q = np.array([[0.3, 0.7], [0.5, 0.5]])
    assert supremum((q, q), keep=0.5).at(2.0) == pytest.approx(0.0, abs=1e-15)
