"""Forecasts: the chance that a question is reached, by brute force and by simulation; sums of outcomes."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from mapl.planning.choosing.forecast import Forecast, chance_of_being_reached, forecast

Floats = NDArray[np.float64]


def by_brute_force(questions: list[int], abstaining: list[float], limit: int) -> list[float]:
    """All coins and all orders of a tiny pool, exactly: how often is each group's first question taken?"""
    groups = [g for g, n in enumerate(questions) for _ in range(n)]
    chances = [Fraction(abstaining[g]) for g in groups]
    firsts = [groups.index(g) for g in range(len(questions))]
    taken = [Fraction(0)] * len(questions)
    orders = list(itertools.permutations(range(len(groups))))
    for coins in itertools.product((False, True), repeat=len(groups)):
        weight = math.prod(
            (c if abstains else 1 - c for c, abstains in zip(chances, coins, strict=True)), start=Fraction(1)
        )
        if weight == 0:
            continue
        for order in orders:
            left = limit
            for question in order:
                if left == 0:
                    break
                if question in firsts:
                    taken[firsts.index(question)] += weight / len(orders)
                left -= coins[question]
    return [float(t) for t in taken]


@pytest.mark.parametrize("limit", [1, 2, 3, 6])
@pytest.mark.parametrize(
    ("questions", "abstaining"),
    [
        ([1], [0.3]),
        ([1, 1], [0.5, 0.5]),
        ([2, 2], [0.25, 0.75]),
        ([3, 1, 1], [0.5, 0.0, 1.0]),
        ([4, 1], [1.0, 0.5]),
        ([2, 3], [0.0, 0.125]),
    ],
)
def test_reached_is_exact_on_tiny_pools(questions: list[int], abstaining: list[float], limit: int) -> None:
    expected = by_brute_force(questions, abstaining, limit)
    assert chance_of_being_reached(np.array(questions), np.array(abstaining), limit) == pytest.approx(
        expected, abs=1e-12
    )


def one_group(n: int, chance: float, limit: int) -> float:
    """E min(1, T / (N + 1)) with N binomial, term by term in logarithms."""
    k = np.arange(n)
    log_choose = np.array([math.lgamma(n) - math.lgamma(i + 1) - math.lgamma(n - i) for i in k])
    law = np.exp(log_choose + k * math.log(chance) + (n - 1 - k) * math.log1p(-chance))
    return float(law @ np.minimum(1.0, limit / (k + 1)))


@pytest.mark.parametrize(
    ("n", "chance", "limit"),
    [(40, 0.2, 3), (1000, 0.01, 12), (1000, 0.5, 30), (5000, 1e-4, 1), (40_000, 0.002, 90)],
)
def test_one_group_is_a_binomial(n: int, chance: float, limit: int) -> None:
    assert chance_of_being_reached(np.array([n]), np.array([chance]), limit) == pytest.approx(
        [one_group(n, chance, limit)], rel=1e-9
    )


@pytest.mark.parametrize(
    ("n", "chance", "limit"),
    [
        (50_000, 0.01, 500),
        (50_000, 0.01, 100),
        (60_000, 0.3, 50),
        (50_000, 1e-5, 1),
        (50_000, 1e-4, 5),
        (200_000, 1e-6, 1),
    ],
)
def test_large_pools_are_no_less_exact(n: int, chance: float, limit: int) -> None:
    """Many questions with few abstentions are far from Gaussian and must stay exact."""
    assert chance_of_being_reached(np.array([n]), np.array([chance]), limit) == pytest.approx(
        [one_group(n, chance, limit)], rel=1e-2
    )


def test_nobody_abstains_or_everybody_does() -> None:
    assert chance_of_being_reached(np.array([7, 3]), np.array([0.0, 0.0]), 1) == pytest.approx([1, 1])
    assert chance_of_being_reached(np.array([7, 3]), np.array([1.0, 1.0]), 4) == pytest.approx([0.4, 0.4])
    assert chance_of_being_reached(np.array([7, 3]), np.array([0.9, 0.2]), 10) == pytest.approx([1, 1])


def test_more_abstentions_allowed_reach_more() -> None:
    chances = [chance_of_being_reached(np.array([50, 100]), np.array([0.5, 0.1]), t) for t in range(1, 60, 4)]
    assert np.diff(chances, axis=0).min() >= -1e-12
    assert np.max(chances) <= 1 + 1e-12


def test_the_group_that_abstains_more_is_reached_no_less_than_the_other() -> None:
    """A question does not stand behind its own coin: leaving out a likely abstention helps it."""
    often, rarely = chance_of_being_reached(np.array([50, 50]), np.array([0.9, 0.1]), 5)
    assert often > rarely


def test_a_group_without_questions_does_not_disturb_the_others() -> None:
    alone = chance_of_being_reached(np.array([10]), np.array([0.1]), 2)
    with_empty = chance_of_being_reached(np.array([10, 0]), np.array([0.1, 0.5]), 2)
    assert with_empty[0] == pytest.approx(alone[0])
    assert ((with_empty >= 0) & (with_empty <= 1)).all()


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_empty_groups_of_few_questions_are_no_reason_for_impossible_chances(n: int) -> None:
    questions = np.array([n, 0, 0, 0])
    found = chance_of_being_reached(questions, np.array([0.1, 0.5, 0.9, 1.0]), 1)
    assert ((found >= 0) & (found <= 1 + 1e-12)).all()


@pytest.mark.statistical
def test_reached_matches_simulation() -> None:
    """6,000 random orders of 60 questions, three groups; false alarm below 3 x 4e-8 (5.5 deviations)."""
    questions, abstaining, limit, runs = np.array([30, 20, 10]), np.array([0.05, 0.5, 0.8]), 9, 6000
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(3), questions)
    shares = np.empty((runs, 3))
    for run in range(runs):
        order = rng.permutation(len(groups))
        coins = rng.random(len(groups)) < abstaining[groups[order]]
        before: NDArray[np.int64] = np.cumsum(coins) - coins
        shares[run] = np.bincount(groups[order], weights=before < limit, minlength=3) / questions
    error = shares.std(axis=0) / math.sqrt(runs)
    assert (
        np.abs(shares.mean(axis=0) - chance_of_being_reached(questions, abstaining, limit)) <= 5.5 * error
    ).all()


class TestForecast:
    def test_outcomes_are_summed(self) -> None:
        """Two groups, three classes: labels 0..2, abstaining."""
        published = np.array([[1.0, 6.0, 0.5, 2.5], [0.0, 0.0, 4.0, 6.0]])
        found = forecast(published, np.array([1, 2], dtype=np.int32), 3)
        assert found == Forecast(answered=11.5, winners=10.0, abstained=8.5)
        assert found.agreement == pytest.approx(10 / 11.5)

    def test_fallback_answers_are_answers(self) -> None:
        published = np.array([[6.0, 0.0, 0.0, 1.0, 3.0], [0.0, 4.0, 0.0, 2.0, 4.0]])
        found = forecast(published, np.array([0, 1], dtype=np.int32), 2)
        assert found == Forecast(answered=20.0, winners=15.0, abstained=0.0)

    def test_nothing_answered_agrees_with_nothing(self) -> None:
        found = forecast(np.array([[0.0, 0.0, 5.0]]), np.array([1], dtype=np.int32), 2)
        assert found == Forecast(answered=0.0, winners=0.0, abstained=5.0)
        assert found.agreement == 0.0

    def test_a_ladder_run_adds_up_to_the_questions_reached(self) -> None:
        questions, chances = np.array([30, 12]), np.array([[0.9, 0.0, 0.1], [0.0, 0.4, 0.6]])
        taken = chance_of_being_reached(questions, chances[:, 2], 4)
        found = forecast(chances * (questions * taken)[:, None], np.array([0, 1], dtype=np.int32), 2)
        assert found.answered + found.abstained == pytest.approx(float(questions @ taken))
        assert found.winners == found.answered
        assert found.abstained <= 4 + 1e-9  # the run halts at the fourth
