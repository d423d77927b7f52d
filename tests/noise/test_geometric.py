"""Two-sided geometric noise: its exact law coin by coin, its frequencies, and decays on the private side."""

from __future__ import annotations

from collections import defaultdict
from decimal import Inexact, getcontext, localcontext
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from mapl.noise import ONE, Coins, SeededCoins
from mapl.noise.coins import BLOCK
from mapl.noise.geometric import decay, two_sided_geometric

HEADS, TAILS = 0, (1 << 64) - 1
"""Words that pass, and do not pass, a flip of any chance between 0 and 1."""


def law(numerator: int, noise: int) -> Fraction:
    a = Fraction(numerator, ONE)
    return (1 - a) / (1 + a) * a ** abs(noise)


def surplus(numerator: int, epsilon: float, parts: int) -> tuple[bool, bool]:
    """Is the numerator certainly no less than exp(-epsilon / parts), and certainly less than three units more?

    By balls of 2000 bits, another library than the one that made it.
    """
    with ctx.workprec(2000):
        ideal = (-arb(epsilon) / parts).exp() * ONE
        return bool(arb(numerator) >= ideal), bool(arb(numerator) < ideal + 3)


@settings(max_examples=300, deadline=None)
@given(epsilon=st.floats(1e-12, 800), parts=st.integers(1, 5))
@example(epsilon=1e-3, parts=1)
@example(epsilon=1e-3, parts=2)
@example(epsilon=43.0, parts=1)
@example(epsilon=700.0, parts=1)
@example(epsilon=745.2, parts=1)  # where exp(-epsilon) is zero in floating point
@example(epsilon=1e9, parts=1)
def test_a_decay_is_rounded_up_and_hardly(epsilon: float, parts: int) -> None:
    assert surplus(decay(epsilon, parts), epsilon, parts) == (True, True)


@pytest.mark.parametrize("epsilon", [1e-3, 0.3, 1.0, 8.0])
def test_one_unit_less_than_needed_would_be_seen(epsilon: float) -> None:
    """The control: the same comparison refuses the largest numerator that is too small."""
    with ctx.workprec(2000):
        enough = int(((-arb(epsilon)).exp() * ONE).ceil().unique_fmpz())
    assert surplus(enough, epsilon, 1)[0]
    assert not surplus(enough - 1, epsilon, 1)[0]
    assert enough <= decay(epsilon) <= enough + 2


def test_a_decay_does_not_depend_on_the_callers_arithmetic() -> None:
    expected = [decay(epsilon, 2) for epsilon in (1e-3, 1.0, 700.0)]
    with localcontext() as narrow:
        narrow.prec, narrow.Emin, narrow.Emax = 3, -3, 3
        narrow.traps[Inexact] = True
        assert [decay(epsilon, 2) for epsilon in (1e-3, 1.0, 700.0)] == expected
    assert getcontext().prec >= 28


class Scripted(Coins):
    """Coins that fall as written down, and no longer."""

    private = False

    def __init__(self, *script: int) -> None:
        self.left = list(script)

    def words(self, n: int) -> NDArray[np.uint64]:
        assert n <= len(self.left)
        taken, self.left = self.left[:n], self.left[n:]
        return np.array(taken, dtype=np.uint64)


@pytest.mark.parametrize("epsilon", [0.05, 1.0, 5.0])
def test_the_law_is_exact_coin_by_coin(epsilon: float) -> None:
    """Two runs of up to 12 heads each: every script takes all its coins; the rest of the law is a series."""
    numerator, most = decay(epsilon), 12
    a = Fraction(numerator, ONE)
    chances: dict[int, Fraction] = defaultdict(Fraction)
    for first, second in product(range(most + 1), repeat=2):
        coins = Scripted(*[HEADS] * first, TAILS, *[HEADS] * second, TAILS)
        [noise] = two_sided_geometric(coins, numerator, 1).tolist()
        assert (noise, coins.left) == (first - second, [])
        chances[noise] += a ** (first + second) * (1 - a) ** 2
    for noise in range(-most, most + 1):
        # What is missing are scripts with a longer run: (most + 1 - |noise|) pairs of runs fit, a geometric series.
        missing = law(numerator, noise) * a ** (2 * (most + 1 - abs(noise)))
        assert chances[noise] + missing == law(numerator, noise)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 30.0])
def test_chances_sum_to_one(epsilon: float) -> None:
    numerator = decay(epsilon)
    a = Fraction(numerator, ONE)
    inner = sum(law(numerator, k) for k in range(-20, 21))
    assert inner + 2 * law(numerator, 21) / (1 - a) == 1


def p_value(drawn: NDArray[np.int64], numerator: int) -> float:
    """Compare frequencies with the exact law; values expected fewer than 20 times are put together."""
    widest = next(k for k in range(10**6) if law(numerator, k) * len(drawn) < 20)
    inner = np.arange(1 - widest, widest)
    expected = np.array([float(law(numerator, int(k)) * len(drawn)) for k in inner])
    found = np.bincount(drawn[np.abs(drawn) < widest] + widest - 1, minlength=len(inner))
    beyond = len(drawn) - expected.sum()
    return float(stats.chisquare([*found, len(drawn) - found.sum()], [*expected, beyond], sum_check=False).pvalue)


@pytest.mark.statistical
@pytest.mark.parametrize(("epsilon", "parts"), [(0.02, 1), (0.3, 2), (1.0, 1), (1.0, 2), (4.0, 1)])
def test_frequencies_follow_the_law(epsilon: float, parts: int) -> None:
    """Chi-square; a fresh seed fails with a probability of about 1e-9. An epsilon 10% off is seen."""
    numerator = decay(epsilon, parts)
    drawn = two_sided_geometric(SeededCoins(11), numerator, 400_000 if epsilon > 0.1 else 60_000)
    assert p_value(drawn, numerator) > 1e-9
    assert p_value(drawn, decay(epsilon * 1.1, parts)) < 1e-9


@pytest.mark.statistical
def test_noise_of_two_counts_is_independent() -> None:
    """Side by side, and in different blocks; a fresh seed fails with a probability of about 2e-9."""
    numerator, n = decay(1.0), 4 * BLOCK
    drawn = np.clip(two_sided_geometric(SeededCoins(5), numerator, n), -2, 2) + 2
    edges = np.array([float(sum(law(numerator, k) for k in range(2, 200)))])
    alone = np.concatenate([edges, [float(law(numerator, k)) for k in (-1, 0, 1)], edges])
    side_by_side, across = (drawn[::2], drawn[1::2]), (drawn[: 2 * BLOCK], drawn[2 * BLOCK :])
    for one, other in (side_by_side, across):
        pairs = np.bincount(5 * one + other, minlength=25)
        assert stats.chisquare(pairs, np.outer(alone, alone).ravel() * len(one), sum_check=False).pvalue > 1e-9


def test_extremes() -> None:
    wide = two_sided_geometric(SeededCoins(1), decay(1e-3), 500)
    # Standard deviation 1414: beyond 60 of them, or below 200 on average, never happens (chance below 1e-30).
    assert 200 < np.abs(wide).mean() < np.abs(wide).max() < 85_000
    assert decay(700.0) == 2
    assert not two_sided_geometric(SeededCoins(1), decay(700.0), 100_000).any()
    assert two_sided_geometric(SeededCoins(1), decay(1.0), 0).shape == (0,)
    assert two_sided_geometric(SeededCoins(1), decay(1.0), BLOCK + 1).dtype == np.int64
