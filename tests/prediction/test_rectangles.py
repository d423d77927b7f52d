"""Rectangles and boxes against brute force, and what their strips can get wrong."""

import time
from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mapl.errors import InvalidParameter
from mapl.noise import ONE, SeededCoins
from mapl.prediction.hypotheses import Rectangles


def boxed(labels, T):
    """Whether no 0 is in the bounding box of the ones."""
    ones, zeros = T[labels == 1], T[labels == 0]
    return not len(ones) or not ((ones.min(axis=0) <= zeros) & (zeros <= ones.max(axis=0))).all(axis=1).any()


@given(st.lists(st.tuples(*[st.integers(0, 3)] * 3), max_size=6), st.integers(2, 3))
@settings(max_examples=50, deadline=None)
def test_the_patterns_are_exactly_what_boxes_cut_out(points, p):
    T = np.array(points, dtype=float).reshape(-1, 3)[:, :p]
    patterns = Rectangles(tuple(range(p))).patterns(T)
    found = [tuple(h.predict(T)) for h in patterns]
    possible = {y for y in product((0, 1), repeat=len(T)) if boxed(np.array(y, dtype=int), T)}
    assert set(found) == possible
    assert len(found) == len(possible) == len(patterns) <= Rectangles(tuple(range(p))).n_patterns(len(T))


def test_each_box_is_the_bounding_box_of_its_points():
    T = np.random.default_rng(0).integers(0, 5, size=(8, 2)).astype(float)
    empty, *boxes = Rectangles().patterns(T)
    assert not empty.predict(T).any()
    for box in boxes:
        inside = T[box.predict(T) == 1]
        assert inside.min(axis=0).tolist() == box.low.tolist()
        assert inside.max(axis=0).tolist() == box.high.tolist()


@pytest.mark.parametrize("p", [2, 3])
def test_the_vc_dimension_is_twice_the_features(p):
    """One point on each side of a cube can be cut out in all ways; one more cannot."""
    sides = np.concatenate([np.eye(p), -np.eye(p)])
    family = Rectangles(tuple(range(p)))
    assert family.vc == 2 * p
    assert len(family.patterns(sides)) == 2 ** (2 * p)
    assert len(family.patterns(np.concatenate([sides, np.zeros((1, p))]))) < 2 ** (2 * p + 1)


def test_points_in_a_row_have_intervals_only():
    T = np.repeat(np.arange(20.0)[:, None], 2, axis=1)
    assert len(Rectangles().patterns(T)) == 20 * 21 // 2 + 1
    assert len(Rectangles().patterns(T * [1, 0])) == 20 * 21 // 2 + 1
    assert len(Rectangles((0, 1, 2)).patterns(np.column_stack([T, T[:, 0] % 2])[:9])) > 9 * 10 // 2 + 1


@pytest.mark.parametrize(("features", "n_points"), [((0, 1), 9), ((2, 0), 9), ((0, 1, 2), 6), ((3, 1, 0, 2), 5)])
def test_masses_by_strips_are_those_of_the_listed_boxes(features, n_points):
    rng = np.random.default_rng(n_points)
    X = rng.integers(0, 9, size=(60, 4)) / 2
    y = rng.integers(0, 2, size=60)
    patterns = Rectangles(features).patterns(X[:n_points])
    errors = patterns.errors(X, y)
    listed = errors.listed()
    assert listed.counts.tolist() == [(h.predict(X) != y).sum() for h in patterns]
    assert errors.best == listed.best
    assert sum(errors.strips.sizes) + 1 == len(patterns) == len(listed.counts)
    for rate, x in product((0.01, 0.4, 30.0), [*X[:8], np.full(4, 1.25), np.full(4, -1.0)]):
        assert abs(errors.numerator(rate, x) - listed.numerator(rate, x)) <= 1
        assert errors.law(rate, x) == pytest.approx(listed.law(rate, x), rel=1e-14)
        assert errors.law(rate, x, by="permute-and-flip") == listed.law(rate, x, by="permute-and-flip")


@pytest.mark.statistical
def test_boxes_of_three_features_are_drawn_by_their_masses():
    """Chi-square over labelings; false alarm 1e-6."""
    from scipy.stats import chi2

    rng = np.random.default_rng(1)
    X = rng.integers(0, 4, size=(12, 3)).astype(float)
    y = rng.integers(0, 2, size=12)
    patterns = Rectangles((0, 1, 2)).patterns(X[:4])
    errors = patterns.errors(X, y)
    coins = SeededCoins(2)
    n_draws = 1500
    drawn = Counter(tuple(errors.draw(0.6, coins).predict(X[:4])) for _ in range(n_draws))
    masses = np.exp(-0.6 * errors.listed().counts)
    expected = n_draws * masses / masses.sum()
    seen = np.array([drawn.pop(tuple(h.predict(X[:4])), 0) for h in patterns])
    assert not drawn
    assert ((seen - expected) ** 2 / expected).sum() < chi2.isf(1e-6, len(expected) - 1)


def test_a_draw_is_a_pattern_whatever_the_sample():
    rng = np.random.default_rng(3)
    T = rng.normal(size=(12, 2))
    allowed = {(*h.low, *h.high) for h in Rectangles().patterns(T)}
    coins = SeededCoins(4)
    for _ in range(20):
        X = rng.normal(size=(30, 2))
        drawn = Rectangles().patterns(T).errors(X, rng.integers(0, 2, size=30)).draw(0.3, coins)
        assert (*drawn.low, *drawn.high) in allowed


def test_strips_far_from_the_best_weigh_nothing_and_take_no_time():
    """Three hundred million boxes, of which a sharp rate leaves the best."""
    rng = np.random.default_rng(5)
    X = rng.random((20_000, 2))
    y = ((X > 0.2) & (X < 0.7)).all(axis=1).astype(int)
    start = time.process_time()
    patterns = Rectangles().patterns(X[:300])
    errors = patterns.errors(X, y)
    drawn = errors.draw(5.0, SeededCoins(6))
    assert time.process_time() - start < 10
    assert len(patterns) > 10**7
    assert (drawn.predict(X) != y).sum() <= errors.best + 5 < 1500
    assert errors.numerator(5.0, np.array([0.45, 0.45])) == ONE
    assert errors.numerator(5.0, np.array([0.1, 0.45])) == 0


def test_a_tiny_rate_draws_all_boxes_alike():
    T = np.random.default_rng(7).normal(size=(6, 2))
    patterns = Rectangles().patterns(T)
    errors = patterns.errors(T, np.array([0, 1, 0, 1, 1, 0]))
    shares = np.array([h.predict(T) for h in patterns]).mean(axis=0)
    assert [errors.law(1e-12, x) for x in T] == pytest.approx(shares.tolist())


def test_huge_and_tiny_values_are_compared_not_subtracted():
    T = np.array([[1e308, 0.0], [-1e308, 5e-324], [5e-324, 1e308], [0.0, -1e308], [-0.0, -1e308]])
    errors = Rectangles().patterns(T).errors(T, np.array([1, 0, 1, 0, 0]))
    assert errors.best == 0
    assert errors.law(50.0, np.array([5e-324, 1e308])) == pytest.approx(1.0)


def test_what_is_too_large_is_refused_with_the_cost_and_a_way_out():
    with pytest.raises(InvalidParameter, match=r"up to m\^3 steps.*at most 512 points, fewer features"):
        Rectangles().patterns(np.zeros((513, 2)))
    with pytest.raises(InvalidParameter, match=r"boxes over 3 features take up to m\^5 steps.*at most 42 points"):
        Rectangles((0, 1, 2)).patterns(np.zeros((43, 3)))
    errors = (
        Rectangles().patterns(np.random.default_rng(8).normal(size=(150, 2))).errors(np.zeros((1, 2)), np.ones(1))
    )
    with pytest.raises(InvalidParameter, match="draw by the exponential mechanism, which does not list them"):
        errors.draw(1.0, SeededCoins(0), by="permute-and-flip")


@pytest.mark.parametrize("features", [(), (0,), (1, 1), (-1, 0)])
def test_features_are_at_least_two_different_columns(features):
    with pytest.raises(InvalidParameter, match="at least two different features"):
        Rectangles(features)
