"""DF18 and DF20: their tables, and what can be enumerated of their proofs."""

from __future__ import annotations

import inspect
import math
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from mapl.bounds import Bound
from mapl.bounds.btt18.algorithm2 import Constants
from mapl.bounds.df20.df18 import BOUNDS as DF18
from mapl.bounds.df20.df18 import agnostic, realizable, realizable_rows, vote_error
from mapl.bounds.df20.flip import flip_for
from mapl.bounds.df20.private import corollary_1, corollary_1_on_sample, corollary_1_rows
from mapl.bounds.df20.relabel import theorem_2, theorem_2_on_sample, theorem_2_rows
from mapl.bounds.df20.stable import private_floor, stable, theorem_1, theorem_1_rows, theorem_4
from mapl.bounds.df20.theorems import BOUNDS as DF20
from mapl.bounds.families import ClassifierKind, Family
from mapl.errors import CannotCalibrate, InvalidParameter

SIZES = (10**3, 10**4, 10**5, 10**6, 10**7, 10**9)
EVERYTHING: dict[str, Any] = {
    "n": 10**6,
    "epsilon": 1.0,
    "kind": ClassifierKind.any,
    "vc": 3,
    "alpha": 0.1,
    "beta": 0.05,
    "stability": 0.1,
    "flip": 0.05,
    "teacher_error": 0.1,
    "constants": Constants.derived,
}


def bound(function: Any, **changed: Any) -> Bound:
    letters = inspect.signature(function).parameters
    found = function(**{letter: value for letter, value in {**EVERYTHING, **changed}.items() if letter in letters})
    assert isinstance(found, Bound)
    return found


def near(value: float, table: float, unit: float) -> bool:
    """Whether a value is the table's: not above it but for rounding, and below by a coarser search's slack only."""
    return 0.86 * (table - unit) <= value <= table + unit


# The table of non-vacuous n in the project's notes on the papers, section 4.5: epsilon 1, excess error on the rows.
# Each entry with one unit of its last printed digit; None is vacuous.
A_STA: dict[tuple[ClassifierKind, int | None], list[tuple[float, float]]] = {
    (ClassifierKind.thresholds, None): [
        (0.169, 1e-3),
        (0.062, 1e-3),
        (0.022, 1e-3),
        (0.0075, 1e-4),
        (0.0025, 1e-4),
        (0.0003, 1e-4),
    ],
    (ClassifierKind.intervals, None): [
        (0.239, 1e-3),
        (0.087, 1e-3),
        (0.031, 1e-3),
        (0.011, 1e-3),
        (0.0036, 1e-4),
        (0.0004, 1e-4),
    ],
    (ClassifierKind.any, 5): [(0.370, 1e-3), (0.142, 1e-3), (0.053, 1e-3), (0.018, 1e-3), (0.0064, 1e-4)],
    (ClassifierKind.any, 20): [(0.655, 1e-3), (0.253, 1e-3), (0.094, 1e-3), (0.034, 1e-3), (0.012, 1e-3)],
}


@pytest.mark.parametrize(("family", "table"), A_STA.items())
def test_the_table_of_corollary_1(
    family: tuple[ClassifierKind, int | None], table: list[tuple[float, float]]
) -> None:
    kind, vc = family
    for n, (printed, unit) in zip(SIZES, table, strict=False):
        value = float(corollary_1_on_sample(n, 1.0, kind=kind, vc=vc))
        assert near(value, printed, unit)
        assert value > 0.92 * (printed - unit)


def test_the_table_at_a_tenth_of_the_budget() -> None:
    for n, printed, unit in ((10**4, 0.22, 1e-2), (10**5, 0.081, 1e-3), (10**6, 0.029, 1e-3)):
        assert near(float(corollary_1_on_sample(n, 0.1, kind=ClassifierKind.thresholds)), printed, unit)


def test_the_table_of_df18() -> None:
    for n, printed, unit in (
        (10**3, 0.121, 1e-3),
        (10**4, 0.020, 1e-3),
        (10**5, 0.003, 1e-3),
        (10**6, 0.0004, 1e-4),
    ):
        assert near(float(realizable(n, 1.0, kind=ClassifierKind.thresholds)), printed, unit)


@pytest.mark.parametrize(
    ("kind", "constants", "table"),
    [
        (
            ClassifierKind.thresholds,
            Constants.printed,
            [None, None, None, (0.53, 1e-2), (0.14, 1e-2), (0.004, 1e-3)],
        ),
        (
            ClassifierKind.thresholds,
            Constants.derived,
            [None, (0.71, 1e-2), (0.27, 1e-2), (0.053, 1e-3), (0.009, 1e-3), (3e-4, 2e-4)],
        ),
        (
            ClassifierKind.intervals,
            Constants.derived,
            [None, None, (0.63, 1e-2), (0.16, 1e-2), (0.028, 1e-3), (0.001, 1e-3)],
        ),
    ],
)
def test_the_table_of_theorem_2(
    kind: ClassifierKind, constants: Constants, table: list[tuple[float, float] | None]
) -> None:
    for n, entry in zip(SIZES, table, strict=True):
        value = float(theorem_2_on_sample(n, 1.0, kind=kind, constants=constants))
        if entry is None:
            assert value > 0.9
        else:
            assert near(value, *entry)


def test_theorem_2_overtakes_corollary_1_only_near_a_billion_rows() -> None:
    for n, better in ((10**7, False), (10**9, True)):
        relabel = float(theorem_2_on_sample(n, 1.0, kind=ClassifierKind.thresholds))
        assert (relabel < float(corollary_1_on_sample(n, 1.0, kind=ClassifierKind.thresholds))) is better


@pytest.mark.parametrize("function", [*DF18.values(), *DF20.values()])
def test_every_bound_says_what_it_means_and_assumes(function: Any) -> None:
    found = bound(function)
    assert math.isfinite(found.value)
    assert found.value >= 0
    assert found.meaning
    assert found.source.startswith("DF")
    words = " ".join(found.assumptions)
    assert "adjacency" in words
    assert "unit" in words
    if "epsilon" in inspect.signature(function).parameters:
        assert "delta = 0" in words


EXCESSES = (realizable, corollary_1, corollary_1_on_sample, theorem_1, theorem_2, theorem_2_on_sample)


@pytest.mark.parametrize("function", EXCESSES)
@pytest.mark.parametrize("vc", [1, 8])
def test_more_rows_never_hurt(function: Any, vc: int) -> None:
    found = [bound(function, n=n, vc=vc).value for n in (1, 10, 10**3, 10**5, 10**8, 10**12)]
    # Grids of sizes move with n; they may cost a hundredth.
    assert all(few * 1.01 >= many for few, many in pairwise(found))
    assert all(0 <= value <= 1 for value in found)
    assert found[-1] < 0.05


@pytest.mark.parametrize("function", [f for f in EXCESSES if f is not theorem_1])
def test_more_budget_never_hurts(function: Any) -> None:
    found = [bound(function, epsilon=epsilon).value for epsilon in (0.01, 0.1, 0.5, 1.0, 3.0, 1000.0)]
    assert all(little * 1.01 >= much for little, much in pairwise(found))


def test_population_bounds_exceed_those_on_the_rows() -> None:
    assert bound(corollary_1).value > bound(corollary_1_on_sample).value
    assert bound(theorem_2).value > bound(theorem_2_on_sample).value


@pytest.mark.parametrize("vc", [2, 30])
@pytest.mark.parametrize("alpha", [0.02, 0.2])
def test_lower_bounds_are_below_upper_bounds(vc: int, alpha: float) -> None:
    for stability in (0.3, 0.001):
        assert theorem_4(alpha, stability, vc=vc).value <= theorem_1_rows(alpha, stability, vc=vc).value
    for epsilon in (0.1, 5.0):
        floor = private_floor(alpha, epsilon, vc=vc).value
        assert floor <= corollary_1_rows(alpha, epsilon, vc=vc).value
        assert floor <= realizable_rows(alpha, epsilon, vc=vc).value


def test_rows_and_excess_are_inverse() -> None:
    rows = int(corollary_1_rows(0.1, 1.0, vc=3).value)
    assert corollary_1(rows, 1.0, vc=3).value <= 0.1 < corollary_1(int(0.98 * rows), 1.0, vc=3).value
    rows = int(theorem_1_rows(0.1, 0.05, vc=3).value)
    assert theorem_1(rows, 0.05, vc=3).value <= 0.1 < theorem_1(int(0.98 * rows), 0.05, vc=3).value
    rows = int(realizable_rows(0.05, 1.0, vc=3).value)
    assert realizable(rows, 1.0, vc=3).value <= 0.05


def test_rows_follow_the_printed_orders() -> None:
    few, many = (corollary_1_rows(alpha, 0.01, vc=3).value for alpha in (0.1, 0.01))
    assert 80 < many / few < 250
    few, many = (theorem_1_rows(0.1, stability, vc=3).value for stability in (1e-3, 1e-5))
    assert 80 < many / few < 150
    few, many = (realizable_rows(alpha, 0.1, vc=3).value for alpha in (0.1, 0.001))
    assert 100 < many / few < 400


# The parts of the proofs.


def worst_ratio(inner: float, additive: float, flip: float) -> float:
    """Return the largest log-ratio of flipped predictions over all pairs that are (inner, additive)-close."""
    worst = 0.0
    for p in np.linspace(0, 1, 401):
        # Largest q with q <= e^inner p + additive and 1 - p <= e^inner (1 - q) + additive.
        q = min(1.0, math.exp(inner) * p + additive, 1 - (1 - p - additive) * math.exp(-inner))
        high, low = ((1 - 2 * flip) * v + flip for v in (max(p, q), p))
        worst = max(worst, math.log(high / low), math.log((1 - low) / (1 - high)))
    return worst


def pure_epsilon(inner: float, additive: float, flip: float) -> float:
    """Return the pure epsilon of an (inner, additive)-private prediction that is flipped with the given chance.

    max{ln(1 + (1 - 2f) delta/f), ln((1 - f)/((1 - 2f)(1 - delta) e^(-inner) + f))}: section 4.4 (3) of the notes,
    at the two corners of the region of allowed pairs of probabilities.
    """
    up = math.log1p((1 - 2 * flip) * additive / flip)
    down = math.log((1 - flip) / ((1 - 2 * flip) * (1 - additive) * math.exp(-inner) + flip))
    return max(up, down)


@given(st.floats(0.01, 3), st.floats(1e-4, 0.5), st.floats(0.01, 0.45))
def test_flipping_gives_the_pure_epsilon_that_is_claimed(inner: float, additive: float, flip: float) -> None:
    claimed = pure_epsilon(inner, additive, flip)
    found = worst_ratio(inner, additive, flip)
    assert found <= claimed + 1e-9
    # The first of the two corners is attained.
    assert found >= math.log1p((1 - 2 * flip) * additive / flip) - 1e-9


@given(st.floats(0.01, 3), st.floats(1e-6, 0.9))
def test_the_chosen_flip_keeps_epsilon(epsilon: float, additive: float) -> None:
    flip = float(flip_for(epsilon, np.asarray(additive)))
    assert pure_epsilon(epsilon, additive, flip) == pytest.approx(epsilon)


@given(st.floats(0, 3), st.floats(0, 0.9))
def test_stability_is_the_largest_move(inner: float, additive: float) -> None:
    p = np.linspace(0, 1, 2001)
    q = np.minimum(1, np.minimum(math.exp(inner) * p + additive, 1 - (1 - p - additive) * math.exp(-inner)))
    stability = additive + (1 - additive) * math.tanh(inner / 2)  # the paper is content with 3 max{inner, additive}
    assert float((q - p).max()) == pytest.approx(stability, abs=2e-3)
    assert (q - p).max() <= stability + 1e-9


@pytest.mark.parametrize("kind", [ClassifierKind.thresholds, ClassifierKind.intervals])
@pytest.mark.parametrize(("nu", "sample"), [(0.2, 4), (0.35, 4), (0.5, 3)])
def test_nets_are_missed_less_often_than_claimed(kind: ClassifierKind, nu: float, sample: int) -> None:
    n = 10
    points = range(n)
    if kind is ClassifierKind.thresholds:
        patterns = [tuple(x >= cut for x in points) for cut in range(n + 1)]
    else:
        patterns = [tuple(a <= x < b for x in points) for a in points for b in range(a, n + 1)]
    patterns = sorted(set(patterns))
    far = [
        {x for x in points if g[x] != h[x]}
        for g, h in combinations(patterns, 2)
        if sum(a != b for a, b in zip(g, h, strict=True)) > nu * n
    ]
    subsets = list(combinations(points, sample))
    missed = np.mean([any(not apart & set(subset) for apart in far) for subset in subsets])
    claimed = float(Family.of(kind).missed(n, np.asarray(nu), np.asarray(float(sample))))
    assert 0 < missed <= claimed
    assert len(patterns) <= round(math.exp(float(Family.of(kind).log_patterns(np.asarray(float(n))))))


@pytest.mark.parametrize("kind", [ClassifierKind.thresholds, ClassifierKind.intervals])
def test_teachers_err_less_than_claimed(kind: ClassifierKind) -> None:
    rng = np.random.default_rng(2)
    rows, errors = 20, []
    for _ in range(4000):
        x = np.sort(rng.random(rows))
        if kind is ClassifierKind.thresholds:
            # The worst consistent threshold: at the farther end of the gap around the truth.
            inside = np.concatenate(([0.0], x, [1.0]))
            gap = inside[inside <= 0.5].max(), inside[inside > 0.5].min()
            errors.append(max(0.5 - gap[0], gap[1] - 0.5))
        else:
            held = x[(x > 0.3) & (x < 0.7)]
            errors.append(0.4 - (held.max() - held.min() if held.size else 0.0))
    assert np.mean(errors) <= float(Family.of(kind).teacher_error(np.asarray(float(rows))))


@pytest.mark.parametrize("epsilon", [0.1, 1.0])
@pytest.mark.parametrize("k", [11, 60])
def test_votes_err_less_than_claimed(epsilon: float, k: int) -> None:
    # Teachers err independently with chance a on every question, and a Laplace threshold decides.
    a = 0.05
    wrong = np.arange(k + 1)
    distance = k / 2 - wrong
    loses = np.where(
        distance >= 0, np.exp(-epsilon * np.abs(distance)) / 2, 1 - np.exp(-epsilon * np.abs(distance)) / 2
    )
    exact = float(binom.pmf(wrong, k, a) @ loses)
    assert exact <= float(vote_error(np.asarray([float(k)]), np.asarray([a]), epsilon)[0])


@pytest.mark.parametrize(("epsilon", "flip"), [(1.0, 0.05), (0.1, 0.2), (3.0, 0.01)])
def test_the_random_teacher_is_private_and_one_fewer_is_not(epsilon: float, flip: float) -> None:
    k = int(agnostic(epsilon, flip).value)

    def spent(teachers: int) -> float:
        shares = (1 - 2 * flip) * np.arange(teachers + 1) / teachers + flip
        return float(np.abs(np.diff(np.log(shares))).max())

    assert spent(k) <= epsilon + 1e-12
    assert k == 1 or spent(k - 1) > epsilon


def test_a_coin_needs_no_rows() -> None:
    assert realizable(1, 0.01, vc=10).value == 0.5
    assert stable(1, 0.5, Family.of(ClassifierKind.any, 3)).excess == 1.0


@pytest.mark.parametrize(
    ("function", "letter", "value", "words"),
    [
        (realizable, "n", 0, "n is 0; it must be"),
        (realizable, "epsilon", math.nan, "epsilon is nan; it must be"),
        (realizable, "vc", 0, "vc is 0; it must be"),
        (realizable, "vc", None, "vc is not given"),
        (realizable, "kind", "stumps", "kind is 'stumps'; it must be one of thresholds, intervals, any"),
        (corollary_1, "kind", ClassifierKind.thresholds, "thresholds have VC dimension 1"),
        (corollary_1, "beta", 1.0, "beta is 1.0; it must be"),
        (theorem_1, "stability", 0.0, "stability is 0.0; it must be"),
        (agnostic, "flip", 0.5, "flip is 0.5; it must be"),
        (theorem_2, "constants", "best", "constants is best; it must be"),
        (theorem_2_on_sample, "n", 10**13, "n is 10000000000000; it must be"),
    ],
)
def test_senseless_settings_are_refused_by_name(function: Any, letter: str, value: Any, words: str) -> None:
    with pytest.raises(InvalidParameter, match=words):
        bound(function, **{letter: value})


def test_theorem_4_is_silent_above_a_quarter() -> None:
    with pytest.raises(CannotCalibrate, match=r"alpha up to 0\.25"):
        theorem_4(0.3, 0.1, vc=5)


def test_rows_of_theorem_2_are_found_up_to_the_most_that_bounds_know() -> None:
    """The search doubles: from 2^39 it would ask for 2^40 rows, which are more than 10^12."""
    assert 5e11 < float(theorem_2_rows(2e-5, 1.0, kind=ClassifierKind.thresholds)) < 1e12
    with pytest.raises(InvalidParameter, match="would take more than 1,000,000,000,000 rows"):
        theorem_2_rows(1e-5, 1.0, kind=ClassifierKind.thresholds)
