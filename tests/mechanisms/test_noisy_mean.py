"""Noisy means: their price, their law, and that one teacher cannot move a sum by more than it is paid for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from mapl.accounting.hockey_stick import gaussian_delta
from mapl.errors import CannotCalibrate, GuaranteeBroken, InvalidParameter
from mapl.mechanisms.scores.noisy_mean import FINEST, WIDEST, NoisyMean, Sums
from mapl.mechanisms.scores.scores import TOP, Scores
from mapl.noise import SeededCoins
from mapl.types import Budget, State

BUDGET = Budget(2.0, 1e-5)


def small(max_answers: int = 5, **more: int) -> NoisyMean:
    return NoisyMean(sigma=6.0, grain=4, n_teachers=3, max_answers=max_answers, **more)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0, 8.0])
@pytest.mark.parametrize("answers", [1, 60, 8140])
def test_calibrated_to_the_budget_and_certified(epsilon: float, answers: int) -> None:
    budget = Budget(epsilon, 1e-5)
    mean = NoisyMean.for_budget(budget, 400, max_answers=answers)
    assert mean.certify(budget)
    assert 0.999 * epsilon < mean.epsilon(None, 1e-5) <= epsilon
    assert not replace(mean, sigma=mean.sigma * 0.999).certify(budget)
    assert not replace(mean, max_answers=answers + 1 + answers // 100).certify(budget)
    assert mean.sigma <= WIDEST
    assert 1 <= mean.grain <= FINEST
    # The Renyi figure is sound too, and larger.
    assert mean.epsilon(None, 1e-5) <= mean.total.epsilon(1e-5)


def test_price_is_that_of_the_gaussian_mechanism() -> None:
    mean = NoisyMean.for_budget(BUDGET, 250, max_answers=1000)
    shift = mean.grain * np.sqrt(1000) / mean.sigma
    assert shift == pytest.approx(0.50155, rel=1e-4)  # THEORY.md, section 4: mu at (2, 1e-5)
    assert gaussian_delta(shift, 2.0) == pytest.approx(1e-5, rel=1e-4)
    half = State(answered=250)
    assert mean.epsilon(half, 1e-5) < mean.epsilon(None, 1e-5)
    assert mean.epsilon(State(), 1e-5) == 0


@given(
    st.lists(st.integers(0, TOP), min_size=3, max_size=3),
    st.integers(0, TOP),
    st.integers(0, 2),
    st.integers(0, TOP - 1),
    st.integers(1, TOP),
    st.integers(1, 100),
)
@settings(max_examples=200)
def test_one_teacher_moves_a_sum_by_at_most_the_grain(
    marks: list[int], other: int, who: int, low: int, span: int, grain: int
) -> None:
    high = min(TOP, low + span)
    mean = NoisyMean(sigma=5.0, grain=grain, n_teachers=3, max_answers=1, low=low, high=high)
    changed = list(marks)
    changed[who] = other
    one, two = mean.sums(Scores.checked(np.array([marks]))), mean.sums(Scores.checked(np.array([changed])))
    assert abs(int(one.totals[0] - two.totals[0])) <= grain
    assert 0 <= one.totals[0] <= mean.most


def test_rounding_is_right_on_average_however_coarse() -> None:
    for score in (3, 37, 500, 999):
        mean = NoisyMean(sigma=5.0, grain=2, n_teachers=50, max_answers=1)
        sums = mean.sums(Scores.checked(np.full((400, 50), score)))
        assert sums.totals.mean() / mean.most == pytest.approx(score / TOP, abs=0.005)


def test_release_has_the_law_that_chances_tells() -> None:
    mean = small(max_answers=20_000)
    block = Sums(np.full(20_000, 7), 3, mean.n_classes)
    outcome = mean.release(State(), block, SeededCoins(5))
    law = mean.chances(block.part(0, 1), State())[0]
    assert law.sum() == pytest.approx(1)
    assert law[-1] == 0  # it never abstains
    seen = np.bincount(outcome.labels, minlength=len(law))
    likely = law * 20_000 >= 20
    assert (
        stats.chisquare(
            np.append(seen[likely], seen[~likely].sum()),
            np.append(law[likely], law[~likely].sum()) * 20_000,
        ).pvalue
        > 1e-6
    )
    assert mean.read(outcome.labels).mean() == pytest.approx(7 / 12, abs=0.02)
    assert mean.read(outcome.labels).std() == pytest.approx(mean.deviation, rel=0.05)


def test_published_numbers_are_never_negative_and_fit_their_type() -> None:
    mean = small()
    for total in (0, mean.most):
        law = mean.chances(Sums(np.array([total]), 3, mean.n_classes), State())[0]
        assert law.sum() == pytest.approx(1)  # nothing is cut off at either end
    assert np.array_equal(mean.read(np.array([-mean.least, mean.most - mean.least])), [0.0, 1.0])


def test_a_range_is_read_back() -> None:
    mean = small(low=100, high=300)
    sums = mean.sums(Scores.checked(np.array([[0, 50, 100], [300, 700, TOP], [200, 200, 200]])))
    assert sums.totals[:2].tolist() == [0, mean.most]
    assert mean.read(sums.totals - mean.least).tolist()[:2] == [0.1, 0.3]


def test_halts_after_the_last_answer() -> None:
    mean = small(max_answers=2)
    block = Sums(np.array([1, 2, 3]), 3, mean.n_classes)
    outcome = mean.release(State(), block, SeededCoins(1))
    assert len(outcome.labels) == 2
    assert outcome.state == State(answered=2, halted=True)
    assert len(mean.release(outcome.state, block, SeededCoins(1)).labels) == 0


def test_refusals() -> None:
    mean = small()
    with pytest.raises(GuaranteeBroken, match="outside"):
        mean.release(State(), Sums(np.array([mean.most + 1]), 3, mean.n_classes), SeededCoins(1))
    with pytest.raises(GuaranteeBroken, match="priced for 3 teachers"):
        mean.sums(Scores.checked(np.zeros((1, 4), dtype=int)))
    with pytest.raises(InvalidParameter, match="delta is 0"):
        NoisyMean.for_budget(Budget(1.0, 0.0), 10, max_answers=1)
    with pytest.raises(CannotCalibrate, match="ask fewer questions"):
        NoisyMean.for_budget(Budget(0.01, 1e-6), 10, max_answers=10_000)
    with pytest.raises(InvalidParameter, match="range within"):
        small(low=500, high=500)
    assert "7" not in repr(Sums(np.array([7]), 3, 10))


def test_no_budget_beyond_what_sampling_is_paid_for() -> None:
    """Beyond epsilon 27 a draw costs more delta than SAMPLING; the run would spend and then promise nothing."""
    largest = NoisyMean.for_budget(Budget(27.0, 1e-5), 50, max_answers=20)
    assert largest.epsilon(None, 1e-5) <= 27
    with pytest.raises(InvalidParameter, match="calibrated up to 27"):
        NoisyMean.for_budget(Budget(28.0, 1e-5), 50, max_answers=20)
    assert not largest.certify(Budget(28.0, 1e-5))
