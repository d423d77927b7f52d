"""Noisy shares: their price, and that one teacher cannot move the sums of a question further than is paid for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mapl.accounting.hockey_stick import gaussian_delta
from mapl.errors import GuaranteeBroken, InvalidData, InvalidParameter
from mapl.mechanisms.scores.noisy_mean import NoisyMean
from mapl.mechanisms.scores.noisy_shares import NoisyShares
from mapl.mechanisms.scores.scores import TOP
from mapl.mechanisms.scores.shares import Shares, even_shares
from mapl.noise import SeededCoins
from mapl.types import Budget, State

BUDGET = Budget(2.0, 1e-5)
WILD = st.lists(st.integers(-5 * TOP, 5 * TOP), min_size=4, max_size=4)


def small(questions: int = 5, grain: int = 4) -> NoisyShares:
    return NoisyShares(sigma=6.0, grain=grain, n_teachers=3, max_answers=4 * questions, n_shares=4)


@pytest.mark.parametrize("questions", [1, 60, 2000])
@pytest.mark.parametrize("classes", [3, 10])
def test_calibrated_to_the_budget_and_certified(questions: int, classes: int) -> None:
    made = NoisyShares.for_questions(BUDGET, 400, n_questions=questions, n_shares=classes)
    assert made.certify(BUDGET)
    assert 0.999 * 2 < made.epsilon(None, 1e-5) <= 2
    assert not replace(made, sigma=made.sigma * 0.999).certify(BUDGET)
    # What two points of the simplex are apart at every question, by the Gaussian mechanism's own curve.
    assert gaussian_delta(made.grain * np.sqrt(2 * questions) / made.sigma, 2.0) == pytest.approx(1e-5, rel=1e-4)
    assert made.epsilon(None, 1e-5) <= made.total.epsilon(1e-5)


def test_a_begun_question_is_charged_as_a_whole() -> None:
    made = small()
    assert [made.moves(numbers) for numbers in (0, 1, 4, 5, 20)] == [0, 2, 2, 4, 10]
    assert made.epsilon(State(answered=1), 1e-5) == pytest.approx(made.epsilon(State(answered=4), 1e-5))


@given(WILD, WILD, st.integers(0, TOP - 1), st.integers(1, 100))
@example([TOP, 0, 0, 0], [0, TOP, 0, 0], 0, 7)
@example([TOP] * 4, [-TOP] * 4, TOP - 1, 3)
@settings(max_examples=200)
def test_parts_add_up_whatever_a_teacher_says(one: list[int], other: list[int], dice: int, grain: int) -> None:
    made = small(grain=grain)
    points = made.parts(np.array([one, other]), np.array([dice, dice]))
    assert points.min() >= 0
    assert points.sum(axis=1).tolist() == [grain, grain]
    assert ((points[0] - points[1]) ** 2).sum() <= 2 * grain**2


def test_certain_teachers_are_as_far_apart_as_is_paid_for() -> None:
    points = small().parts(TOP * np.eye(4, dtype=int)[:2], np.zeros(2, dtype=np.int64))
    assert ((points[0] - points[1]) ** 2).sum() == 2 * 4**2


def test_rounding_is_right_on_average_however_coarse() -> None:
    made = NoisyShares(sigma=5.0, grain=2, n_teachers=50, max_answers=1200, n_shares=3)
    sums = made.sums(Shares.checked(np.tile([37, 363, 600], (400, 50, 1))))
    assert sums.totals.reshape(-1, 3).mean(axis=0) / made.most == pytest.approx([0.037, 0.363, 0.6], abs=0.006)


def test_what_is_read_adds_up_and_has_the_stated_noise() -> None:
    made = NoisyShares(sigma=6.0, grain=4, n_teachers=3, max_answers=9000, n_shares=3)
    sums = made.sums(Shares.checked(np.tile([TOP, 0, 0], (3000, 3, 1))))
    told = made.release(State(), sums, SeededCoins(5))
    read = made.read(told.labels)
    assert read.shape == (3000, 3)
    assert np.allclose(read.sum(axis=1), 1)
    assert read.mean(axis=0) == pytest.approx([1, 0, 0], abs=0.04)
    assert read.std(axis=0) == pytest.approx([made.deviation] * 3, rel=0.06)
    assert made.read(told.labels[:5]).shape == (1, 3)  # half of a question is not read


def test_two_classes_would_cost_what_a_mean_costs() -> None:
    mean = NoisyMean.for_budget(BUDGET, 400, max_answers=60)
    both = NoisyShares.for_questions(BUDGET, 400, n_questions=60, n_shares=2)
    assert both.deviation == pytest.approx(mean.deviation, rel=1e-4)


def test_refusals() -> None:
    with pytest.raises(InvalidData, match="questions, teachers and classes"):
        Shares.checked(np.zeros((2, 3), dtype=int))
    with pytest.raises(InvalidData, match="add up to 1000"):
        Shares.checked(np.zeros((2, 3, 3), dtype=int))
    with pytest.raises(InvalidParameter, match="whole questions"):
        NoisyShares(sigma=6.0, grain=4, n_teachers=3, max_answers=10, n_shares=4)
    with pytest.raises(GuaranteeBroken, match="priced for 3 teachers and 4 classes"):
        small().sums(Shares.checked(np.tile(even_shares(3), (1, 3, 1))))
    with pytest.raises(InvalidParameter, match="delta is 0"):
        NoisyShares.for_questions(Budget(1.0, 0.0), 10, n_questions=1, n_shares=3)
    assert even_shares(7).sum() == TOP
    assert "333" not in repr(Shares.checked(np.tile(even_shares(3), (1, 3, 1))))
