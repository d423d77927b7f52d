"""Votes counted on public rows: the luck of few teachers is taken out, and they are carried over to other sizes."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import ndtr

from mapl.errors import InvalidParameter
from mapl.planning.votes.hidden_chances import chances_behind
from mapl.planning.votes.learning_curve import LearningCurve
from mapl.planning.votes.measured import CountedVotes, MeasuredVotes
from mapl.planning.votes.model import ExpectedVotes

Counts = NDArray[np.int64]


def drawn(noise: float, n_teachers: int, n: int = 4000, seed: int = 0) -> tuple[Counts, Counts]:
    """Draw votes of teachers who see a standard normal score through noise, and noiseless labels."""
    rng = np.random.default_rng(seed)
    score = rng.standard_normal(n)
    ones = rng.binomial(n_teachers, ndtr(score / noise))
    return np.stack([n_teachers - ones, ones], axis=1), (score > 0).astype(np.int64)


def shares(votes: ExpectedVotes) -> NDArray[np.float64]:
    share = np.array([s for s, _ in votes.agreement.groups])
    ends = np.cumsum(votes.agreement.weights()) - votes.agreement.weights() / 2
    found: NDArray[np.float64] = np.interp((np.arange(200) + 0.5) / 200, 1 - ends[::-1], share[::-1])
    return found


def test_chances_behind_few_votes() -> None:
    counts, truth = drawn(0.5, 40)
    found = chances_behind(counts, truth)
    assert float(found.weights.sum()) == pytest.approx(1)
    # Deviations of the chance itself, not of the share of 40 votes, which varies more.
    score = np.random.default_rng(9).standard_normal(100_000)
    chance = ndtr(np.abs(score) / 0.5)
    mean = float(found.weights @ found.first)
    assert mean == pytest.approx(float(chance.mean()), abs=0.01)
    assert float(found.weights @ (found.first - mean) ** 2) == pytest.approx(float(chance.var()), rel=0.1)
    # 40 teachers are sometimes outvoted by luck; many never are.
    assert float(found.weights @ found.first_right) > float((counts.argmax(axis=1) == truth).mean())


def test_three_classes_keep_their_third() -> None:
    rng = np.random.default_rng(4)
    counts = rng.multinomial(100, [0.6, 0.3, 0.1], 2000)
    truth = rng.choice(3, size=2000, p=[0.7, 0.2, 0.1])
    found = chances_behind(counts, truth)
    for value, expected in (
        (found.first, 0.6),
        (found.second, 0.3),
        (found.first_right, 0.7),
        (found.second_right, 0.2),
    ):
        assert float(found.weights @ value) == pytest.approx(expected, abs=0.02)


@pytest.mark.parametrize("n_teachers", [50, 200, 1000])
def test_votes_are_carried_over_to_other_numbers_of_teachers(n_teachers: int) -> None:
    counts, truth = drawn(0.3, 150)
    flat = LearningCurve.parse("100:0.1,10000:0.02")
    measured = MeasuredVotes(flat, 2, (CountedVotes(100, 10**6, 150, np.arange(4000), counts, truth),))
    real, _ = drawn(0.3, n_teachers, n=20_000, seed=5)
    expected = np.quantile(real.max(axis=1) / n_teachers, (np.arange(200) + 0.5) / 200)
    assert np.abs(shares(measured.votes(100, n_teachers)) - expected).mean() < 0.01


def test_votes_are_carried_over_to_other_numbers_of_rows() -> None:
    """One teacher's noise s makes it wrong on arctan(s) / pi of the questions; the curve tells the other noise."""
    curve = LearningCurve(
        ((100, float(np.arctan(0.6) / np.pi)), (400, float(np.arctan(0.3) / np.pi)), (10**6, 0.0))
    )
    counts, truth = drawn(0.6, 200)
    measured = MeasuredVotes(curve, 2, (CountedVotes(100, 10**6, 200, np.arange(4000), counts, truth),))
    real, _ = drawn(0.3, 200, n=20_000, seed=5)
    expected = np.quantile(real.max(axis=1) / 200, (np.arange(200) + 0.5) / 200)
    assert np.abs(shares(measured.votes(400, 200)) - expected).mean() < 0.01
    assert measured.nearest(250).rows == 100


def test_teachers_that_shared_rows_count_as_too_alike() -> None:
    counts, truth = drawn(0.3, 100)
    curve = LearningCurve.parse("100:0.1,10000:0.02")
    whole, part = (
        MeasuredVotes(curve, 2, (CountedVotes(100, pool, 100, np.arange(4000), counts, truth),)).votes(100, 100)
        for pool in (10**6, 400)
    )
    assert shares(part).mean() < shares(whole).mean()


def test_a_run_gains_from_disjoint_rows() -> None:
    counts, truth = drawn(0.3, 100)
    curve = LearningCurve.parse("100:0.2,10000:0.1")
    measured = MeasuredVotes(curve, 2, (CountedVotes(100, 1000, 100, np.arange(4000), counts, truth),))
    assert measured.gain(100, 1000) > measured.gain(100, 100) > 0
    assert measured.votes(100, 1000).plurality_accuracy <= 1
    for rows, teachers in ((0, 10), (float("inf"), 10), (10, 0)):
        with pytest.raises(InvalidParameter):
            measured.votes(rows, teachers)
