import math
from collections import Counter
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given, settings
from hypothesis import strategies as st

from mapl.errors import InvalidParameter
from mapl.noise import ONE, Coins, SeededCoins
from mapl.prediction.hypotheses.draw import (
    accepting_numerators,
    as_numerator,
    gap_mass,
    permute_and_flip,
    permute_and_flip_law,
    pick,
    pick_by_gap,
)


class Script(Coins):
    """Coins that read the given words, in order."""

    private = False

    def __init__(self, words):
        self.left = list(words)

    def words(self, n):
        taken, self.left = self.left[:n], self.left[n:]
        return np.array(taken, dtype=np.uint64)


def test_a_pick_by_whole_masses_cuts_the_words_at_their_sums():
    def ends(bits):
        return [arb(1), arb(3), arb(3), arb(8)]

    assert Counter(pick(ends, Script([k << 58])) for k in range(64)) == {0: 8, 1: 16, 3: 40}


def test_a_word_that_holds_a_cumulative_mass_reads_on():
    """The masses 1 and e^-1 meet inside one word; only further words can tell the sides apart."""

    def ends(bits):
        with ctx.workprec(bits):
            return [arb(1), 1 + arb(-1).exp()]

    with ctx.workprec(512):
        place = 1 / (1 + arb(-1).exp())
        words = [int((place * (1 << 64 * k)).floor().unique_fmpz()) & (2**64 - 1) for k in (1, 2, 3)]
    assert pick(ends, Script([words[0] - 1])) == 0
    assert pick(ends, Script([words[0] + 1])) == 1
    assert pick(ends, Script([words[0], words[1] - 1])) == 0
    assert pick(ends, Script([words[0], words[1] + 1])) == 1
    assert pick(ends, Script([*words[:2], words[2] - 1])) == 0
    assert pick(ends, Script([*words[:2], words[2] + 1])) == 1


def test_masses_behind_the_cut_are_drawn_once_the_words_ask_for_them():
    """A gap of 100 at rate 2 weighs e^-200, less than any first word sees; its place is the very end."""
    gaps = np.array([100, 0])
    assert pick_by_gap(gaps, 2.0, Script([2**64 - 1] * 5 + [0, 0])) == 0
    assert pick_by_gap(gaps, 2.0, Script([2**64 - 2, 0])) == 1


@given(st.lists(st.integers(0, 600), min_size=1, max_size=12), st.sampled_from([0.01, 0.5, 3.0]))
@settings(max_examples=60, deadline=None)
def test_the_mass_is_the_sum_of_powers(gaps, rate):
    mass = gap_mass(np.array(gaps), rate, bits=192)
    with ctx.workprec(400):
        exact = sum((-arb(rate) * gap).exp() for gap in gaps)
        assert mass.overlaps(exact)
        assert mass.rad() < exact * arb(2) ** -150


def test_a_pick_by_gap_is_uniform_among_equals_and_follows_the_rate():
    gaps = np.array([1, 0, 1, 3, 0])
    coins = SeededCoins(3)
    n_draws = 4000
    seen = Counter(pick_by_gap(gaps, 0.7, coins) for _ in range(n_draws))
    masses = np.exp(-0.7 * gaps)
    for i, chance in enumerate(masses / masses.sum()):
        assert abs(seen[i] - n_draws * chance) < 5 * math.sqrt(n_draws * chance)


@pytest.mark.parametrize("rate", [1e-5, 0.001, 0.1, 1.0, 20.0, 100.0])
def test_acceptance_falls_by_at_most_the_rate_exactly(rate):
    table = accepting_numerators(rate)
    assert table[0] == ONE
    assert (np.diff(table) < 0).all()
    assert table[-1] >= 1
    some = np.unique(np.linspace(0, len(table) - 2, 200).astype(int))
    with ctx.workprec(256):
        for k in some:
            assert int(table[k + 1]) >= int(table[k]) * (-arb(rate)).exp()
    near = min(len(table) - 1, int(10 / rate))
    assert table[near] / ONE == pytest.approx(math.exp(-rate * near), rel=1e-9) or rate >= 20


def test_a_long_table_holds_its_last_value():
    assert len(accepting_numerators(1e-9)) == 1 << 20
    assert permute_and_flip(np.array([0, 1 << 40]), 1e-9, SeededCoins(0)) in (0, 1)


def brute_flip_law(chances):
    """Every outcome of every coin: a uniform one of the accepted indices, in exact fractions."""
    law = [Fraction(0)] * len(chances)
    for accepts in product((False, True), repeat=len(chances)):
        weight = math.prod(p if a else 1 - p for p, a in zip(chances, accepts, strict=True))
        for i, accepted in enumerate(accepts):
            if accepted:
                law[i] += weight / sum(accepts)
    return law


@given(st.lists(st.integers(0, 6), min_size=1, max_size=7), st.sampled_from([0.05, 0.6, 2.5]))
@settings(max_examples=40, deadline=None)
def test_the_law_of_permute_and_flip_is_that_of_its_coins(gaps, rate):
    gaps = np.array(gaps) - min(gaps)
    exact = brute_flip_law([Fraction(int(p), ONE) for p in accepting_numerators(rate).take(gaps, mode="clip")])
    assert permute_and_flip_law(gaps, rate) == pytest.approx([float(p) for p in exact], abs=1e-13)


@pytest.mark.parametrize("n", [1_000, 300_000])
def test_the_law_of_many_equals_is_one(n):
    assert permute_and_flip_law(np.zeros(n, dtype=np.int64), 1.0).sum() == pytest.approx(1.0, abs=1e-10)
    gaps = np.arange(n) % 997
    assert permute_and_flip_law(gaps, 0.01).sum() == pytest.approx(1.0, abs=1e-10)


def neighbours(counts):
    """All samples with one example more: each count rises by nothing or one."""
    return (np.array(counts) + np.array(rise) for rise in product((0, 1), repeat=len(counts)))


def exponential_law(gaps, rate):
    masses = np.exp(-rate * gaps)
    return masses / masses.sum()


@pytest.mark.parametrize("law", [exponential_law, permute_and_flip_law])
def test_one_example_more_changes_no_chance_by_more_than_the_rate(law):
    """Both directions, over all small counts; a rate one fifth smaller is violated, so the claim is not idle."""
    rate = 0.5
    worst = 0.0
    for counts in product(range(4), repeat=3):
        before = law(np.array(counts) - min(counts), rate)
        for after_counts in neighbours(counts):
            after = law(after_counts - after_counts.min(), rate)
            worst = max(worst, float(np.abs(np.log(after / before)).max()))
    assert 0.8 * rate < worst <= rate * (1 + 1e-9)


def test_numerators_end_at_nothing_and_one():
    assert as_numerator(arb(0)) == 0
    assert as_numerator(arb(1)) == ONE
    with ctx.workprec(128):
        assert as_numerator(arb(1) / 3) == round(Fraction(ONE, 3))


@pytest.mark.parametrize("rate", [0, -0.5, math.nan, math.inf, "1"])
def test_a_rate_must_be_a_positive_number(rate):
    with pytest.raises(InvalidParameter, match="rate is"):
        pick_by_gap(np.array([0, 1]), rate, SeededCoins(0))
