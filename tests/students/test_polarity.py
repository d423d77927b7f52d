"""How much words speak for classes, and by how much noise moves that."""

from __future__ import annotations

import numpy as np
import pytest

from mapl.students.moments.polarity import WordSums
from mapl.students.moments.rounds import SumRound
from mapl.students.moments.strengths import NoisyCount
from mapl.types import Floats

N_WORDS, FREQUENT, NOISE = 400, 20, 4.0


def noisy(shares: Floats, totals: Floats, seed: int) -> WordSums:
    """Add fresh noise to sums whose truth is known; it protects nobody."""
    draws = np.random.default_rng(seed)
    n_classes = shares.shape[1]
    told = totals[:, None] * shares + NOISE * draws.normal(size=shares.shape)
    signed = told - told.mean(axis=1, keepdims=True)
    both = totals + NOISE * draws.normal(size=len(totals))
    return WordSums(signed, both, NOISE * (1 - 1 / n_classes) ** 0.5, NOISE, 0.3)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_deviation_is_that_of_fresh_noise(n_classes: int) -> None:
    """The deviation of 60 draws is off by 9%, that of all frequent words together by far less than 15%."""
    world = np.random.default_rng(0)
    totals = np.where(np.arange(N_WORDS) < FREQUENT, 150.0, 2.0)
    shares = world.dirichlet(np.ones(n_classes), size=N_WORDS)
    told = [noisy(shares, totals, seed).polarities() for seed in range(60)]
    found = np.std([one.means[:FREQUENT] for one in told], axis=0).mean()
    assert np.mean([one.noise[:FREQUENT] for one in told]) == pytest.approx(found, rel=0.15)


def lopsided(totals: Floats, seed: int) -> WordSums:
    """Sums of words that tell nothing where nine records in ten are of one class, totals as noisy as in a run."""
    draws = np.random.default_rng(seed)
    told = totals[:, None] * np.array([0.1, 0.9]) + NOISE * draws.normal(size=(len(totals), 2))
    signed = told - told.mean(axis=1, keepdims=True)
    many = 5.7 * NOISE
    return WordSums(signed, totals + many * draws.normal(size=len(totals)), NOISE * 0.5**0.5, many, 0.3)


def test_the_deviation_is_that_of_fresh_noise_where_classes_are_uneven() -> None:
    totals = np.where(np.arange(N_WORDS) < FREQUENT, 600.0, 0.0)
    told = [lopsided(totals, seed).polarities() for seed in range(60)]
    scaled = np.array([one.means[:FREQUENT, 0] / one.noise[:FREQUENT] for one in told])
    assert scaled.std() == pytest.approx(1.0, rel=0.15)
    # Words that nobody has lie near 0, and beyond two deviations hardly more often than chance has it.
    absent = np.array([one.means[FREQUENT:, 0] / one.noise[FREQUENT:] for one in told])
    assert abs(absent.mean()) < 0.08
    assert (np.abs(absent) > 2).mean() < 0.06


def test_rare_words_say_little_and_frequent_ones_what_they_are() -> None:
    totals = np.where(np.arange(N_WORDS) < FREQUENT, 150.0, 0.0)
    shares = np.where(np.arange(N_WORDS)[:, None] % 2, [0.1, 0.9], [0.9, 0.1])
    told = noisy(shares, totals, 1).polarities()
    assert told.means[1:FREQUENT:2, 1].mean() == pytest.approx(0.8, abs=0.05)
    assert told.means[0:FREQUENT:2, 0].mean() == pytest.approx(0.8, abs=0.05)
    assert np.abs(told.means[FREQUENT:]).mean() < 0.1
    assert (told.noise > 0).all()


def test_words_that_stand_in_the_commoner_class_as_often_as_all_words_say_nothing() -> None:
    """Nine records in ten are of the second class; one word is as often in the first as the first is rare."""
    totals = np.where(np.arange(N_WORDS) < FREQUENT, 500.0, 2.0)
    shares = np.tile([0.1, 0.9], (N_WORDS, 1))
    shares[0] = [0.5, 0.5]
    told = [noisy(shares, totals, seed).polarities() for seed in range(20)]
    means = np.mean([one.means for one in told], axis=0)
    assert noisy(shares, totals, 0).usual() == pytest.approx([-0.4, 0.4], abs=0.05)
    assert means[0, 0] > 0.5
    assert np.abs(means[1:FREQUENT]).max() < 0.1
    assert np.abs(means[FREQUENT:]).max() < 0.1


def test_where_noise_hides_every_word_none_says_much() -> None:
    told = noisy(np.tile([0.1, 0.9], (N_WORDS, 1)), np.full(N_WORDS, 1.0), 3)
    assert (told.usual() == 0).all()
    assert np.abs(told.polarities().means).mean() < 0.2


def test_counts_are_weighed_by_how_exact_they_are() -> None:
    nothing = np.zeros((1, 2))
    found = NoisyCount.of([SumRound(nothing, 1.0, 90.0, 1.0), SumRound(nothing, 1.0, 100.0, 0.5)], apart=False)
    assert found.units == pytest.approx(98.0)
    assert found.noise == pytest.approx(1 / 5**0.5)
