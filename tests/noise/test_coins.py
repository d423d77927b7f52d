"""Coins decide by integer comparisons; scripted words walk along every edge of them."""

from __future__ import annotations

import copy
import os
import pickle
import warnings
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from mapl.errors import EntropyFailure, GuaranteeBroken
from mapl.noise import ONE, Coins, SeededCoins, SystemCoins, discrete_laplace

LAST = 2**64 - 1


class ScriptedCoins(Coins):
    """Hands out the given words in order and fails loudly when they run out."""

    private = False

    def __init__(self, *words: int) -> None:
        self.left = list(words)

    def words(self, n: int) -> NDArray[np.uint64]:
        assert len(self.left) >= n, "the script has no more words"
        taken, self.left = self.left[:n], self.left[n:]
        return np.array(taken, dtype=np.uint64)


def words_for(uniform: int) -> tuple[int, int]:
    """The smallest and the largest word whose top 62 bits are `uniform`."""
    return uniform << 2, (uniform << 2) + 3


def flip(numerator: int, word: int) -> bool:
    return bool(ScriptedCoins(word).flip(np.array([numerator]))[0])


@pytest.mark.parametrize("word", [0, 1, 4, LAST // 2, LAST])
def test_certain_coins_are_certain(word: int) -> None:
    assert not flip(0, word)
    assert flip(ONE, word)


@pytest.mark.parametrize("numerator", [1, 2, 3, ONE // 3, ONE // 2, ONE - 1])
def test_a_flip_is_true_exactly_below_its_numerator(numerator: int) -> None:
    assert all(flip(numerator, w) for w in words_for(numerator - 1))
    assert not any(flip(numerator, w) for w in words_for(numerator))


def test_flips_keep_the_shape_and_use_one_word_each() -> None:
    coins = ScriptedCoins(0, LAST, 0, LAST, 0, LAST)
    numerators = np.full((2, 3), ONE // 2)
    assert coins.flip(numerators).tolist() == [[True, False, True], [False, True, False]]
    assert coins.left == []


@pytest.mark.parametrize("bound", [1, 2, 3, 10, 2**31 - 1, ONE // 2 + 1, ONE - 1, ONE])
def test_below_rejects_exactly_the_unfair_end(bound: int) -> None:
    fair = (ONE // bound) * bound
    below = np.array([bound])
    last_fair = words_for(fair - 1)[1]
    assert ScriptedCoins(0).below(below)[0] == 0
    assert ScriptedCoins(last_fair).below(below)[0] == bound - 1
    if fair < ONE:
        coins = ScriptedCoins(words_for(fair)[0], LAST, words_for(0)[1])
        assert coins.below(below)[0] == 0
        assert coins.left == []


def test_below_redraws_only_what_was_rejected() -> None:
    bounds = np.array([ONE // 2 + 1, 5, ONE // 2 + 1])
    rejected = words_for(ONE // 2 + 1)[0]
    coins = ScriptedCoins(rejected, words_for(7)[0], words_for(9)[0], words_for(4)[0])
    assert coins.below(bounds).tolist() == [4, 2, 9]


@pytest.mark.parametrize("bound", [0, -3, ONE + 1])
def test_below_refuses_bounds_that_no_draw_can_meet(bound: int) -> None:
    """Without a refusal the rejection never ends: here the script runs out, with real coins the process hangs."""
    with pytest.raises(ValueError, match="bound"):
        SixteenWords().below(np.array([bound]))


class SixteenWords(ScriptedCoins):
    def __init__(self) -> None:
        super().__init__(*range(0, 2**64, 2**60))


def test_choose_maps_each_integer_below_the_total_to_its_owner() -> None:
    weights = [0, 3, 0, 2, 1, 0]
    owners = [1, 1, 1, 3, 3, 4]
    coins = ScriptedCoins(*(words_for(u)[0] for u in range(6)))
    chosen = coins.choose(np.array([weights] * 6))
    assert chosen.tolist() == owners
    assert chosen.dtype == np.int32


@pytest.mark.statistical
def test_draws_follow_their_laws() -> None:
    """Chi-square, fixed seed; each of the four tests alarms with probability 1e-4 on a fresh seed."""
    coins, n = SeededCoins(20240607), 200_000
    heads = int(coins.flip(np.full(n, ONE // 10)).sum())
    share = Fraction(ONE // 10, ONE)
    weights = np.array([5, 0, 1, 30, 14])
    chosen = np.bincount(coins.choose(np.tile(weights, (n, 1))), minlength=5)
    assert chosen[1] == 0
    rolled = np.bincount(coins.below(np.full(n, 7)), minlength=7)
    huge = coins.below(np.full(n, 3 * (ONE // 4)))  # a quarter of the words is rejected
    quarters = np.bincount(huge // (ONE // 4), minlength=3)
    for seen, expected in (
        (np.array([heads, n - heads]), n * np.array([float(share), float(1 - share)])),
        (chosen[weights > 0], n * weights[weights > 0] / 50),
        (rolled, np.full(7, n / 7)),
        (quarters, np.full(3, n / 3)),
    ):
        assert stats.chisquare(seen, expected).pvalue > 1e-4


def test_only_the_operating_systems_coins_are_private() -> None:
    assert SystemCoins().private is True
    assert SeededCoins(1).private is False


@pytest.mark.parametrize("coins", [SystemCoins(), SeededCoins(1)])
def test_coins_are_never_copied_or_stored(coins: Coins) -> None:
    for attempt in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="protects nobody"):
            attempt(coins)


def test_seeds_repeat_and_differ() -> None:
    assert SeededCoins(5).words(9).tolist() == SeededCoins(5).words(9).tolist()
    assert SeededCoins(5).words(9).tolist() != SeededCoins(6).words(9).tolist()


def test_a_block_and_its_parts_use_the_same_seeded_words() -> None:
    whole, parts = SeededCoins(5), SeededCoins(5)
    numerators = np.arange(50) * (ONE // 50)
    together = whole.flip(numerators)
    one_by_one = np.concatenate([parts.flip(numerators[i : i + 1]) for i in range(50)])
    np.testing.assert_array_equal(together, one_by_one)


def test_draws_longer_than_a_block_have_the_asked_shape() -> None:
    drawn = SeededCoins(3).draw(discrete_laplace(2.0), (3, 10_001))
    assert drawn.shape == (3, 10_001)
    assert len(np.unique(drawn)) > 10


def test_system_words_do_not_repeat() -> None:
    words = SystemCoins().words(10_000)
    assert words.dtype == np.uint64
    assert len(np.unique(words)) == 10_000


def test_a_forked_process_never_replays_its_parents_coins() -> None:
    coins = SystemCoins()
    before = coins.words(4).tobytes()
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn about forking beside threads
        child = os.fork()
    if child == 0:  # nothing but system calls here: this process must never return into pytest
        try:
            os.write(writing, coins.words(4).tobytes())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        from_child = pipe.read()
    assert os.waitpid(child, 0)[1] == 0
    parents = coins.words(4).tobytes()
    assert len(from_child) == len(parents) == 32
    assert len({before, from_child, parents}) == 3


@pytest.mark.parametrize("failure", [OSError("broken"), BlockingIOError("not ready"), NotImplementedError()])
def test_a_failing_generator_abandons_the_release(failure: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: int) -> bytes:
        raise failure

    monkeypatch.setattr(os, "urandom", broken)
    with pytest.raises(EntropyFailure, match="nothing was released"):
        SystemCoins().flip(np.array([ONE // 2]))
    assert issubclass(EntropyFailure, GuaranteeBroken)


def test_too_few_bytes_abandon_the_release(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "urandom", lambda n: bytes(max(0, n - 1)))
    with pytest.raises(EntropyFailure, match="too few bytes"):
        SystemCoins().words(5)
