"""The bound from canaries: exact on small worlds, never below what a private mechanism can do."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from mapl.audit.runs.one_run import epsilon_from_guesses, guesses_needed, tail
from mapl.errors import InvalidParameter


def right_by_randomised_response(m: int, epsilon: float, leak: float = 0.0) -> list[float]:
    """The exact law of the number of right guesses if every coin is told truly with chance e^eps / (1 + e^eps), and
    all coins are told as they are with chance `leak`; every outcome is listed."""
    q = 1 / (1 + math.exp(-epsilon))
    law = [0.0] * (m + 1)
    for truths in product((True, False), repeat=m):
        law[sum(truths)] += (1 - leak) * math.prod(q if true else 1 - q for true in truths)
    law[m] += leak
    return law


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0, 3.0])
@pytest.mark.parametrize("m", [1, 2, 5, 9])
def test_randomised_response_reaches_the_bound_exactly(m: int, epsilon: float) -> None:
    law = right_by_randomised_response(m, epsilon)
    for right in range(m + 1):
        assert tail(right, m, epsilon, 0.0, m) == pytest.approx(sum(law[right:]), rel=1e-8)
        assert tail(right, m, epsilon, 0.0, m) >= sum(law[right:]) - 1e-15


@pytest.mark.parametrize("delta", [1e-4, 0.01, 0.2])
@pytest.mark.parametrize("m", [1, 3, 8])
def test_telling_everything_with_chance_delta_stays_within_the_bound(m: int, delta: float) -> None:
    law = right_by_randomised_response(m, 1.0, leak=delta)
    for right in range(m + 1):
        assert sum(law[right:]) <= tail(right, m, 1.0, delta, m) + 1e-12


def test_no_private_mechanism_on_three_coins_does_better() -> None:
    """Random laws on all coins, made exactly epsilon-private by tilting, against the best guesser of each outcome.

    All outcomes and coins are listed, so there is no false alarm: a failure is a counterexample.
    """
    rng, epsilon, m = np.random.default_rng(7), 0.8, 3
    coins = list(product((0, 1), repeat=m))
    for _ in range(200):
        base = rng.random(8) + 0.05
        # Each coin tilts the outcomes by e^(+-epsilon / 4), and normalising at most doubles that.
        tilts = np.exp(epsilon / 4 * rng.choice([-1, 1], size=(m, 2, 8)))
        law = {s: base * math.prod(tilts[i, s[i]] for i in range(m)) for s in coins}
        law = {s: p / p.sum() for s, p in law.items()}
        for s in coins:
            for i in range(m):
                other = (*s[:i], 1 - s[i], *s[i + 1 :])
                assert (law[s] <= math.exp(epsilon) * law[other] * (1 + 1e-12)).all()
        for right in range(1, m + 1):
            reached = 0.0
            for outcome in range(8):
                reached += max(
                    sum(
                        law[s][outcome]
                        for s in coins
                        if sum(a == b for a, b in zip(s, guess, strict=True)) >= right
                    )
                    for guess in coins
                )
            assert reached / 8 <= tail(right, m, epsilon, 0.0, m) + 1e-12


def test_the_bound_is_the_largest_epsilon_that_is_refuted() -> None:
    found = epsilon_from_guesses(90, 100, 1e-5, 0.95, canaries=100)
    assert tail(90, 100, found, 1e-5, 100) <= 0.05 < tail(90, 100, found + 1e-6, 1e-5, 100)
    assert epsilon_from_guesses(90, 100, 1e-3, 0.95, canaries=100) < found
    assert epsilon_from_guesses(50, 100, 0.0, 0.95, canaries=100) == 0.0
    assert epsilon_from_guesses(0, 100, 0.0, 0.95, canaries=100) == 0.0


@pytest.mark.parametrize("epsilon", [0.5, 2.0, 4.0])
def test_as_many_guesses_as_needed_are_enough(epsilon: float) -> None:
    n = guesses_needed(epsilon, 0.95)
    assert epsilon_from_guesses(n, n, 0.0, 0.95, canaries=n) >= epsilon - 1e-6
    assert epsilon_from_guesses(n - 1, n - 1, 0.0, 0.95, canaries=n - 1) < epsilon


def test_senseless_numbers_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="11 right ones of 10 guesses"):
        tail(11, 10, 1.0, 0.0, 10)
