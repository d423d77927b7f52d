"""Every class against brute force: all labelings of tiny T, all errors, the exact law, the drawn frequencies."""

import time
from collections import Counter
from decimal import Decimal, localcontext
from itertools import product

import numpy as np
import pytest

from mapl.errors import InvalidData, InvalidParameter
from mapl.noise import ONE, SeededCoins
from mapl.prediction.hypotheses import (
    Finite,
    Halfspaces,
    Intervals,
    Rectangles,
    Stumps,
    Thresholds,
    Unions,
    conjunctions,
    decision_lists,
)
from mapl.prediction.hypotheses.finite import sauer


def ups(column, labels):
    """Whether no 0 is at or above a 1."""
    ones, zeros = column[labels == 1], column[labels == 0]
    return not len(ones) or not len(zeros) or zeros.max() < ones.min()


def blocks(column, labels):
    """The number of blocks of ones along the column, or infinity where equal values have different labels."""
    runs = 0
    last = 0
    for value in np.unique(column):
        here = set(labels[column == value])
        if len(here) > 1:
            return float("inf")
        bit = here.pop()
        runs += bit > last
        last = bit
    return runs


def conjunction_says(labels, T, width):
    """Whether at most `width` literals that all ones share exclude every zero; no ones is always possible."""
    ones, zeros = T[labels == 1], T[labels == 0]
    if not len(ones):
        return True
    shared = [(f, ones[0, f]) for f in range(T.shape[1]) if (ones[:, f] == ones[0, f]).all()]
    return any(
        all(any(z[f] != v for f, v in some) for z in zeros) for some in product(shared, repeat=width)
    ) or not len(zeros)


def list_says(labels, T, length):
    """Whether one literal after another can split off points of one label until one label is left."""
    if len(set(labels)) < 2:
        return True
    return length > 0 and any(
        len(set(labels[T[:, f] == v])) == 1 and list_says(labels[T[:, f] != v], T[T[:, f] != v], length - 1)
        for f in range(T.shape[1])
        for v in (0.0, 1.0)
    )


def boxed(labels, T):
    """Whether no 0 is in the bounding box of the ones."""
    ones, zeros = T[labels == 1], T[labels == 0]
    return not len(ones) or not ((ones.min(axis=0) <= zeros) & (zeros <= ones.max(axis=0))).all(axis=1).any()


def separable(labels, T):
    """Whether some halfspace gives the labels, by a linear program with margin 1."""
    from scipy.optimize import linprog

    rows = -np.where(labels == 1, 1.0, -1.0)[:, None] * np.column_stack([T, np.ones(len(T))])
    return linprog(np.zeros(rows.shape[1]), A_ub=rows, b_ub=-np.ones(len(T)), bounds=(None, None)).status == 0


def some_rules(seed, n_rules, n_features):
    directions = np.random.default_rng(seed).normal(size=(n_rules, n_features + 1))
    return [lambda X, w=w: (X @ w[1:] > w[0]).astype(int) for w in directions]


RULES = some_rules(5, 30, 2)
NUMBERS = "numbers"
BITS = "bits"
CASES = {
    "thresholds": (Thresholds(), NUMBERS, lambda y, T: ups(T[:, 0], y)),
    "thresholds on the second feature": (Thresholds(feature=1), NUMBERS, lambda y, T: ups(T[:, 1], y)),
    "stumps on one feature": (Stumps(1), NUMBERS, lambda y, T: ups(T[:, 0], y) or ups(T[:, 0], 1 - y)),
    "stumps": (
        Stumps(2),
        NUMBERS,
        lambda y, T: any(ups(T[:, f], y) or ups(T[:, f], 1 - y) for f in range(2)),
    ),
    "intervals": (Intervals(), NUMBERS, lambda y, T: blocks(T[:, 0], y) <= 1),
    "one interval": (Unions(1, feature=1), NUMBERS, lambda y, T: blocks(T[:, 1], y) <= 1),
    "two intervals": (Unions(2), NUMBERS, lambda y, T: blocks(T[:, 0], y) <= 2),
    "three intervals": (Unions(3), NUMBERS, lambda y, T: blocks(T[:, 0], y) <= 3),
    "rectangles": (Rectangles(), NUMBERS, lambda y, T: boxed(y, T)),
    "halfspaces in the plane": (Halfspaces(), NUMBERS, separable),
    "functions": (
        Finite.of(RULES, n_features=2),
        NUMBERS,
        lambda y, T: any((rule(T) == y).all() for rule in RULES),
    ),
    "conjunctions": (conjunctions(3, max_literals=2), BITS, lambda y, T: conjunction_says(y, T, 2)),
    "decision lists": (decision_lists(3, max_rules=2), BITS, lambda y, T: list_says(y, T, 2)),
}
everyone = pytest.mark.parametrize(("family", "kind", "allows"), CASES.values(), ids=CASES)


def sample(kind, rng, n_points):
    """Points on a coarse grid, so that values tie within T, within S and between them."""
    if kind == BITS:
        return rng.integers(0, 2, size=(n_points, 3)).astype(float)
    return rng.integers(-3, 4, size=(n_points, 2)) / 2


def brute_chances(hypotheses, X, y, rate):
    """The exponential mechanism's law to fifty digits."""
    with localcontext() as context:
        context.prec = 50
        masses = [(-Decimal(rate) * int((h.predict(X) != y).sum())).exp() for h in hypotheses]
        total = sum(masses)
        return [mass / total for mass in masses]


@everyone
def test_the_patterns_are_exactly_the_labelings_that_the_class_gives(family, kind, allows):
    rng = np.random.default_rng(1)
    for n_points in (1, 2, 3, 5, 6, 7):
        for _ in range(4):
            T = sample(kind, rng, n_points)
            found = [tuple(h.predict(T)) for h in family.patterns(T)]
            possible = {y for y in product((0, 1), repeat=n_points) if allows(np.array(y), T)}
            assert set(found) == possible
            assert len(found) == len(possible) == len(family.patterns(T)) <= family.n_patterns(n_points)


@everyone
def test_no_points_have_one_labeling(family, kind, allows):
    nothing = np.empty((0, 3))
    patterns = family.patterns(nothing)
    assert len(patterns) == len(list(patterns)) == 1 <= family.n_patterns(0)
    X = sample(kind, np.random.default_rng(2), 5)
    y = np.array([0, 1, 1, 0, 1])
    (only,) = patterns
    errors = patterns.errors(X, y)
    assert errors.best == (only.predict(X) != y).sum()
    assert (errors.draw(1.0, SeededCoins(0)).predict(X) == only.predict(X)).all()
    assert errors.law(1.0, X[0]) == only.predict(X[:1])[0]
    assert patterns.errors(X[:0], y[:0]).best == 0


@everyone
def test_errors_and_law_are_those_of_the_representatives(family, kind, allows):
    rng = np.random.default_rng(3)
    for n_points, rate in ((2, 0.3), (4, 1.7), (6, 0.05)):
        X = sample(kind, rng, 3 * n_points)
        y = rng.integers(0, 2, size=len(X))
        patterns = family.patterns(X[:n_points])
        hypotheses = list(patterns)
        errors = patterns.errors(X, y)
        assert errors.best == min((h.predict(X) != y).sum() for h in hypotheses)
        chances = brute_chances(hypotheses, X, y, rate)
        for x in [*X, np.full(X.shape[1], -0.7), np.full(X.shape[1], 0.6)]:
            exact = sum(c for h, c in zip(hypotheses, chances, strict=True) if h.predict(x[None])[0])
            assert abs(errors.numerator(rate, x) - exact * ONE) <= 1
            assert errors.law(rate, x) == pytest.approx(float(exact), rel=1e-15)


@pytest.mark.statistical
@everyone
@pytest.mark.parametrize("by", ["exponential", "permute-and-flip"])
def test_drawn_frequencies_follow_the_law(family, kind, allows, by):
    """Chi-square over labelings; false alarm 1e-6 for each case."""
    from scipy.stats import chi2

    rng = np.random.default_rng(4)
    X = sample(kind, rng, 12)
    y = rng.integers(0, 2, size=12)
    patterns = family.patterns(X[:4])
    hypotheses = list(patterns)
    errors = patterns.errors(X, y)
    coins = SeededCoins(7)
    n_draws = 1500
    drawn = Counter(tuple(errors.draw(0.4, coins, by=by).predict(X[:4])) for _ in range(n_draws))
    counts = np.array([(h.predict(X) != y).sum() for h in hypotheses])
    if by == "exponential":
        chances = np.array(brute_chances(hypotheses, X, y, 0.4), dtype=float)
    else:
        chances = brute_flip_chances(np.exp(-0.4 * (counts - counts.min())))
    seen = np.array([drawn.pop(tuple(h.predict(X[:4])), 0) for h in hypotheses])
    assert not drawn
    statistic = ((seen - n_draws * chances) ** 2 / (n_draws * chances)).sum()
    assert statistic < chi2.isf(1e-6, len(chances) - 1)
    for x in X[:3]:
        ones = sum(c for h, c in zip(hypotheses, chances, strict=True) if h.predict(x[None])[0])
        assert errors.law(0.4, x, by=by) == pytest.approx(float(ones), abs=1e-12)


def brute_flip_chances(accept):
    """Permute-and-flip by its polynomial: p_i times the integral of the product of (1 - p_j t) over the others."""
    chances = []
    for i, p in enumerate(accept):
        nodes, weights = np.polynomial.legendre.leggauss(len(accept))
        rejects = np.prod(1 - np.outer((nodes + 1) / 2, np.delete(accept, i)), axis=1)
        chances.append(p * (weights / 2 * rejects).sum())
    return np.array(chances)


@everyone
def test_the_drawn_rule_is_a_representative_and_never_depends_on_the_sample(family, kind, allows):
    rng = np.random.default_rng(6)
    T = sample(kind, rng, 5)
    grid = sample(kind, rng, 40)
    allowed = {tuple(h.predict(grid)) for h in family.patterns(T)}
    coins = SeededCoins(8)
    for _ in range(20):
        X = np.concatenate([T, sample(kind, rng, 6)])
        errors = family.patterns(T).errors(X, rng.integers(0, 2, size=len(X)))
        assert tuple(errors.draw(0.5, coins).predict(grid)) in allowed


@everyone
def test_the_order_of_the_points_changes_nothing(family, kind, allows):
    rng = np.random.default_rng(9)
    T, X = sample(kind, rng, 6), sample(kind, rng, 15)
    y = rng.integers(0, 2, size=15)
    order = rng.permutation(15)
    first = family.patterns(T).errors(X, y)
    second = family.patterns(T[::-1]).errors(X[order], y[order])
    assert [first.numerator(0.8, x) for x in X] == [second.numerator(0.8, x) for x in X]


@everyone
def test_nothing_private_is_printed(family, kind, allows):
    X = sample(kind, np.random.default_rng(10), 6)
    patterns = family.patterns(X)
    errors = patterns.errors(X, np.array([0, 1, 0, 1, 1, 0]))
    for private in (patterns, errors):
        assert repr(private).endswith("(private)")
    if kind == NUMBERS:
        assert repr(errors.draw(1.0, SeededCoins(0))).endswith("(private)")


@everyone
def test_wrong_input_is_refused_without_quoting_it(family, kind, allows):
    X = sample(kind, np.random.default_rng(11), 6)
    patterns = family.patterns(X)
    y = np.array([0, 1, 0, 1, 1, 0])
    with pytest.raises(InvalidData, match="0 and 1"):
        patterns.errors(X, y + 7)
    with pytest.raises(InvalidData, match="one label"):
        patterns.errors(X, y[:3])
    with pytest.raises(InvalidData, match="NaN"):
        family.patterns(np.full_like(X, np.nan))
    with pytest.raises(InvalidData, match="one row per point"):
        family.patterns(X[0])
    errors = patterns.errors(X, y)
    for rate in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(InvalidParameter, match="rate"):
            errors.draw(rate, SeededCoins(0))
    with pytest.raises(InvalidParameter, match="permute-and-flip"):
        errors.draw(1.0, SeededCoins(0), by="softmax")


@pytest.mark.parametrize("family", [Thresholds(), Stumps(1), Intervals(), Unions(2)], ids=str)
def test_the_vc_dimension_is_that_of_distinct_points(family):
    line = np.arange(family.vc + 1.0)[:, None]
    assert len(family.patterns(line[:-1])) == 2**family.vc
    assert len(family.patterns(line)) < 2 ** (family.vc + 1)
    assert family.n_patterns(9) == len(family.patterns(np.arange(9.0)[:, None]))
    assert family.n_patterns(9) <= sauer(9, family.vc)


def seconds(family, n_points, n_features):
    rng = np.random.default_rng(12)
    X = rng.normal(size=(n_points, n_features))
    y = (X[:, 0] > 0).astype(int) ^ (rng.random(n_points) < 0.1)
    times = []
    for _ in range(3):
        start = time.process_time()
        family.patterns(X[: n_points // 4]).errors(X, y).draw(0.01, SeededCoins(13))
        times.append(time.process_time() - start)
    return min(times)


@pytest.mark.parametrize(
    ("family", "n_points"),
    [(Thresholds(), 40_000), (Stumps(5), 10_000), (Intervals(), 4_000), (Unions(3), 2_000)],
    ids=str,
)
def test_eight_times_the_points_take_about_eight_times_as_long(family, n_points):
    """O(n log n): the factor would be 64 for anything quadratic."""
    assert seconds(family, 8 * n_points, 5) < 24 * seconds(family, n_points, 5)
