"""Votes of teachers of whom only the error rate is known: near-ties are as frequent as the law has them."""

from __future__ import annotations

import math
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from mapl.errors import InvalidParameter
from mapl.mechanisms import Task, make
from mapl.noise import SeededCoins
from mapl.planning.choosing.choice import choose
from mapl.planning.choosing.expectation import expect
from mapl.planning.votes.erring import FINENESS, SPREAD, erring_votes
from mapl.release import aggregate
from mapl.types import Budget, State, Tallies

VOTES = Path(__file__).parents[3] / "shared" / "data" / "votes"
RATES = (0.01, 0.03, 0.05, 0.1, 0.2, 0.4)


POINTS = 100_001


@lru_cache
def quantiles(rate: float) -> np.ndarray:
    """Return evenly spaced quantiles of the share of teachers that are right, by the continuous law."""
    return stats.beta(SPREAD * (1 - rate), SPREAD * rate).ppf((np.arange(POINTS) + 0.5) / POINTS)


def integrated(rate: float, n_teachers: int, mechanism: Any) -> float:
    """Return the mean chance of an abstention, integrated over the Beta law: votes are the nearest whole number."""
    often = np.bincount(np.floor(quantiles(rate) * n_teachers + 0.5).astype(np.int64), minlength=n_teachers + 1)
    right = np.arange(n_teachers + 1)
    chances = mechanism.chances(Tallies(np.c_[right, n_teachers - right]), State())[:, 2]
    return float(often @ (chances + chances[::-1]) / 2 / POINTS)  # either class is true on half of the questions


@pytest.mark.parametrize("n_teachers", [50, 101, 250, 1000])
def test_abstentions_are_as_many_as_the_continuous_law_implies(n_teachers: int) -> None:
    """Also where they are few: with six groups of questions 5% of error gave none where the law gives 1%."""
    for limit in (2, 20):
        mechanism = make("ladder", Task(Budget(3.0, 1e-5), n_teachers, 2, 600), max_abstentions=limit)
        for rate in RATES:
            votes = erring_votes(rate, n_teachers, 2)
            grouped = votes.weights() @ mechanism.chances(votes.tallies(n_teachers, 2), State())[:, 2]
            assert float(grouped) == pytest.approx(integrated(rate, n_teachers, mechanism), rel=0.02)


@pytest.mark.parametrize("rate", [0.02, 0.05, 0.1])
def test_the_limit_that_is_chosen_leaves_room_for_them_and_the_forecast_comes_true(rate: float) -> None:
    """600 questions, drawn anew 100 times from the continuous law, released by the mechanism that was chosen.

    Seeds are fixed; with others one of the three tests would fail with a chance below 1e-4 (four deviations).
    """
    task = Task(Budget(1.0, 1e-5), 500, 2, 600)
    votes = erring_votes(rate, 500, 2)
    chosen = choose("ladder", task, agreement=votes, must_answer=False, settings={})
    forecast = expect(chosen.mechanism, task, votes)
    assert f"expected to answer {forecast.answered:.0f} of 600" in chosen.why
    limit = chosen.mechanism.max_abstentions  # type: ignore[union-attr]
    assert limit > 0.9 * 600 * integrated(rate, 500, chosen.mechanism)
    random = np.random.default_rng(int(1000 * rate))
    answered = []
    for draw in range(100):
        share = random.choice(quantiles(rate), 600)
        right = np.floor(share * 500 + 0.5).astype(np.int64)
        counts = np.c_[right, 500 - right]
        swapped = random.random(600) < 0.5
        counts[swapped] = counts[swapped, ::-1]
        released = aggregate(Tallies(counts), chosen.mechanism, SeededCoins(draw))
        answered.append(int((released.labels >= 0).sum()))
    assert abs(np.mean(answered) - forecast.answered) < 4 * np.std(answered, ddof=1) / 10


def test_few_rows_stand_for_many_teachers() -> None:
    """Forecasts ask a mechanism once for all rows; there are no more than a public sample may have."""
    sizes = [len(erring_votes(0.1, n_teachers, 2).rows) for n_teachers in (30, 100, 1000, 10_000)]
    assert sizes == sorted(sizes)
    assert sizes[1] <= 4 * FINENESS + 40
    assert sizes[-1] <= 300


@pytest.mark.parametrize("rate", [0.0, 1e-9, 0.001, 0.05, 0.2, 0.5, 0.7, 1.0])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_a_rate_gives_sound_votes(rate: float, n_classes: int) -> None:
    votes = erring_votes(rate, 100, n_classes)
    block = votes.tallies(100, n_classes)
    assert float(votes.weights().sum()) == pytest.approx(1)
    assert (block.counts.sum(axis=1) == 100).all()
    shares = block.counts.max(axis=1) / 100
    assert (shares >= 0.5).all()
    # The winner has at least the share of those who are right, as far as they are the majority.
    assert votes.weights() @ shares >= 1 - min(rate, 0.5) - 1e-2
    assert f"err on {rate:.1%}" in str(votes)


def test_better_teachers_agree_more() -> None:
    made = [erring_votes(rate, 200, 2) for rate in np.linspace(0, 0.5, 20).tolist()]
    means = [votes.weights() @ votes.tallies(200, 2).counts.max(axis=1) for votes in made]
    assert means == sorted(means, reverse=True)
    assert erring_votes(0.6, 200, 2).rows == erring_votes(0.5, 200, 2).rows
    for rate in (-0.1, 1.1, math.nan):
        with pytest.raises(InvalidParameter, match="error rate"):
            erring_votes(rate, 200, 2)


def test_the_model_lies_between_two_real_sets_of_votes() -> None:
    """Winner's shares of 250 real teachers each: distance below 0.07 on average, one set above, one below."""
    if not VOTES.is_dir():
        pytest.skip("needs ../shared/data/votes")
    above = {}
    for name in ("adult", "mnist"):
        counts = np.load(VOTES / f"{name}_250_teachers.npy")
        truth = np.load(VOTES / f"{name}_labels.npy").astype(int)
        wrong = 1 - float(counts[np.arange(len(truth)), truth].mean()) / 250
        real = np.quantile(counts.max(axis=1) / 250, (np.arange(600) + 0.5) / 600)
        votes = erring_votes(wrong, 250, 2)
        shares = votes.tallies(250, 2).counts.max(axis=1) / 250
        order = np.argsort(shares)
        place = np.searchsorted(np.cumsum(votes.weights()[order]), (np.arange(600) + 0.5) / 600)
        model = shares[order][place]
        assert np.abs(real - model).mean() < 0.07
        above[name] = float((real - model).mean())
    assert above["adult"] > 0 > above["mnist"]
