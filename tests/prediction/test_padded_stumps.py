"""Padded stumps against their definition in fractions, at borders, on strange numbers, and what they are worth."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from mapl.audit.predictions.stump_twins import exact_law
from mapl.errors import InvalidData, InvalidParameter
from mapl.noise import ONE, SeededCoins
from mapl.prediction.predictors.padded_paths import BLOCK
from mapl.prediction.predictors.padded_stumps import RAREST, PaddedStumps
from mapl.prediction.prices.padded_stumps import excess_bound, rate_for
from mapl.types import RecordAdjacency

STRANGE = [-math.inf, -1.0, -0.0, 0.0, 1.0, 2.0, math.inf, math.nan, -math.nan]
CUT = Fraction(1, 2**40)
Table = NDArray[Any]


class Asked:
    """Questions for the exact law."""

    def __init__(self, rows: Table) -> None:
        self.questions = [tuple(row) for row in rows.tolist()]


def exactly(X: Table, y: Table, rows: Table, q: Fraction) -> list[Fraction]:
    law = exact_law(Asked(rows), q)  # type: ignore[arg-type]
    sample = tuple((tuple(x), int(label)) for x, label in zip(X.tolist(), y.tolist(), strict=True))
    return [min(max(p, CUT), 1 - CUT) for p in law(sample)]


def fitted(X: Table, y: Table, rate: float = 0.5) -> PaddedStumps:
    return PaddedStumps.at_rate(X, y, rate=rate, adjacency="add-remove")


def off_by(numerator: int, exact: Fraction) -> float:
    """Return by how much both log-chances are off, together."""
    one = Fraction(numerator, ONE) / exact
    zero = Fraction(ONE - numerator, ONE) / (1 - exact)
    return abs(math.log1p(float(one - 1))) + abs(math.log1p(float(zero - 1)))


def worst_of(X: Table, y: Table, rows: Table, q: Fraction) -> float:
    got = fitted(X, y, -math.log(q)).numerators(rows).tolist()
    return max(off_by(a, b) for a, b in zip(got, exactly(X, y, rows, q), strict=True))


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_strange_numbers_and_ties_have_the_exact_law(data: st.DataObject) -> None:
    n_features = data.draw(st.integers(1, 3))
    row = st.lists(st.sampled_from(STRANGE), min_size=n_features, max_size=n_features)
    records = data.draw(st.lists(st.tuples(row, st.integers(0, 1)), max_size=25))
    X = np.array([x for x, _ in records], dtype=np.float64).reshape(-1, n_features)
    y = np.array([label for _, label in records], dtype=np.int64)
    rows = np.array(data.draw(st.lists(row, min_size=1, max_size=4)))
    q = Fraction(data.draw(st.integers(1, 99)), 100)
    assert worst_of(X, y, rows, q) <= 2**-22


@pytest.mark.parametrize("n", [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK])
@pytest.mark.parametrize("n_values", [2, 10_000])
def test_borders_of_blocks_have_the_exact_law(n: int, n_values: int) -> None:
    stream = np.random.default_rng(n)
    X = stream.integers(0, n_values, (n, 2)).astype(np.float32)
    y = (stream.random(n) < 0.4).astype(bool)
    rows = np.vstack([np.sort(X, axis=0)[:: BLOCK // 2], [[-1, 0.5], [n_values, n_values]]])
    assert worst_of(X, y, rows, Fraction(4, 5)) <= 2**-22


def test_a_strong_signal_is_cut_and_nothing_is_certain() -> None:
    X = np.arange(4000.0)[:, None]
    y = (X[:, 0] >= 2000).astype(int)
    chances = fitted(X, y).numerators(np.array([[0.0], [1999.5], [3999.0]]))
    assert chances.tolist() == [RAREST, ONE // 2, ONE - RAREST]
    assert RAREST == ONE // 2**40


def test_answers_change_sides_where_labels_do() -> None:
    X = np.arange(400.0)[:, None]
    asked = np.arange(-0.5, 400.0)[:, None]
    rising = fitted(X, (X[:, 0] >= 200).astype(int)).numerators(asked)
    falling = fitted(X, (X[:, 0] < 200).astype(int)).numerators(asked)
    assert all(a <= b for a, b in pairwise(rising.tolist()))
    assert (rising + falling == ONE).all(), "names of labels do not matter"


def test_only_the_order_of_values_matters_and_not_that_of_rows() -> None:
    stream = np.random.default_rng(5)
    X, y = stream.integers(0, 30, (500, 3)).astype(float), stream.integers(0, 2, 500)
    asked = stream.integers(-1, 31, (50, 3)) + stream.choice([0.0, 0.5], (50, 3))
    chances = fitted(X, y).numerators(asked)
    order = stream.permutation(500)
    assert (fitted(X[order], y[order]).numerators(asked) == chances).all()
    assert (fitted(np.exp(X), y).numerators(np.exp(asked)) == chances).all()
    for kind in (np.float32, np.int16):
        assert (fitted((2 * X).astype(kind), y).numerators((2 * asked).astype(kind)) == chances).all()
    assert (fitted(np.asfortranarray(X), y).numerators(asked) == chances).all()


def test_blocks_of_questions_are_answered_like_single_ones() -> None:
    stream = np.random.default_rng(6)
    X, y = stream.random((300, 40)), stream.integers(0, 2, 300)
    stumps, asked = fitted(X, y), stream.random((200, 40))
    assert stumps.numerators(asked).tolist() == [int(stumps.numerators(row[None])[0]) for row in asked]
    assert stumps.answer(asked[:0], SeededCoins(0)).shape == (0,)


def test_a_question_too_large_for_the_table_is_infinite() -> None:
    stumps = fitted(np.array([[0.0], [1.0]], dtype=np.float32), np.array([0, 1]))
    assert stumps.numerators(np.array([[1e300]])) == stumps.numerators(np.array([[np.inf]]))


def test_answers_follow_their_chances() -> None:
    stumps = fitted(np.array([[0.0], [1.0], [1.0]]), np.array([0, 1, 1]))
    asked = np.repeat([[0.0], [0.5], [1.0]], 20_000, axis=0)
    shares = stumps.answer(asked, SeededCoins(1)).reshape(3, -1).mean(axis=1)
    chances = stumps.numerators(asked[::20_000]) / ONE
    assert 0.3 < chances[0] < chances[1] < chances[2] < 0.9
    assert np.abs(shares - chances).max() < 5 * 0.5 / math.sqrt(20_000)


def test_fresh_coins_for_every_question() -> None:
    coins = SeededCoins(2)
    stumps = fitted(np.empty((0, 1)), np.empty(0))
    assert (stumps.numerators(np.zeros((1, 1))) == ONE // 2).all(), "an empty sample says nothing"
    assert 0 < stumps.answer(np.zeros((64, 1)), coins).sum() < 64


@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
def test_the_price_is_what_was_asked_for(adjacency: RecordAdjacency) -> None:
    stumps = PaddedStumps.fit(np.zeros((3, 1)), np.array([0, 1, 1]), epsilon=1.0, adjacency=adjacency)
    assert 1 - 1e-8 < stumps.epsilon <= 1.0
    assert stumps.per_answer.epsilon(0.0) == pytest.approx(stumps.epsilon)


def world(seed: int, n: int, n_features: int, noise: float) -> tuple[Table, Table]:
    """Draw records whose label is 1 above 0.4 in the first feature, but for a share of noise; some are rounded."""
    stream = np.random.default_rng(seed)
    X = stream.random((n, n_features))
    X[:, 1::2] = np.rint(4 * X[:, 1::2])
    return X, ((X[:, 0] > 0.4) ^ (stream.random(n) < noise)).astype(np.int64)


def errors_of(stumps: PaddedStumps, X: Table, y: Table) -> float:
    """Return the error on average over coins."""
    ones = stumps.numerators(X) / ONE
    return float(np.where(y == 1, 1 - ones, ones).mean())


def best_stump(X: Table, y: Table) -> float:
    """Return the error of the best stump, the slow way."""
    right = [X[:, f, None] >= np.append(np.unique(X[:, f]), np.inf) for f in range(X.shape[1])]
    errors = np.concatenate([(said != y[:, None].astype(bool)).mean(axis=0) for said in right])
    return float(min(errors.min(), 1 - errors.max()))


@pytest.mark.parametrize("n_features", [1, 6])
@pytest.mark.parametrize("noise", [0.0, 0.2])
def test_a_thousand_records_are_enough_at_epsilon_one(n_features: int, noise: float) -> None:
    fresh, labels = world(10_000, 3_000, n_features, noise)
    best = ((fresh[:, 0] > 0.4) != labels).mean()
    on_sample, on_fresh = [], []
    for seed in range(10):
        X, y = world(seed, 1000, n_features, noise)
        stumps = PaddedStumps.fit(X, y, epsilon=1.0, adjacency="add-remove")
        on_sample.append(errors_of(stumps, X, y) - best_stump(X, y))
        on_fresh.append(errors_of(stumps, fresh, labels) - best)
    bound = excess_bound(1000, n_features, rate=rate_for(1.0, adjacency="add-remove"))
    assert bound < 0.0155
    assert max(on_sample) <= bound
    assert np.mean(on_fresh) <= 0.02


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 40), st.integers(1, 5), st.floats(0.05, 3.0))
def test_the_excess_bound_holds_on_any_sample_with_ties(seed: int, n: int, n_values: int, rate: float) -> None:
    stream = np.random.default_rng(seed)
    X, y = stream.integers(0, n_values, (n, 2)).astype(float), (stream.random(n) < stream.random()).astype(int)
    excess = errors_of(fitted(X, y, rate), X, y) - best_stump(X, y)
    assert excess <= excess_bound(n, 2, rate=rate)


@pytest.mark.parametrize(
    ("X", "y", "said"),
    [
        (np.zeros(3), np.zeros(3), "1 dimensions"),
        (np.zeros((3, 0)), np.zeros(3), "at least one column"),
        (np.array([["a"], ["b"]]), np.zeros(2), "expected numbers"),
        (np.zeros((3, 1)), np.zeros(2), "as many entries"),
        (np.zeros((3, 1)), np.array([0, 1, 735]), "neither 0 nor 1"),
        (np.zeros((3, 1)), np.array([0, 1, np.nan]), "neither 0 nor 1"),
        (np.zeros((3, 1)), np.array(["0", "1", "1"]), "neither 0 nor 1"),
        (np.zeros((1, 2**20 + 1), dtype=bool), np.zeros(1), "at most 1048576"),
    ],
)
def test_bad_tables_are_refused_without_quoting_them(X: Table, y: Table, said: str) -> None:
    with pytest.raises(InvalidData, match=said) as refused:
        fitted(X, y)
    assert "735" not in str(refused.value)


def test_other_columns_and_rates_are_refused() -> None:
    with pytest.raises(InvalidData, match="2 features and the sample had 1"):
        fitted(np.zeros((3, 1)), np.zeros(3)).answer(np.zeros((1, 2)), SeededCoins(0))
    with pytest.raises(InvalidParameter, match="The rate is 0"):
        fitted(np.zeros((3, 1)), np.zeros(3), rate=0.0)


def test_nothing_private_is_shown() -> None:
    stumps = fitted(np.full((3, 1), 123.0), np.array([0, 1, 1]))
    assert repr(stumps) == "PaddedStumps(1 features, private)"
    assert repr(stumps.paths) == "PaddedPaths(1 features, private)"
