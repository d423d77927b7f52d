"""Normal noise on a fine grid: where it lies word by word, its coins in ball arithmetic, and its frequencies."""

from __future__ import annotations

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import stats

from mapl.noise import Coins, SeededCoins, SystemCoins, rounded_gaussian
from mapl.noise.coins import BLOCK, Words
from mapl.noise.gaussian import DEVIATION_BITS, DOUBT, FINE_BITS, WIDE_STEPS, _fall, _kept, draw_gaussian

FALSE_ALARM = 1e-6
FARTHEST = rounded_gaussian(float(WIDE_STEPS)).half_width
WORD = 1 << 64
WIDE = st.integers(-FARTHEST, FARTHEST)


class Scripted(Coins):
    """Words from a list, and no more of them."""

    private = False

    def __init__(self, *words: int) -> None:
        self.left = list(words)

    def words(self, n: int) -> Words:
        assert len(self.left) >= n, "more words were asked for than it takes"
        given_now, self.left = self.left[:n], self.left[n:]
        return np.array(given_now, dtype=np.uint64)


def chance(wide: int, place: arb) -> arb:
    """The normal density at a place of a wide step, over the largest one in the step; written down another way."""
    ends = [arb(2 * wide - 1) / 2, arb(2 * wide + 1) / 2]
    nearest = arb(0) if wide == 0 else min(ends, key=lambda end: abs(float(end)))
    at = ends[0] + place
    return ((nearest**2 - at**2) / (2 * arb(WIDE_STEPS) ** 2)).exp()


@settings(max_examples=300, deadline=None)
@given(wide=WIDE, place=st.integers(0, WORD - 1))
@example(wide=FARTHEST, place=WORD - 1)
@example(wide=-FARTHEST, place=0)
@example(wide=0, place=1 << 63)
@example(wide=8193, place=0x5555555555555555)
def test_floating_point_is_far_less_wrong_than_where_it_may_decide(wide: int, place: int) -> None:
    found = float(np.exp(-_fall(np.array([wide]), np.array([place]).astype(np.uint64).astype(float) * 2.0**-64))[0])
    with ctx.workprec(300):
        exact = chance(wide, arb(place) / WORD)
        assert bool(abs(arb(found) - exact) < arb(2) ** -50)
        assert bool(exact > arb("0.98"))
    assert DOUBT > 16 * 2.0**-50


@settings(max_examples=200, deadline=None)
@given(wide=WIDE, place=st.integers(0, WORD - 1), offset=st.integers(-5, 5), seed=st.integers(0, 1000))
def test_a_coin_close_to_its_chance_is_decided_by_further_bits(
    wide: int, place: int, offset: int, seed: int
) -> None:
    """Words are asked for in pairs, and what is decided is what all of them together say."""
    more = list(map(int, np.random.default_rng(seed).integers(0, WORD, 12, dtype=np.uint64)))
    with ctx.workprec(2000):
        first = int((chance(wide, arb(place) / WORD) * WORD).floor().unique_fmpz())
        coin = min(max(first + offset, 0), WORD - 1)
        coins = Scripted(*more)
        kept = bool(_kept(coins, np.array([wide]), np.array([place], np.uint64), np.array([coin], np.uint64))[0])
        at, tossed = number(place, *more[::2]), number(coin, *more[1::2])
        assert kept == bool(tossed < chance(wide, at))
    assert len(coins.left) % 2 == 0
    assert coins.left != more or offset != 0


def number(*words: int) -> arb:
    """Return the number between 0 and 1 whose bits some words are."""
    return sum((arb(word) / arb(2) ** (64 * (k + 1)) for k, word in enumerate(words)), arb(0))


def test_noise_lies_where_its_words_say() -> None:
    table = rounded_gaussian(float(WIDE_STEPS))
    ends = table.numerators()
    for wide in (-3000, -1, 0, 7, 2500):
        word = (ends[wide + table.half_width] >> 64) - 1  # the last one in that step of the table
        for place in (0, 1 << 34, WORD - 1, 3 << 50):
            drawn = draw_gaussian(Scripted(word, place, 0), 1)  # a coin of zeros keeps every place
            assert drawn.tolist() == [(wide << FINE_BITS) - (1 << (FINE_BITS - 1)) + (place >> 34)]


def test_what_is_not_kept_is_drawn_anew() -> None:
    table = rounded_gaussian(float(WIDE_STEPS))
    word = (table.numerators()[table.half_width + 4000] >> 64) - 1
    far, near = WORD - 1, 1 << 40
    coins = Scripted(word, far, WORD - 1, near, 0)  # at the far end a coin of ones is above its chance
    assert draw_gaussian(coins, 1).tolist() == [(4000 << FINE_BITS) - (1 << (FINE_BITS - 1)) + (near >> 34)]
    assert coins.left == []


@pytest.mark.statistical
def test_draws_are_normal() -> None:
    """Kolmogorov and Smirnov, and the variance; false alarms at a rate of 10^-6 each."""
    n = 400_000
    drawn = draw_gaussian(SeededCoins(3), n) / 2.0**DEVIATION_BITS
    assert stats.kstest(drawn, "norm").pvalue > FALSE_ALARM
    low, high = stats.chi2(n).interval(1 - FALSE_ALARM)
    assert low < (drawn**2).sum() < high


@pytest.mark.statistical
def test_fine_positions_are_as_dense_as_the_normal_law_within_a_wide_step() -> None:
    """Of the draws beyond two deviations, where the density falls by 0.2% within a step; false alarms: 10^-6."""
    drawn = draw_gaussian(SeededCoins(4), 1_000_000)
    far = drawn[np.abs(drawn) > 2 << DEVIATION_BITS]
    towards_zero = np.where(far > 0, far, -1 - far) + (1 << (FINE_BITS - 1))
    upper = ((towards_zero >> (FINE_BITS - 1)) & 1).sum()
    steps = np.abs(far) / 2.0**FINE_BITS
    share = float((1 / (1 + np.exp(steps / WIDE_STEPS**2 / 2))).mean())
    assert stats.binomtest(int(upper), len(far), share).pvalue > FALSE_ALARM
    low_bits = np.bincount(drawn & 15, minlength=16)
    assert stats.chisquare(low_bits).pvalue > FALSE_ALARM


def test_every_number_has_noise_of_its_own() -> None:
    drawn = draw_gaussian(SystemCoins(), 2 * BLOCK + 5)
    assert len(np.unique(drawn)) == len(drawn)
    assert draw_gaussian(SystemCoins(), 0).shape == (0,)
