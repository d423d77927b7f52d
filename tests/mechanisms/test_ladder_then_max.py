"""The ladder with a noisy max behind it: the price against all small histograms, exact runs, what is published."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray

from mapl.errors import CannotCalibrate, InvalidParameter
from mapl.mechanisms.mechanism import Task
from mapl.mechanisms.tables.argmax_price import argmax_loss
from mapl.mechanisms.tables.rungs import Rungs
from mapl.mechanisms.votes import ladder_then_max
from mapl.mechanisms.votes.ladder_then_max import LadderThenMax
from mapl.noise import ONE, SeededCoins
from mapl.types import ABSTAIN, Budget, State, Tallies

Floats = NDArray[np.float64]


@cache
def made(
    epsilon: float, delta: float, limit: int, *, teachers: int = 250, classes: int = 3, share: float = 0.5
) -> LadderThenMax:
    task = Task(Budget(epsilon, delta), teachers, classes, 1000)
    return LadderThenMax.for_task(task, max_abstentions=limit, share=share)


def neighbours(teachers: int, classes: int) -> tuple[Tallies, NDArray[np.int64]]:
    """All histograms, and the index pairs of those that one changed vote connects."""
    every = np.array([n for n in itertools.product(range(teachers + 1), repeat=classes) if sum(n) == teachers])
    index = {tuple(n): i for i, n in enumerate(every)}
    unit = np.eye(classes, dtype=int)
    moves = itertools.permutations(range(classes), 2)
    pairs = [(i, index[tuple(n - unit[a] + unit[b])]) for (a, b) in moves for i, n in enumerate(every) if n[a]]
    return Tallies(every), np.array(pairs)


def extra_price(found: LadderThenMax) -> float:
    a = found.ladder.order
    return (a - 1) * argmax_loss(found.sigma, found.n_classes).at(a)


class TestPrice:
    @pytest.mark.parametrize(("teachers", "classes"), [(9, 2), (10, 2), (7, 3), (5, 4)])
    @pytest.mark.parametrize(("epsilon", "limit", "share"), [(2.0, 3, 0.5), (8.0, 1, 0.2), (1.0, 10, 0.8)])
    def test_no_neighbouring_histograms_exceed_it(
        self, teachers: int, classes: int, epsilon: float, limit: int, share: float
    ) -> None:
        """Sum of p^a q^(1-a) e^(-price) over the outcomes that cannot betray a changed winner is at most one."""
        found = made(epsilon, 1e-5, limit, teachers=teachers, classes=classes, share=share)
        block, pairs = neighbours(teachers, classes)
        laws, a = found.chances(block, State()), found.ladder.order
        price = found.ladder.price + extra_price(found)
        p, q = laws[pairs[:, 0]], laws[pairs[:, 1]]
        terms = np.where(p > 0, p, 0.0) ** a * np.where(q > 0, q, 1.0) ** (1 - a)
        same = block.values[pairs[:, 0]] == block.values[pairs[:, 1]]
        passed = np.where(same, terms[:, :classes].sum(axis=1), 0.0)
        moments = passed + math.exp(-price) * terms[:, classes + 1 :].sum(axis=1)
        assert 0.1 < float(moments.max()) <= 1 + 1e-12
        # Where the winner changes, the distance is zero and a pass is as rare as the certificate says.
        bad = p[~same][:, :classes].sum(axis=1)
        assert float(bad.max()) <= int(found.ladder.rungs.numerators[0]) / ONE * (1 + 1e-12)

    @pytest.mark.parametrize(("epsilon", "delta", "limit"), [(2.0, 1e-5, 5), (1.0, 1e-9, 30), (6.0, 1e-3, 1)])
    def test_the_whole_run_is_within_the_budget(self, epsilon: float, delta: float, limit: int) -> None:
        found = made(epsilon, delta, limit)
        assert 0.8 * epsilon <= found.epsilon(None, delta) <= epsilon
        assert found.total.delta <= delta

    def test_losses_add_per_abstention(self) -> None:
        found = made(2.0, 1e-5, 5)
        a, answer = found.ladder.order, argmax_loss(found.sigma, 3)
        for order in (a, 4.0, 12.0):
            expected = found.ladder.per_abstention.at(order) + answer.at(order)
            assert found.per_abstention.at(order) == pytest.approx(expected, rel=1e-12)
            assert found.total.at(order) == pytest.approx(5 * expected, rel=1e-12)
            assert found.spent(State(answered=90, abstained=2)).at(order) == pytest.approx(2 * expected, rel=1e-12)
        failing = 5 * int(found.ladder.rungs.numerators[0]) / ONE
        assert found.total.delta == pytest.approx(failing + 5 * answer.delta, rel=1e-9)
        epsilons = [found.epsilon(State(abstained=t), 1e-5) for t in range(6)]
        assert np.diff(epsilons).min() > 0

    def test_the_ladder_is_certified_with_the_fallback_s_price(self) -> None:
        found, budget = made(2.0, 1e-5, 5), Budget(2.0, 1e-5)
        extra = extra_price(found)
        assert extra > 0
        assert found.ladder.certify(budget, also_per_abstention=extra * (1 + 1e-14))
        assert not found.ladder.certify(budget, also_per_abstention=1.05 * extra)
        numerators = found.ladder.rungs.numerators
        cheaper = replace(found.ladder, price=0.99 * found.ladder.price)
        skipped = replace(found.ladder, rungs=Rungs(np.delete(numerators, 5)))
        more = replace(found.ladder, max_abstentions=6)
        for twin in (cheaper, skipped, more):
            assert not twin.certify(budget, also_per_abstention=extra)

    def test_a_given_sigma_fixes_the_fallback(self) -> None:
        task = Task(Budget(2.0, 1e-5), 250, 3, 1000)
        quiet, loud = (LadderThenMax.for_task(task, max_abstentions=5, sigma=s) for s in (12.0, 40.0))
        assert (quiet.sigma, loud.sigma) == (12.0, 40.0)
        # What the fallback does not take is the ladder's.
        assert loud.ladder.rungs.passing()[60] > quiet.ladder.rungs.passing()[60]
        assert max(m.epsilon(None, 1e-5) for m in (quiet, loud)) <= 2.0


def run_delta(
    found: LadderThenMax, block: Tallies, pairs: NDArray[np.int64], plan: NDArray[np.int64], eps: float
) -> float:
    """The exact delta of a run whose questions are the neighbouring pairs in `plan`, in that order."""
    laws = found.chances(block, State())
    states: dict[int, tuple[Floats, Floats]] = {0: (np.ones(1), np.ones(1))}
    delta = 0.0
    for i, j in pairs[plan]:
        after: dict[int, list[tuple[Floats, Floats]]] = {}
        for abstained, (p, q) in states.items():
            for o in range(laws.shape[1]):
                p_new, q_new = p * laws[i, o], q * laws[j, o]
                used = abstained + (o > block.n_classes)
                if used == found.max_abstentions:
                    delta += float(np.maximum(p_new - math.exp(eps) * q_new, 0).sum())
                else:
                    after.setdefault(used, []).append((p_new, q_new))
        states = {
            t: (np.concatenate([p for p, _ in parts]), np.concatenate([q for _, q in parts]))
            for t, parts in after.items()
        }
    return delta + sum(float(np.maximum(p - math.exp(eps) * q, 0).sum()) for p, q in states.values())


@pytest.mark.parametrize(("epsilon", "limit"), [(3.0, 2), (1.0, 3)])
def test_exact_runs_keep_epsilon_and_delta(epsilon: float, limit: int) -> None:
    """Four questions, all transcripts enumerated, 40 plans of neighbouring pairs (half of them repeat one pair)."""
    found = made(epsilon, 0.02, limit, teachers=6)
    block, pairs = neighbours(6, 3)
    rng = np.random.default_rng(0)
    largest = 0.0
    for n in range(40):
        plan = rng.integers(len(pairs), size=4) if n % 2 else np.full(4, rng.integers(len(pairs)))
        largest = max(largest, run_delta(found, block, pairs, plan, epsilon))
    assert largest <= 0.02


class TestRelease:
    SURE, OPEN = [0, 0, 250], [84, 83, 83]

    def test_it_never_abstains_and_flags_every_fallback(self) -> None:
        found = made(2.0, 1e-5, 5)
        coins = SeededCoins(0)
        outcome = found.release(found.start(coins), Tallies(np.array([self.SURE, self.OPEN] * 3)), coins)
        assert ABSTAIN not in outcome.labels
        assert set(outcome.labels.tolist()) <= {0, 1, 2}
        assert outcome.fallback is not None
        assert outcome.fallback.tolist() == [False, True] * 3
        assert outcome.labels[~outcome.fallback].tolist() == [2] * 3
        assert outcome.state == State(answered=3, abstained=3)

    @pytest.mark.parametrize("sizes", [[12], [5, 5, 2], [1] * 12])
    def test_the_last_abstention_is_answered_and_halts_the_run(self, sizes: list[int]) -> None:
        found, state, coins = made(2.0, 1e-5, 5), State(), SeededCoins(1)
        counts, flags, start = np.array([self.OPEN, self.SURE] * 6), [], 0
        for size in sizes:
            outcome = found.release(state, Tallies(counts[start : start + size]), coins)
            assert outcome.fallback is not None
            assert len(outcome.labels) == len(outcome.fallback)
            flags += outcome.fallback.tolist()
            state, start = outcome.state, start + size
        assert flags == [True, False] * 4 + [True]
        assert state == State(answered=4, abstained=5, halted=True)

    def test_a_halted_run_and_an_empty_block(self) -> None:
        found, block = made(2.0, 1e-5, 5), Tallies(np.array([self.SURE]))
        assert len(found.release(State(abstained=5), block, SeededCoins(0)).labels) == 0
        assert len(found.release(State(halted=True), block, SeededCoins(0)).labels) == 0
        empty = found.release(State(abstained=1), block.first(0), SeededCoins(0))
        assert empty.state == State(abstained=1)

    def test_releasing_does_not_change_the_block(self) -> None:
        found, block = made(2.0, 1e-5, 5), Tallies(np.array([self.OPEN] * 4))
        before = block.values.copy()
        found.release(State(), block, SeededCoins(3))
        assert (block.values == before).all()

    @pytest.mark.statistical
    def test_frequencies_match_the_chances(self) -> None:
        """Two histograms, 7 cells each, 20,000 questions; false alarm below 14 x 4e-8 (5.5 deviations)."""
        found, n, coins = made(2.0, 1e-5, 5), 20_000, SeededCoins(4)
        unlimited = replace(found, ladder=replace(found.ladder, max_abstentions=10**9))
        for row in ([140, 60, 50], [100, 55, 95]):
            counts = np.tile(np.array([row]), (n, 1))
            outcome = unlimited.release(State(), Tallies(counts), coins)
            law = found.chances(Tallies(counts[:1]), State())[0]
            assert law.sum() == pytest.approx(1)
            assert law[3] == 0
            assert outcome.fallback is not None
            cells = np.where(outcome.fallback, outcome.labels + 4, outcome.labels)
            for o in range(7):
                spread = math.sqrt(n * law[o] * (1 - law[o]))
                assert abs(np.count_nonzero(cells == o) - n * law[o]) <= 5.5 * spread + 1e-9

    def test_chance_if_unanimous(self) -> None:
        found = made(2.0, 1e-5, 5)
        for teachers in (30, 31, 80):
            law = found.chances(Tallies(np.array([[0, 0, teachers]])), State())[0]
            assert found.chance_if_unanimous(teachers, 3) == pytest.approx(law[2] + law[6])
        assert found.required_distance(0.99) is None


class TestRefusals:
    def test_settings_by_name(self) -> None:
        for share in (0.0, 1.0, -1.0, math.nan):
            with pytest.raises(InvalidParameter, match="share is"):
                made(2.0, 1e-5, 5, share=share)
        with pytest.raises(InvalidParameter, match="max_abstentions is 0"):
            made(2.0, 1e-5, 0)
        task = Task(Budget(2.0, 1e-5), 250, 3, 1000)
        with pytest.raises(InvalidParameter, match="sigma is"):
            LadderThenMax.for_task(task, max_abstentions=5, sigma=-1.0)
        with pytest.raises(CannotCalibrate, match="cannot pay"):
            LadderThenMax.for_task(task, max_abstentions=5, sigma=1.0)

    @pytest.mark.parametrize("delta", [0.0, 1e-18])
    def test_hopeless_deltas_are_refused_before_any_noise_is_tried(
        self, delta: float, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """No noise is ever affordable, so the search for it must not start."""
        real = argmax_loss

        def small(sigma: float, n_classes: int) -> object:
            assert sigma <= 300, f"tabulates the laws of sigma {sigma:g}"
            return real(sigma, n_classes)

        monkeypatch.setattr(ladder_then_max, "argmax_loss", small)
        with pytest.raises((InvalidParameter, CannotCalibrate), match="delta"):
            LadderThenMax.for_task(Task(Budget(2.0, delta), 250, 3, 1000), max_abstentions=5)
