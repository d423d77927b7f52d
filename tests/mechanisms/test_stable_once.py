"""Stable-once: its table against the discrete Laplace law, exact privacy from the integers, one question only."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from mapl.errors import CannotCalibrate, InvalidParameter
from mapl.mechanisms.mechanism import Task
from mapl.mechanisms.papers.stable_once import StableOnce
from mapl.mechanisms.tables.rungs import Rungs
from mapl.noise import ONE, SeededCoins, SystemCoins
from mapl.types import ABSTAIN, Budget, StableAnswers, State, Tallies

SETTINGS = [(0.1, 1e-5), (1.0, 1e-6), (1.0, 1e-12), (2.0, 0.3), (8.0, 1e-9), (30.0, 1e-6), (100.0, 1e-3)]


def once(epsilon: float, delta: float, n_teachers: int = 250) -> StableOnce:
    return StableOnce.for_task(Task(Budget(epsilon, delta), n_teachers, 10, 1000))


def histograms(n_teachers: int, n_classes: int) -> list[tuple[int, ...]]:
    every = itertools.product(range(n_teachers + 1), repeat=n_classes)
    return [n for n in every if sum(n) == n_teachers]


@pytest.mark.parametrize(("epsilon", "delta"), SETTINGS)
def test_neighbouring_rungs_differ_by_at_most_epsilon_exactly(epsilon: float, delta: float) -> None:
    passing = [Fraction(int(n), ONE) for n in once(epsilon, delta).rungs.numerators]
    # e^epsilon from below, so that the check is stricter than the claim.
    factor = Fraction(math.exp(epsilon)) * (1 - Fraction(1, 10**14))
    assert passing[0] <= Fraction(delta)
    for p, q in itertools.pairwise(passing):
        assert p <= q <= factor * p
        assert 1 - p <= factor * (1 - q)


@pytest.mark.parametrize(("epsilon", "delta"), SETTINGS[:5])
def test_the_table_is_the_discrete_laplace_law(epsilon: float, delta: float) -> None:
    found = once(epsilon, delta)
    r, w = math.exp(-epsilon), found.threshold
    above = {k: r ** (k + 1) / (1 + r) for k in range(w + 1)}
    above.update({-k - 1: 1 - r ** (k + 1) / (1 + r) for k in range(len(found.rungs))})
    expected = [above[w - d] for d in range(len(found.rungs))]
    # delta = 1e-12 leaves 22 bits for the first rung, and the slack that pays for them shows.
    assert found.rungs.passing() == pytest.approx(expected, rel=3e-4)
    assert above[w] <= delta * (1 + 1e-4)
    assert w == 0 or above[w - 1] > delta * (1 - 1e-4)


def test_every_neighbouring_histogram_keeps_epsilon_and_delta() -> None:
    """All histograms of 12 teachers and 3 classes, from `chances`: hockey-stick and loss."""
    found = once(0.7, 0.05)
    laws = {n: found.chances(Tallies(np.array([n])), State())[0] for n in histograms(12, 3)}
    worst = 0.0
    for n, law in laws.items():
        for a, b in itertools.permutations(range(3), 2):
            if n[a] == 0:
                continue
            moved = tuple(x - (y == a) + (y == b) for y, x in enumerate(n))
            excess = float(np.maximum(law - math.exp(0.7) * laws[moved], 0).sum())
            worst = max(worst, excess)
    assert found.total.epsilon(0.05) <= 0.7
    assert 0 < worst <= found.total.delta * (1 + 1e-12) <= 0.05 * (1 + 1e-9)


def test_a_table_with_a_rung_too_many_is_not_certified() -> None:
    found = once(1.0, 1e-6)
    budget = Budget(1.0, 1e-6)
    assert found.certify(budget)
    skipped = StableOnce(Rungs(np.delete(found.rungs.numerators, 5)), found.each, found.threshold)
    lifted = StableOnce(Rungs(found.rungs.numerators[1:]), found.each, found.threshold)
    assert not skipped.certify(budget)
    assert not lifted.certify(budget)


def test_it_answers_one_question_and_halts() -> None:
    found = once(1.0, 1e-6)
    sure = StableAnswers(np.array([3, 4], dtype=np.int32), np.array([10**6, 10**6]))
    outcome = found.release(found.start(SystemCoins()), sure, SystemCoins())
    assert outcome.labels.tolist() == [3]
    assert outcome.state == State(answered=1, halted=True)
    assert len(found.release(outcome.state, sure, SystemCoins()).labels) == 0

    hopeless = StableAnswers(np.array([3], dtype=np.int32), np.array([0]))
    refused = found.release(found.start(SystemCoins()), hopeless, SystemCoins())
    assert refused.labels.tolist() == [ABSTAIN]
    assert refused.state == State(abstained=1, halted=True)
    assert found.epsilon(refused.state, 1e-6) == found.epsilon(None, 1e-6) <= 1
    assert found.epsilon(State(), 1e-6) == 0


@pytest.mark.statistical
def test_frequencies_match_the_chances() -> None:
    """4,000 questions at each of 9 distances; false alarm 4e-7 (5.5 deviations)."""
    found = once(0.5, 0.05)
    coins, n = SeededCoins(1), 4000
    for d in range(9):
        block = Tallies(np.array([[2 * d, 0]]))
        chance = found.chances(block, State())[0, 0]
        passed = sum(found.release(State(), block, coins).state.answered for _ in range(n))
        assert abs(passed - n * chance) <= 5.5 * math.sqrt(n * chance * (1 - chance))


def test_required_distance_and_unanimity() -> None:
    found = once(1.0, 1e-6)
    distance = found.required_distance(0.99)
    assert distance is not None
    assert found.rungs.passing()[distance] >= 0.99 > found.rungs.passing()[distance - 1]
    assert found.chance_if_unanimous(2 * distance + 1, 2) >= 0.99 > found.chance_if_unanimous(2 * distance, 2)


def test_budgets_without_a_table_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="delta is 0"):
        once(1.0, 0.0)
    with pytest.raises(CannotCalibrate, match="too small for a table"):
        once(1.0, 1e-18)
