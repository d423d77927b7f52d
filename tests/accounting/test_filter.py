"""Lemma 1 by brute force: random priced games, and the best adaptive adversary against each of them."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from priced_outcomes import PricedOutcomes

from mapl.errors import InvalidParameter

OUTCOMES = ("free", "cheap", "dear")


def term(p: float, q: float, order: float) -> float:
    return math.exp(order * math.log(p) + (1 - order) * math.log(q))


class Game:
    """A few questions, each with two neighbouring laws over the outcomes; prices that satisfy the hypothesis."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.order = float(rng.uniform(1.1, 12))
        self.laws = []
        for _ in range(3):
            p = rng.dirichlet(np.ones(3)) * 0.98 + 0.02 / 3
            q = p * np.exp(rng.uniform(-0.3, 0.3, 3))
            q /= q.sum()
            # Both directions, and a sub-probability: some outcomes of some questions are left out of G.
            kept = rng.random(3) < 0.9
            self.laws += [(p * kept, q), (q * kept, p)]
        self.prices = {"free": 0.0, "cheap": float(rng.uniform(0, 0.3)), "dear": 0.0}
        # Free outcomes must leave room for the others; if they do not, they cost something too.
        while self.hypothesis() > 1:
            self.prices["dear"] += 0.05
            if self.prices["dear"] > 3:
                self.prices["free"] += 0.01
                self.prices["cheap"] += 0.01

    def terms(self, law: tuple[np.ndarray, np.ndarray]) -> list[float]:
        return [term(a, b, self.order) if a > 0 else 0.0 for a, b in zip(*law, strict=True)]

    def hypothesis(self) -> float:
        """The largest sum over outcomes of p^a q^(1-a) e^(-price)."""
        return max(
            sum(t * math.exp(-self.prices[o]) for t, o in zip(self.terms(law), OUTCOMES, strict=True))
            for law in self.laws
        )

    def best_moment(self, rule: PricedOutcomes, questions: int) -> float:
        """The largest moment an adaptive adversary reaches if a run stops once an outcome could be unaffordable."""
        known: dict[tuple[int, ...], float] = {}

        def best(spent: tuple[int, ...]) -> float:
            if spent not in known:
                nexts = [tuple(n + (i == o) for i, n in enumerate(spent)) for o in range(len(OUTCOMES))]
                affordable = all(rule.affords(dict(zip(OUTCOMES, n, strict=True))) for n in nexts)
                if sum(spent) == questions or not affordable:
                    known[spent] = 1.0
                else:
                    futures = [best(n) for n in nexts]
                    # Asking on is the adversary's choice: a run may also end early.
                    known[spent] = max(
                        1.0,
                        *(sum(t * f for t, f in zip(self.terms(law), futures, strict=True)) for law in self.laws),
                    )
            return known[spent]

        return best((0, 0, 0))


@pytest.mark.parametrize("seed", range(40))
def test_no_adaptive_adversary_passes_the_capacity(seed: int) -> None:
    game = Game(seed)
    assert game.hypothesis() <= 1
    rule = PricedOutcomes(game.order, 3 * max(game.prices.values()), game.prices)
    assert 0 <= math.log(game.best_moment(rule, 12)) <= rule.capacity + 1e-12


def test_the_brute_force_sees_prices_that_are_too_low() -> None:
    """The broken twin: with prices divided by four the same adversary passes the capacity in most games."""
    caught = 0
    for seed in range(40):
        game = Game(seed)
        game.prices = {o: price / 4 for o, price in game.prices.items()}
        rule = PricedOutcomes(game.order, 3 * max(game.prices.values()), game.prices)
        caught += math.log(game.best_moment(rule, 12)) > rule.capacity
    assert caught > 20


PRICE = st.floats(0, 10)


@given(PRICE, PRICE, st.floats(0, 50), st.integers(0, 10**9), st.integers(0, 10**9))
def test_totals_are_exact(a: float, b: float, capacity: float, m: int, n: int) -> None:
    rule = PricedOutcomes(2.0, capacity, {"a": a, "b": b})
    exact = Fraction(a) * m + Fraction(b) * n
    assert rule.total({"a": m, "b": n}) == exact
    assert rule.affords({"a": m, "b": n}) == (exact <= Fraction(capacity))


def test_a_million_tiny_prices_are_not_lost() -> None:
    rule = PricedOutcomes(2.0, 1.0, {"large": 1.0 - 1e-12, "tiny": 1e-17})
    assert rule.affords({"large": 1, "tiny": 10**4})
    assert not rule.affords({"large": 1, "tiny": 10**6})


@given(st.floats(1e-6, 1), st.floats(0, 100))
@settings(max_examples=200)
def test_most_is_the_last_count_that_is_affordable(price: float, capacity: float) -> None:
    rule = PricedOutcomes(2.0, capacity, {"answer": 0.0, "abstain": price})
    most = rule.most("abstain")
    assert most is not None
    assert rule.affords({"abstain": most})
    assert not rule.affords({"abstain": most + 1})
    assert rule.most("answer") is None


@pytest.mark.parametrize("price", [-1e-9, math.inf, math.nan])
def test_impossible_prices_are_refused_by_name(price: float) -> None:
    with pytest.raises(InvalidParameter, match="outcome 'abstain'"):
        PricedOutcomes(2.0, 1.0, {"abstain": price})


def test_no_capacity_affords_nothing() -> None:
    """`capacity(epsilon, 0, order)` is minus infinity; a filter with it must say no rather than break."""
    assert not PricedOutcomes(2.0, -math.inf, {"abstain": 0.1}).affords({"abstain": 1})
