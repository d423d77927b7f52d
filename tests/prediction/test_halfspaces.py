"""Halfspaces against exact brute force, where points repeat, line up, or nearly do."""

import time
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mapl.errors import InvalidParameter
from mapl.noise import SeededCoins
from mapl.prediction.hypotheses import Halfspaces
from mapl.prediction.hypotheses.space.exact import cofactors, determinant, distinct, whole
from mapl.prediction.hypotheses.space.halfplanes import Halfplane, HalfplanePatterns
from mapl.prediction.hypotheses.space.hyperplanes import HyperplanePatterns


def turn(a, b, c):
    """The sign of the triangle a, b, c in fractions."""
    (ax, ay), (bx, by), (cx, cy) = ([Fraction(v) for v in point] for point in (a, b, c))
    area = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)
    return (area > 0) - (area < 0)


def on_segment(a, b, c):
    """Whether c is on the closed segment from a to b, which may be a point."""
    return turn(a, b, c) == 0 and all(min(u, v) <= w <= max(u, v) for u, v, w in zip(a, b, c, strict=True))


def meet(some, others):
    """Whether the hulls of at most four points in all have a point in common, other than by fewer of them."""
    if len(some) > len(others):
        some, others = others, some
    if len(some) == len(others) == 2:
        (a, b), (c, d) = some, others
        return turn(a, b, c) * turn(a, b, d) < 0 and turn(c, d, a) * turn(c, d, b) < 0
    (a,) = some
    if len(others) < 3:
        return on_segment(others[0], others[-1], a)
    sides = {turn(b, c, a) for b, c in zip(others, others[1:] + others[:1], strict=True)}
    return len(sides) == 1 and 0 not in sides


def separable_in_plane(labels, T):
    """Whether no four points or fewer say otherwise (Kirchberger's theorem)."""
    points = [tuple(map(float, point)) for point in T]
    sizes = [(1, 1), (1, 2), (2, 1), (2, 2), (1, 3), (3, 1)]
    ones = [point for point, label in zip(points, labels, strict=True) if label]
    zeros = [point for point, label in zip(points, labels, strict=True) if not label]
    return not any(
        meet(list(some), list(others))
        for n_ones, n_zeros in sizes
        for some in combinations(ones, n_ones)
        for others in combinations(zeros, n_zeros)
    )


def separable(labels, T):
    """Whether some halfspace gives the labels, by a linear program with margin 1."""
    from scipy.optimize import linprog

    rows = -np.where(np.array(labels) == 1, 1.0, -1.0)[:, None] * np.column_stack([T, np.ones(len(T))])
    return linprog(np.zeros(rows.shape[1]), A_ub=rows, b_ub=-np.ones(len(T)), bounds=(None, None)).status == 0


def check(patterns, T, allows):
    found = [tuple(h.predict(T)) for h in patterns]
    possible = {y for y in product((0, 1), repeat=len(T)) if allows(y, T)}
    assert set(found) == possible
    assert len(found) == len(possible) == len(patterns)


ULP = 2.0**-52
AWKWARD = {
    "one point three times": [[1, 2], [1, 2], [1, 2]],
    "on a line, one twice": [[0, 0], [1, 1], [2, 2], [2, 2], [5, 5]],
    "on an upright line": [[3, 0], [3, -1], [3, 7], [3, 2]],
    "three by two": list(product((0, 1, 2), (0, 1))),
    "a cross": [[0, 0], [1, 0], [-1, 0], [0, 1], [0, -1], [0, 0]],
    "a thin triangle in a row": [[0, 0], [1, 1], [2, 2 + 2 * ULP], [3, 3]],
    "a row that decimals break": [[0.1, 0.3], [0.2, 0.6], [0.3, 0.9], [0.7, 2.1], [0.6, 1.8]],
    "last digits": [[1, 1], [1 + ULP, 1], [1, 1 + ULP], [1 + ULP, 1 + ULP], [1 + 2 * ULP, 1 + 2 * ULP]],
    "far and near": [[1e300, 1], [-1e300, -1], [0, 0], [1e-300, 1e-300], [2e-300, 1e-300]],
    "beyond what can be subtracted": [[1.7e308, 0], [-1.7e308, 0], [0, 1.7e308], [5e-324, 0], [0, 0]],
    "minus zero": [[0.0, 1], [-0.0, 1], [0, -0.0], [1, 0.0]],
}


@pytest.mark.parametrize("T", AWKWARD.values(), ids=AWKWARD)
def test_awkward_points_in_the_plane_have_exactly_the_separable_labelings(T):
    T = np.array(T, dtype=float)
    for patterns in (Halfspaces().patterns(T), HyperplanePatterns.of(T)):
        check(patterns, T, separable_in_plane)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=6))
@settings(max_examples=40, deadline=None)
def test_points_on_a_small_grid_too(points):
    T = np.array(points, dtype=float)
    check(HalfplanePatterns.of(T), T, separable_in_plane)


def test_points_on_a_line_are_cut_as_stumps_do():
    T = np.array([[3.0], [1.0], [3.0], [-2.0], [0.5]])
    stumps, planes = Halfspaces(1).patterns(T), HyperplanePatterns.of(T)
    assert {h.predict(T).tobytes() for h in stumps} == {h.predict(T).tobytes() for h in planes}
    assert len(stumps) == len(planes) == 8


@pytest.mark.parametrize(("p", "n"), [(3, 6), (4, 6)])
def test_few_points_in_space(p, n):
    rng = np.random.default_rng(p)
    for values in (2, 3, None):
        T = rng.normal(size=(n, p)) if values is None else rng.integers(0, values, size=(n, p)).astype(float)
        check(Halfspaces(p).patterns(T), T, separable)


def test_flat_points_in_space_are_those_of_the_plane_they_lie_in():
    rng = np.random.default_rng(0)
    plane = rng.integers(0, 4, size=(9, 2)).astype(float)
    T = np.column_stack([plane.sum(axis=1), plane[:, 0] - 2 * plane[:, 1], 5 - plane[:, 0]])
    found = {h.predict(T).tobytes() for h in Halfspaces(3).patterns(T)}
    assert found == {h.predict(plane).tobytes() for h in Halfspaces(2).patterns(plane)}
    row = np.column_stack([plane[:, 0], 3 * plane[:, 0], plane[:, 0] * 0, -plane[:, 0]])
    assert len(Halfspaces(4).patterns(row)) == 2 * len(np.unique(plane[:, 0]))


@pytest.mark.parametrize(("p", "n"), [(1, 30), (2, 40), (3, 16), (4, 10)])
def test_points_in_general_position_have_covers_count(p, n):
    T = np.random.default_rng(n).normal(size=(n, p))
    patterns = Halfspaces(p).patterns(T)
    assert len(patterns) == Halfspaces(p).n_patterns(n)
    assert len({h.predict(T).tobytes() for h in list(patterns)[::7]}) == len(range(0, len(patterns), 7))
    assert Halfspaces(2).n_patterns(n) == n * n - n + 2


@pytest.mark.parametrize("p", [1, 2, 3, 4])
def test_the_vc_dimension_is_one_more_than_the_features(p):
    family = Halfspaces(p)
    corners = np.concatenate([np.zeros((1, p)), np.eye(p)])
    assert family.vc == p + 1
    assert len(family.patterns(corners)) == 2 ** (p + 1) == family.n_patterns(p + 1)
    assert family.n_patterns(p + 2) < 2 ** (p + 2)


@pytest.mark.parametrize(("p", "grid"), [(2, 3), (2, 12), (3, 2), (3, 4), (4, 2)])
def test_errors_and_votes_are_those_of_the_representatives_on_ties_too(p, grid):
    rng = np.random.default_rng(grid)
    X = rng.integers(0, grid, size=(40, p)) / 2
    y = rng.integers(0, 2, size=40)
    for listed in (Halfspaces(p).patterns(X[:7]), HyperplanePatterns.of(X[:7])):
        hypotheses = list(listed)
        errors = listed.errors(X, y)
        assert errors.counts.tolist() == [(h.predict(X) != y).sum() for h in hypotheses]
        for x in [*X[5:12], np.full(p, 0.25)]:
            assert errors.votes(x).tolist() == [h.predict(x[None])[0] == 1 for h in hypotheses]


@pytest.mark.parametrize("p", [2, 3])
def test_representatives_are_halfspaces_on_every_finite_sample(p):
    rng = np.random.default_rng(p)
    T = rng.integers(0, 3, size=(5, p)).astype(float)
    X = np.concatenate([T, rng.integers(0, 5, size=(15, p)) / 2])
    for h in list(Halfspaces(p).patterns(T))[::3]:
        assert separable(h.predict(X), X)


def test_points_next_to_a_line_by_the_last_digit_are_on_their_sides():
    """Three points in a row of length 1e16 and neighbours that only exact arithmetic can tell from them."""
    pivot, toward = np.array([0.1, 0.1]), np.array([0.3, 0.3])
    line = Halfplane(pivot, toward)
    assert line.predict(np.array([pivot, toward, [0.2, 0.2], [-7.0, -7.0], [1e9, 1e9]])).tolist() == [1, 0, 0, 1, 0]
    for far in (0.2, 0.7, 12345.6, 1e12, -3.3):
        up, down = np.nextafter(far, np.inf), np.nextafter(far, -np.inf)
        assert line.predict(np.array([[far, up], [far, down]])).tolist() == [1, 0]


def test_a_label_never_depends_on_the_rows_beside_it():
    rng = np.random.default_rng(4)
    X = np.round(rng.normal(size=(200, 3)), 1)
    for p in (2, 3):
        patterns = Halfspaces(p).patterns(X[:8])
        for i in rng.integers(0, len(patterns), size=10):
            h = patterns.representative(int(i))
            assert h.predict(X).tolist() == [int(h.predict(x[None])[0]) for x in X]


@pytest.mark.parametrize("p", [2, 3])
def test_order_and_repetition_of_points_change_no_representative(p):
    rng = np.random.default_rng(5)
    T, X = rng.integers(0, 4, size=(7, p)).astype(float), rng.integers(-2, 9, size=(60, p)) / 2
    once = [h.predict(X).tolist() for h in Halfspaces(p).patterns(T)]
    again = [h.predict(X).tolist() for h in Halfspaces(p).patterns(np.concatenate([T[::-1], T[:3]]))]
    assert once == again


def test_what_is_too_large_is_refused_with_the_cost_and_a_way_out():
    with pytest.raises(InvalidParameter, match="n_features is 5; halfspaces are listed for 1 to 4 features"):
        Halfspaces(5)
    with pytest.raises(InvalidParameter, match=r"at most 1048576\. Take at most 1024 points, fewer features"):
        Halfspaces(2).patterns(np.zeros((1025, 2)))
    with pytest.raises(InvalidParameter, match=r"about 2 m\^3/3! labelings.* at most 93 points"):
        Halfspaces(3).patterns(np.zeros((94, 3)))


def test_five_hundred_points_in_the_plane_and_ten_thousand_examples_take_seconds():
    rng = np.random.default_rng(6)
    X = rng.normal(size=(10_000, 2))
    y = (X @ [1.0, 0.5] > 0.2).astype(int) ^ (rng.random(10_000) < 0.1)
    start = time.process_time()
    patterns = Halfspaces().patterns(X[:500])
    errors = patterns.errors(X, y)
    drawn = errors.draw(0.5, SeededCoins(7))
    assert time.process_time() - start < 10
    assert len(patterns) == 500 * 499 + 2
    assert (drawn.predict(X) != y).sum() < errors.best + 60 < 1200
    for i in rng.integers(0, len(patterns), size=10):
        assert errors.counts[i] == (patterns.representative(int(i)).predict(X) != y).sum()


def test_whole_numbers_keep_all_proportions():
    points = np.array([[0.5, 0.0], [-0.75, 5e-324], [3.0, 1e308]])
    numbers = whole(points, factors=2)
    assert numbers[:, 0].tolist() == [2, -3, 12]
    assert numbers[0, 1] == 0
    assert Fraction(numbers[2, 1], numbers[1, 1]) == Fraction(1e308) / Fraction(5e-324)
    assert whole(np.array([[1.0], [2.0**28]]), factors=2).dtype == np.int64
    assert whole(np.array([[1.0], [2.0**29]]), factors=2).dtype == object
    assert whole(np.empty((0, 3)), factors=3).shape == (0, 3)


def test_determinants_and_cofactors_are_those_of_linear_algebra():
    matrices = np.random.default_rng(8).integers(-9, 9, size=(5, 4, 4))
    assert determinant(matrices) == pytest.approx(np.linalg.det(matrices))
    normals = cofactors(matrices[:, 1:])
    assert (np.einsum("hk,hik->hi", normals, matrices[:, 1:]) == 0).all()
    assert determinant(np.array([[2.0**60, 1], [2.0**61, 3]]).astype(int).astype(object)) == 2**60


def test_distinct_points_are_in_order_and_know_their_likes():
    rows, place = distinct(np.array([[2, 1], [0.0, 5], [2, 0], [-0.0, 5], [2, 1]]))
    assert rows.tolist() == [[0, 5], [2, 0], [2, 1]]
    assert place.tolist() == [2, 0, 1, 0, 2]


def test_points_that_overflow_are_on_their_exact_sides_without_a_warning():
    rng = np.random.default_rng(3)
    pool = np.array([1.7e308, -1.7e308, 1e308, 0.0, 1.0, -1e300, 5e-324])
    for _ in range(20):
        T, S = rng.choice(pool, size=(4, 3)), rng.choice(pool, size=(6, 3))
        patterns = Halfspaces(3).patterns(T)
        for flat in (h.flat for h in patterns if hasattr(h, "flat")):
            rows = np.repeat(np.arange(1), len(S))
            assert flat.sides(S)[0].tolist() == flat.exact_sides(rows, np.arange(len(S)), S).tolist()
