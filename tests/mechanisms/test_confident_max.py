"""Confident max: both limits, the price of test and label against all small histograms, and its refusals."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from mapl.errors import CannotCalibrate, InvalidParameter
from mapl.mechanisms.mechanism import Task
from mapl.mechanisms.tables.argmax_price import argmax_loss, one_bit_loss
from mapl.mechanisms.votes.confident_max import ConfidentMax
from mapl.noise import SeededCoins
from mapl.types import ABSTAIN, Budget, State, Tallies


def task(epsilon: float = 2.0, delta: float = 1e-5, *, classes: int = 2, queries: int = 200) -> Task:
    return Task(Budget(epsilon, delta), 100, classes, queries)


def made(questions: int, answers: int, *, threshold: int = 60, classes: int = 3) -> ConfidentMax:
    return ConfidentMax(2.0, threshold, 2.0, questions, answers, classes)


SURE, HOPELESS = [0, 100, 0], [34, 33, 33]


class TestLimits:
    def run(self, found: ConfidentMax, rows: list[list[int]], sizes: list[int]) -> tuple[list[int], State]:
        state, coins, labels, start = found.start(SeededCoins(0)), SeededCoins(1), [], 0
        counts = np.array(rows)
        for size in sizes:
            outcome = found.release(state, Tallies(counts[start : start + size]), coins)
            labels += outcome.labels.tolist()
            state, start = outcome.state, start + size
        return labels, state

    @pytest.mark.parametrize("sizes", [[20], [7, 7, 6], [1] * 20])
    def test_answers_come_first(self, sizes: list[int]) -> None:
        labels, state = self.run(made(15, 4), [SURE, HOPELESS] * 10, sizes)
        assert labels == [1, ABSTAIN] * 3 + [1]
        assert state == State(answered=4, abstained=3, halted=True)

    @pytest.mark.parametrize("sizes", [[20], [7, 7, 6], [1] * 20])
    def test_questions_come_first(self, sizes: list[int]) -> None:
        labels, state = self.run(made(9, 8), [SURE, HOPELESS] * 10, sizes)
        assert labels == [1, ABSTAIN] * 4 + [1]
        assert state == State(answered=5, abstained=4, halted=True)

    def test_no_limit_is_reached(self) -> None:
        labels, state = self.run(made(50, 50), [SURE, HOPELESS] * 10, [20])
        assert len(labels) == 20
        assert state == State(answered=10, abstained=10)

    def test_a_halted_run_and_an_empty_block(self) -> None:
        found, block = made(9, 8), Tallies(np.array([SURE]))
        assert len(found.release(State(halted=True), block, SeededCoins(0)).labels) == 0
        assert len(found.release(State(answered=8), block, SeededCoins(0)).labels) == 0
        empty = found.release(State(answered=1), block.first(0), SeededCoins(0))
        assert empty.state == State(answered=1)


class TestPrice:
    def test_tests_and_labels_add_up(self) -> None:
        found = ConfidentMax(30.0, 60, 15.0, 200, 40, 3)
        test, label = one_bit_loss(30.0), argmax_loss(15.0, 3)
        for order in (1.5, 2.0, 8.0, 64.0):
            assert found.total.at(order) == pytest.approx(200 * test.at(order) + 40 * label.at(order), rel=1e-12)
            spent = found.spent(State(answered=3, abstained=7))
            assert spent.at(order) == pytest.approx(10 * test.at(order) + 3 * label.at(order), rel=1e-12)
        assert found.total.delta == pytest.approx(200 * test.delta + 40 * label.delta)
        assert found.epsilon(State(answered=40, abstained=160), 1e-5) == pytest.approx(found.epsilon(None, 1e-5))

    @pytest.mark.parametrize(("teachers", "classes"), [(9, 2), (6, 3), (5, 4)])
    @pytest.mark.parametrize("sigma", [2.0, 4.0])
    def test_no_neighbouring_histograms_exceed_it(self, teachers: int, classes: int, sigma: float) -> None:
        """Renyi divergence of the whole outcome (label or abstention), all histograms, several bars and orders.

        By the chain rule for the published test bit, one outcome costs at most a test and a label.
        """
        every = np.array([n for n in itertools.product(range(teachers + 1), repeat=classes) if sum(n) == teachers])
        index = {tuple(n): i for i, n in enumerate(every)}
        unit = np.eye(classes, dtype=int)
        pairs = np.array(
            [
                (i, index[tuple(n - unit[a] + unit[b])])
                for i, n in enumerate(every)
                for a, b in itertools.permutations(range(classes), 2)
                if n[a]
            ]
        )
        for bar in (0, teachers // 2 + 1, teachers):
            found = ConfidentMax(1.5 * sigma, bar, sigma, 1, 1, classes)
            laws = found.chances(Tallies(every), State())
            assert laws.sum(axis=1) == pytest.approx(np.ones(len(every)))
            p, q = laws[pairs[:, 0]], laws[pairs[:, 1]]
            test, label = one_bit_loss(1.5 * sigma), argmax_loss(sigma, classes)
            for order in (1.25, 2.0, 4.0, 10.0):
                worst = float(np.log((p**order * q ** (1 - order)).sum(axis=1)).max()) / (order - 1)
                assert 0 < worst <= test.at(order) + label.at(order) <= found.total.at(order) * (1 + 1e-12)
                bits = np.stack([1 - laws[:, classes], laws[:, classes]], axis=1)
                p_bit, q_bit = bits[pairs[:, 0]], bits[pairs[:, 1]]
                worst_bit = float(np.log((p_bit**order * q_bit ** (1 - order)).sum(axis=1)).max()) / (order - 1)
                assert worst_bit <= test.at(order)


class TestCalibration:
    @pytest.mark.parametrize(("epsilon", "classes", "answers"), [(2.0, 2, None), (1.0, 2, 20), (4.0, 3, 15)])
    def test_it_ends_on_the_private_side(self, epsilon: float, classes: int, answers: int | None) -> None:
        found = ConfidentMax.for_task(task(epsilon, classes=classes, queries=100), max_answers=answers)
        assert (found.max_questions, found.max_answers) == (100, answers or 100)
        assert found.threshold == 60
        assert 0.9 * epsilon <= found.epsilon(None, 1e-5) <= epsilon

    def test_given_noise_counts_the_affordable_answers(self) -> None:
        found = ConfidentMax.for_task(task(), sigma=20.0, sigma_test=60.0, threshold=70)
        n = found.max_answers
        assert 0 < n < 200
        assert found.epsilon(None, 1e-5) <= 2
        assert ConfidentMax(60.0, 70, 20.0, 200, n + 1, 2).epsilon(None, 1e-5) > 2
        with pytest.raises(CannotCalibrate, match=f"afford {n} answers .* not {n + 1}"):
            ConfidentMax.for_task(task(), sigma=20.0, sigma_test=60.0, max_answers=n + 1)
        with pytest.raises(CannotCalibrate, match="afford 0 answers"):
            ConfidentMax.for_task(task(), sigma=20.0, sigma_test=2.0)

    def test_a_limit_beyond_the_questions_is_no_obstacle(self) -> None:
        """A limit above the number of questions is clamped, with given noise as with calibrated."""
        assert ConfidentMax.for_task(task(queries=10), max_answers=500).max_answers == 10
        found = ConfidentMax.for_task(task(queries=10), sigma=30.0, sigma_test=60.0, max_answers=500)
        assert found.max_answers == 10

    def test_settings_are_refused_by_name(self) -> None:
        for threshold in (-1, 101):
            with pytest.raises(InvalidParameter, match=f"threshold is {threshold}; .* between 0 and 100"):
                ConfidentMax.for_task(task(), threshold=threshold)
        with pytest.raises(InvalidParameter, match="delta is 0"):
            ConfidentMax.for_task(task(2.0, 0.0))
        with pytest.raises(InvalidParameter, match="both sigma and sigma_test"):
            ConfidentMax.for_task(task(), sigma=10.0)
        with pytest.raises(InvalidParameter, match="max_answers is 0"):
            ConfidentMax.for_task(task(), max_answers=0)
        with pytest.raises(InvalidParameter, match="sigma_test is"):
            ConfidentMax.for_task(task(), sigma=10.0, sigma_test=math.nan)

    @pytest.mark.parametrize("threshold", [60.5, math.nan, math.inf])
    def test_a_threshold_that_is_no_whole_number_is_refused(self, threshold: Any) -> None:
        with pytest.raises(InvalidParameter, match="threshold is"):
            ConfidentMax.for_task(task(), sigma=20.0, sigma_test=60.0, threshold=threshold)

    @pytest.mark.parametrize("sigma", [0.01, 0.1])
    def test_hardly_any_noise_is_refused_without_a_warning(self, sigma: float) -> None:
        """Tails that underflow to zero must not be reached."""
        with pytest.raises((InvalidParameter, CannotCalibrate)):
            ConfidentMax.for_task(task(), sigma=sigma, sigma_test=sigma)


class TestLaw:
    def test_chances_are_a_test_times_an_argmax(self) -> None:
        found = ConfidentMax(1.5, 4, 1.2, 10, 10, 2)
        counts, width = np.array([[3, 4], [5, 2], [7, 0]]), 12
        w = np.arange(-width, width + 1)
        test, label = (np.exp(-(w**2) / (2 * s**2)) / np.exp(-(w**2) / (2 * s**2)).sum() for s in (1.5, 1.2))
        for row, law in zip(counts, found.chances(Tallies(counts), State()), strict=True):
            passing = test[row.max() + w >= 4].sum()
            first = np.outer(label, label)[np.add.outer(row[0] + w, -(row[1] + w)) >= 0].sum()
            assert law == pytest.approx([passing * first, passing * (1 - first), 1 - passing], abs=1e-10)

    @pytest.mark.statistical
    def test_frequencies_match_the_chances(self) -> None:
        """6 cells of 20,000 draws; false alarm below 6 x 4e-8 (5.5 deviations)."""
        n, found = 20_000, ConfidentMax(3.0, 6, 2.0, 10**6, 10**6, 2)
        coins = SeededCoins(5)
        for row in ([5, 4], [2, 7]):
            counts = np.tile(np.array([row]), (n, 1))
            labels = found.release(State(), Tallies(counts), coins).labels
            law = found.chances(Tallies(counts[:1]), State())[0]
            for y, chance in zip((0, 1, ABSTAIN), law, strict=True):
                spread = math.sqrt(n * chance * (1 - chance))
                assert abs(np.count_nonzero(labels == y) - n * chance) <= 5.5 * spread

    def test_chance_if_unanimous(self) -> None:
        found = made(10, 10)
        counts = Tallies(np.array([[0, 0, 63]]))
        assert found.chance_if_unanimous(63, 3) == pytest.approx(found.chances(counts, State())[0, 2], rel=1e-9)
        assert found.required_distance(0.99) is None
