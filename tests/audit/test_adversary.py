"""The dynamic programme against full enumeration of all adaptive adversaries, and against closed forms."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest
from scipy.stats import binom, nbinom

from mapl.audit.votes.adversary import Game, lower_delta, upper_delta
from mapl.audit.votes.histograms import Pairs, histograms, neighbours, pairs_of
from mapl.audit.votes.limits import RunEnds
from mapl.audit.votes.moments import divergence, impossible, log_moments
from mapl.mechanisms import AnyMechanism, Task, make
from mapl.types import Budget, State, Tallies


def coin(p: float, q: float) -> Pairs:
    """Return a game of one coin, in both directions."""
    rows = np.array([[p, 1 - p, 0.0], [q, 1 - q, 0.0]])
    return Pairs.of(rows, rows[::-1], 2)


def brute_force(mechanism: AnyMechanism, teachers: int, classes: int, questions: int, limit: int, epsilon: float):
    """Return delta of the best of all adaptive adversaries, by recursion over transcripts: no grid, no sorting."""
    rows = histograms(teachers, classes)
    law = mechanism.chances(Tallies(rows), State())
    pairs = sorted({(tuple(law[i]), tuple(law[j])) for i, j in zip(*neighbours(rows), strict=True)})

    @cache
    def gain(p: float, q: float, left: int, abstentions: int) -> float:
        if left == 0 or abstentions == 0:
            return max(p - math.exp(epsilon) * q, 0.0)
        return max(
            sum(
                gain(p * x, q * y, left - 1, abstentions - (o >= classes))
                for o, (x, y) in enumerate(zip(mine, theirs, strict=True))
                if x > 0
            )
            for mine, theirs in pairs
        )

    return gain(1.0, 1.0, questions, limit)


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 2.0])
def test_ladder_against_every_adaptive_adversary(epsilon: float) -> None:
    ladder = make("ladder", Task(Budget(2.0, 1e-2), 9, 3, 3), max_abstentions=2)
    game = Game.of(pairs_of(ladder, 9, 3), RunEnds(abstentions=2), 3)
    exact = brute_force(ladder, 9, 3, 3, 2, epsilon)
    upper, policy = upper_delta(game, epsilon)
    lower = lower_delta(game, epsilon, policy)
    assert lower * (1 - 1e-9) <= exact <= upper * (1 + 1e-9)
    assert upper <= 1.02 * exact + 1e-9
    assert lower >= 0.97 * exact


def test_fallback_answers_against_every_adaptive_adversary() -> None:
    mechanism = make("ladder-then-link", Task(Budget(2.0, 1e-2), 7, 2, 3), max_abstentions=2)
    game = Game.of(pairs_of(mechanism, 7, 2), RunEnds(abstentions=2), 3)
    exact = brute_force(mechanism, 7, 2, 3, 2, 1.0)
    upper, policy = upper_delta(game, 1.0)
    assert lower_delta(game, 1.0, policy) * (1 - 1e-9) <= exact <= upper * (1 + 1e-9)
    assert upper <= 1.03 * exact


@pytest.mark.parametrize("questions", [1, 10, 60])
@pytest.mark.parametrize("epsilon", [0.5, 1.5])
def test_repeated_coins_have_the_binomial_delta(questions: int, epsilon: float) -> None:
    p, q = 0.6, 0.5
    k = np.arange(questions + 1)
    exact = max(
        float(np.maximum(binom.pmf(k, questions, x) - math.exp(epsilon) * binom.pmf(k, questions, z), 0).sum())
        for x, z in ((p, q), (q, p))
    )
    game = Game.of(coin(p, q), RunEnds(), questions)
    upper, policy = upper_delta(game, epsilon)
    # An adaptive adversary may do better than repeating the better direction.
    assert upper >= exact * (1 - 1e-9)
    assert max(lower_delta(game, epsilon, policy), lower_delta(game, epsilon)) <= upper * (1 + 1e-9)
    alone = Pairs(game.pairs.p[:1], game.pairs.q[:1], np.zeros(1), game.pairs.abstains)
    repeated = lower_delta(Game.of(alone, RunEnds(), questions), epsilon)
    other = Pairs(game.pairs.p[1:], game.pairs.q[1:], np.zeros(1), game.pairs.abstains)
    mirrored = lower_delta(Game.of(other, RunEnds(), questions), epsilon)
    assert max(repeated, mirrored) <= exact * (1 + 1e-9) + 1e-15
    assert max(repeated, mirrored) >= 0.97 * exact


def test_renyi_of_repeated_coins_adds_up() -> None:
    p, q, order = 0.6, 0.5, 4.0
    each = max(
        math.log(x**order * z ** (1 - order) + (1 - x) ** order * (1 - z) ** (1 - order)) / (order - 1)
        for x, z in ((p, q), (q, p))
    )
    game = Game.of(coin(p, q), RunEnds(answers=7), 20)
    assert divergence(game, order) == pytest.approx(7 * each, rel=1e-12)
    assert divergence(game, math.inf) == pytest.approx(7 * math.log(0.5 / 0.4), rel=1e-12)


def test_the_fixed_point_is_the_limit_of_many_questions() -> None:
    ladder = make("ladder", Task(Budget(2.0, 1e-5), 60, 2, 10), max_abstentions=2)
    pairs = pairs_of(ladder, 60, 2)
    endless = divergence(Game.of(pairs, RunEnds(abstentions=2), 50), ladder.order)
    answered, abstained = (np.exp(log_moments(pairs, ladder.order, abstains=kind)) for kind in (False, True))
    two_left = one_left = 1.0
    seen = []
    for _ in range(5000):
        two_left = max(two_left, float((answered * two_left + abstained * one_left).max()))
        one_left = max(one_left, float((answered * one_left + abstained).max()))
        seen.append(math.log(two_left) / (ladder.order - 1))
    assert seen[3] < seen[30] < endless * (1 + 1e-12)
    assert seen[-1] == pytest.approx(endless, rel=1e-6)


def test_the_chance_of_an_impossible_answer_is_that_of_the_proof() -> None:
    ladder = make("ladder", Task(Budget(2.0, 1e-3), 20, 2, 10), max_abstentions=4)
    first = ladder.rungs.numerators[0] / 2**62
    game = Game.of(pairs_of(ladder, 20, 2), RunEnds(abstentions=4), 12)
    assert impossible(game) == pytest.approx(1 - (1 - first) ** 4, rel=1e-9)
    assert impossible(game) <= ladder.failure.delta


def test_the_explicit_attack_of_the_theory_notes() -> None:
    """Repeating one rung until ten abstentions realises 0.87 of epsilon 1 (THEORY, section 2), in closed form."""
    ladder = make("ladder", Task(Budget(1.0, 1e-6), 400, 2, 10), max_abstentions=10)
    pairs = pairs_of(ladder, 400, 2)
    [column] = np.flatnonzero(pairs.abstains)
    answers = np.arange(600)

    def in_closed_form(row: int, epsilon: float) -> float:
        p, q = (nbinom.pmf(answers, 10, side[row, column]) for side in (pairs.p, pairs.q))
        return float(np.maximum(p - math.exp(epsilon) * q, 0).sum())

    likely = np.flatnonzero((pairs.p[:, column] > 0.15) & (pairs.p[:, column] < 0.5))
    best = max(likely, key=lambda row: in_closed_form(row, 0.86))
    exact = in_closed_form(best, 0.86)
    assert exact > 1e-6
    alone = Pairs(pairs.p[[best]], pairs.q[[best]], pairs.impossible[[best]], pairs.abstains)
    assert lower_delta(Game.of(alone, RunEnds(abstentions=10), 300), 0.86) == pytest.approx(exact, rel=1e-6)
