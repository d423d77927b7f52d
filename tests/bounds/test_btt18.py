"""BTT18's theorems: recomputed by hand, enumerated, or run against the mechanisms they speak of."""

from __future__ import annotations

import inspect
import math
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest

from mapl.bounds import Bound
from mapl.bounds.btt18.algorithm2 import Constants, count_contested
from mapl.bounds.btt18.theorems import BOUNDS
from mapl.bounds.learners import agnostic_excess, realizable_error, relative_deviation
from mapl.errors import CannotCalibrate, InvalidParameter
from mapl.mechanisms.mechanism import Task
from mapl.mechanisms.papers.btt18 import BTT18
from mapl.mechanisms.papers.stable_once import StableOnce
from mapl.mechanisms.stable_queries import StableQueries
from mapl.noise import SeededCoins
from mapl.types import Budget, Tallies

EVERYTHING: dict[str, Any] = {
    "n": 10**10,
    "vc": 3,
    "epsilon": 1.0,
    "delta": 1e-6,
    "m": 1000,
    "beta": 0.05,
    "gamma": 0.01,
    "alpha": 0.02,
    "cutoff": 20,
    "teachers": 90,
    "mistakes": 4,
    "xi": 1 / 3,
    "constants": Constants.derived,
}


def bound(name: str, **changed: Any) -> Bound:
    """Compute a bound by name, from everything that it takes."""
    function = BOUNDS[name]
    given = {**EVERYTHING, **changed}
    return function(**{p: given[p] for p in inspect.signature(function).parameters})


def slope(name: str, letter: str, low: float, high: float, **fixed: Any) -> float:
    """Return the exponent with which a bound follows a letter between two values."""
    kind = type(EVERYTHING[letter])
    below = bound(name, **{letter: kind(low)}, **fixed).value
    above = bound(name, **{letter: kind(high)}, **fixed).value
    return math.log(above / below) / math.log(high / low)


@pytest.mark.parametrize("name", BOUNDS)
def test_every_bound_says_what_it_means_and_assumes(name: str) -> None:
    found = bound(name)
    assert math.isfinite(found.value)
    assert float(found) == found.value > 0
    assert found.meaning
    assert found.assumptions
    assert found.source.startswith("BTT18")
    assert all(math.isfinite(value) for value in found.terms.values())
    assert (inspect.getdoc(BOUNDS[name]) or "").count("Assumes") == 1 or name in ("theorem-2.4", "lemma-3.3")
    if "epsilon" in inspect.signature(BOUNDS[name]).parameters:
        said = " ".join(found.assumptions)
        assert all(word in said for word in ("epsilon is promised at delta", "adjacency", "unit"))
    with pytest.raises(TypeError):
        found.terms["n"] = 1.0  # type: ignore[index]


# One answer.


def laplace_above(x: float, scale: float) -> float:
    return math.exp(-x / scale) / 2 if x >= 0 else 1 - math.exp(x / scale) / 2


@pytest.mark.parametrize(("epsilon", "delta", "beta"), [(0.5, 1e-6, 0.05), (2.0, 1e-3, 0.5), (1.0, 0.3, 1e-6)])
def test_one_answer_passes_with_exactly_delta_and_one_minus_beta(epsilon: float, delta: float, beta: float) -> None:
    threshold = bound("theorem-2.4", epsilon=epsilon, delta=delta).value
    assert laplace_above(threshold, 1 / epsilon) == pytest.approx(delta, rel=1e-12)
    distance = bound("theorem-2.5", epsilon=epsilon, delta=delta, beta=beta)
    assert laplace_above(threshold - distance.value, 1 / epsilon) == pytest.approx(1 - beta, rel=1e-12)
    assert distance.terms["printed_distance"] == pytest.approx(math.log(1 / (delta * beta)) / epsilon)
    mechanism = StableOnce.for_task(Task(Budget(epsilon, delta), 100, 2, 1))
    needed = mechanism.required_distance(1 - beta)
    assert needed is not None
    assert abs(needed - distance.value) <= 2 + 1e-6 * needed


def test_a_generous_delta_needs_no_threshold() -> None:
    assert bound("theorem-2.4", delta=0.7).value == 0
    assert bound("theorem-2.5", delta=0.7, beta=0.9).value == 0


# The privacy of many answers.


def test_theorem_3_1_by_hand() -> None:
    # Printed constants at T = 20: 21 epochs, rho = 42/lambda^2.
    found = bound("theorem-3.1", constants=Constants.printed)
    scale = math.sqrt(640 * math.log(2e6))
    rho = 42 / scale**2
    bad = 2 / 3 * 21 * math.exp(-math.ceil(2 * scale * math.log(2e9)) / (2 * scale))
    zcdp = rho + 2 * math.sqrt(rho * math.log(1 / (1e-6 - bad)))
    assert found.value == pytest.approx(min(zcdp, 42 / scale), rel=1e-12)
    assert found.terms["delta_of_bad_passes"] == pytest.approx(bad)
    assert found.terms["epochs"] == 21
    assert found.terms["lambda"] == pytest.approx(scale)
    assert found.terms["w"] == math.ceil(2 * scale * math.log(2e9))


@pytest.mark.parametrize("beta", [0.3, 0.05, 1e-9])
def test_theorem_3_1_tells_k_beside_lambda_and_w(beta: float) -> None:
    """k = 34 sqrt(2) lambda ln(4mT/min(delta, beta/2)), as printed; the price does not depend on it."""
    found = bound("theorem-3.1", constants=Constants.printed, beta=beta)
    log = math.log(4 * EVERYTHING["m"] * 20 / min(1e-6, beta / 2))
    assert found.terms["k"] == math.ceil(34 * math.sqrt(2) * found.terms["lambda"] * log)
    assert found.value == bound("theorem-3.1", constants=Constants.printed).value
    derived = bound("theorem-3.1", beta=beta)
    assert derived.terms["k"] < found.terms["k"]


@pytest.mark.parametrize(("epsilon", "cutoff"), [(0.5, 1), (1.0, 50), (4.0, 300)])
def test_theorem_3_1_is_at_least_the_price_of_the_mechanism(epsilon: float, cutoff: int) -> None:
    task = Task(Budget(epsilon, 1e-6), 100, 2, 1000)
    printed = BTT18.for_task(task, max_abstentions=cutoff).total.epsilon(1e-6)
    derived = StableQueries.for_task(task, max_abstentions=cutoff + 1).total.epsilon(1e-6)
    given = {"epsilon": epsilon, "cutoff": cutoff}
    rounding = 1 + 1e-12
    assert 0 < derived <= bound("theorem-3.1", **given).value * rounding <= epsilon * rounding**2
    assert printed <= bound("theorem-3.1", **given, constants=Constants.printed).value * rounding <= epsilon


# Lemma 3.3.


@pytest.mark.parametrize("xi", [1 / 4, 1 / 3, 1 / 2])
@pytest.mark.parametrize(("teachers", "m"), [(2, 5), (3, 4), (4, 3)])
def test_the_counting_lemma_is_attained_and_never_exceeded(teachers: int, m: int, xi: float) -> None:
    for mistakes in range(m + 1):
        ways = [w for size in range(mistakes + 1) for w in combinations(range(m), size)]
        most = 0
        for errors in product(ways, repeat=teachers):
            wrong = [sum(question in w for w in errors) for question in range(m)]
            most = max(most, sum(count > xi * teachers + 1e-9 for count in wrong))
        found = bound("lemma-3.3", teachers=teachers, m=m, mistakes=mistakes, xi=xi)
        assert found.value == most
        # Printed: fewer than B/xi, which fails without any mistake only.
        assert most < found.terms["printed_bound"] or mistakes == 0


# Theorem 3.2.


def test_theorem_3_2_by_hand() -> None:
    # q = 0.03, m = 1000: 90 contested ones are expected; L = ln 40.
    found = bound("theorem-3.2")
    log = math.log(40)
    assert found.value == math.floor(90 + log / 3 + math.sqrt(log**2 / 9 + 180 * log)) / 1000 == 0.117
    assert found.terms["printed_cutoff"] == pytest.approx(3 * (30 + math.sqrt(30 * math.log(20_000) / 2)))
    assert found.terms["cutoff_by_teacher"] > found.terms["cutoff"]
    assert bound("theorem-3.2", gamma=0.9).value == 1.0


# Theorems 3.4 and 3.5.


@pytest.mark.parametrize("name", ["theorem-3.4", "theorem-3.5", "composition", "composition-agnostic"])
def test_rates_move_the_right_way(name: str) -> None:
    usual = bound(name).value
    assert usual < 1
    assert bound(name, n=10**11).value < usual
    assert bound(name, epsilon=3.0).value <= usual
    assert bound(name, vc=6).value >= usual
    assert bound(name, delta=1e-12).value >= usual
    if "gamma" in inspect.signature(BOUNDS[name]).parameters:
        assert bound(name, gamma=0.05).value > usual


@pytest.mark.parametrize("name", ["theorem-3.4", "theorem-3.5", "theorem-4.2-error", "theorem-4.3-error"])
def test_printed_constants_promise_less(name: str) -> None:
    printed, derived = bound(name, constants=Constants.printed, n=10**12), bound(name, n=10**12)
    assert printed.value >= derived.value
    assert printed.terms["teachers"] > 4 * derived.terms["teachers"]


def test_the_realizable_rate_has_the_printed_order() -> None:
    # Beyond M questions: m V^2/(epsilon n)^2 up to logarithms, against sqrt(m) V/(epsilon n) by composition.
    many = {"m": 10**7}
    assert -2.4 < slope("theorem-3.4", "n", 10**11, 10**12, **many) < -1.7
    assert 0.8 < slope("theorem-3.4", "m", 10**7, 10**8, n=10**12) < 1.3
    assert -1.2 < slope("composition", "n", 10**11, 10**12, **many) < -0.8
    assert 0.4 < slope("composition", "m", 10**7, 10**8, n=10**12) < 0.6


def test_the_agnostic_rate_has_the_printed_order() -> None:
    assert -0.8 < slope("theorem-3.5", "n", 10**11, 10**12, m=10**6, gamma=0.0) < -0.55
    assert 0.2 < slope("theorem-3.5", "m", 10**6, 10**7, n=10**12, gamma=0.0) < 0.45


def test_stability_wins_while_few_questions_are_contested_and_loses_when_most_are() -> None:
    few = {"n": 10**12, "m": 10**6}
    assert bound("theorem-3.4", **few).value < bound("composition", **few).value / 20
    most = {"n": 10**9, "m": 10**5}
    assert bound("theorem-3.4", **most).value > bound("composition", **most).value


@pytest.mark.parametrize("rate", ["theorem-3.4", "theorem-3.5"])
def test_free_questions_keep_the_cutoff_constant(rate: str) -> None:
    given = {"n": 10**12, "gamma": 0.0}
    free = bound(f"{rate}-free", **given)
    m, cutoff = int(free.value), free.terms["cutoff"]
    assert m > cutoff
    assert bound(rate, m=m, **given).terms["cutoff"] <= cutoff
    # A hundred times as many are no longer free.
    assert bound(rate, m=100 * m, **given).terms["cutoff"] > 3 * cutoff
    # The cutoff allows for one expected contested question at beta/4.
    assert cutoff == count_contested(10**9, 1 / (3 * 10**9), 0.05 / 4)


def test_the_number_of_free_questions_has_the_printed_order() -> None:
    assert 0.85 < slope("theorem-3.4-free", "n", 10**11, 10**12) < 1.05
    assert 0.8 < slope("theorem-3.4-free", "epsilon", 0.1, 1.0, n=10**12) < 1.1
    assert 0.4 < slope("theorem-3.5-free", "n", 10**11, 10**12, gamma=0.0) < 0.55
    # 3 gamma m <= 1 is what gamma alone allows.
    assert 10 <= bound("theorem-3.5-free", n=10**12, gamma=0.02).value <= 16


@pytest.mark.statistical
def test_thresholds_that_are_really_learned_keep_the_rate() -> None:
    # Teachers put the threshold at their first positive row, so all their errors lie right of the truth, 1/2: the
    # error of each is 1 - U^(1/rows). Every one of the runs keeps the promise; it may fail with probability 0.2.
    given = {"n": 10**8, "vc": 1, "epsilon": 4.0, "delta": 1e-3, "m": 300, "beta": 0.2}
    found = bound("theorem-3.4", **given)
    assert found.value < 0.1
    teachers, rows = int(found.terms["teachers"]), int(found.terms["rows_each"])
    task = Task(Budget(4.0, 1e-3), teachers, 2, 300)
    mechanism = StableQueries.for_task(task, max_abstentions=int(found.terms["cutoff"]) + 1)
    for seed in range(30):
        rng = np.random.default_rng(seed)
        learned = np.sort(0.5 + 1 - rng.random(teachers) ** (1 / rows))
        questions = rng.random(300)
        positive = np.where(questions < 0.5, 0, np.searchsorted(learned, questions, side="right"))
        coins = SeededCoins(seed)
        votes = Tallies(np.stack([teachers - positive, positive], axis=1))
        labels = mechanism.release(mechanism.start(coins), votes, coins).labels
        assert len(labels) == 300
        assert (labels != (questions >= 0.5)).mean() <= found.value


# Composition.


def test_the_epsilon_of_each_answer_composes_to_the_budget() -> None:
    each = bound("composition").terms["epsilon_each"]
    total = each * math.sqrt(2000 * math.log(2e6)) + 1000 * each * math.expm1(each)
    assert total == pytest.approx(1.0, rel=1e-9)
    found = bound("composition").terms
    distance = math.ceil(math.log(1e9) / each) + math.ceil(math.log(40_000) / each) + 1
    assert (found["distance"], found["teachers"]) == (distance, 6 * (distance + 1))


# Section 4.


def test_claim_4_1_is_markovs_inequality() -> None:
    found = bound("claim-4.1")
    assert found.value == pytest.approx(0.09)
    assert found.terms["printed_bound"] == pytest.approx(0.17)
    assert bound("claim-4.1", gamma=0.5).value == 1.0


@pytest.mark.parametrize("alpha", [0.3, 0.05, 1e-3, 1e-5])
@pytest.mark.parametrize("beta", [0.2, 1e-6])
@pytest.mark.parametrize("vc", [1, 30])
def test_students_reach_the_printed_error(alpha: float, beta: float, vc: int) -> None:
    given = {"vc": vc, "alpha": alpha, "beta": beta}
    if alpha < 0.3:
        for name in ("theorem-4.2", "remark-2", "section-5"):
            found = bound(name, **given)
            assert found.terms["error"] <= 15 * alpha == pytest.approx(found.terms["printed_error"])
        agnostic = bound("theorem-4.3", **given, gamma=0.01)
        assert agnostic.terms["error"] <= agnostic.terms["printed_error"] == pytest.approx(0.07 + 15 * alpha)
    else:
        with pytest.raises(CannotCalibrate, match="fall well below 1/3"):
            bound("theorem-4.3", **given, gamma=0.1)
    assert bound("remark-3", **given).terms["error"] == alpha


def test_theorem_4_2_by_hand() -> None:
    found = bound("theorem-4.2")
    terms = found.terms
    m, k, each = int(terms["public_rows"]), int(terms["teachers"]), int(terms["rows_each"])
    assert agnostic_excess(m, 3, 0.05) <= 0.02 < agnostic_excess(m - 1, 3, 0.05)
    assert realizable_error(each, 3, 0.05 / k) <= 0.02 < realizable_error(each - 1, 3, 0.05 / k)
    assert found.value == k * each
    assert terms["cutoff"] == count_contested(m, 0.02, 0.025)
    deviation = math.sqrt(6 * math.log(math.e * m / 3) / m) + math.sqrt(math.log(20) / (2 * m))
    assert terms["error"] == pytest.approx(2 * terms["cutoff"] / m + deviation)


def test_rows_and_error_are_two_readings_of_one_theorem() -> None:
    for rows, error, extra in (
        ("theorem-4.2", "theorem-4.2-error", {}),
        ("theorem-4.3", "theorem-4.3-error", {"gamma": 0.005}),
    ):
        needed = bound(rows, **extra)
        there = {"n": int(needed.value), "m": int(needed.terms["public_rows"])}
        # The circle closes at the cutoff that the rows were made for, or earlier; halves of beta cost a little.
        found = bound(error, **there, **extra)
        assert found.terms["cutoff"] <= needed.terms["cutoff"] * 1.001
        assert found.value <= needed.terms["error"] * 1.02


def test_remark_2_uses_that_few_labels_are_wrong() -> None:
    found = bound("remark-2")
    m = int(found.terms["public_rows"])
    assert relative_deviation(0.0, m, 3, 0.05) <= 0.02 < relative_deviation(0.0, m - 1, 3, 0.05)
    assert m < bound("theorem-4.2").terms["public_rows"] / 10
    assert found.value < bound("theorem-4.2").value


def test_remark_3_expects_no_contested_question() -> None:
    terms = bound("remark-3").terms
    # Contested with probability beta/2 at most; the printed target would leave three expected ones.
    assert 3 * terms["teacher_error"] * terms["public_rows"] == pytest.approx(0.05 / 2)
    assert 3 * terms["printed_teacher_error"] * terms["public_rows"] == pytest.approx(3)


def test_sample_sizes_have_the_printed_orders() -> None:
    small = (1e-6, 1e-5)
    assert -1.7 < slope("theorem-4.2", "alpha", *small) < -1.4
    assert -1.3 < slope("remark-2", "alpha", *small) < -0.9
    assert -1.4 < slope("remark-3", "alpha", *small) < -0.9
    # The printed exponent 5/2 is that of a small gamma; with a fixed one it is 3.
    assert -2.7 < slope("theorem-4.3", "alpha", *small, gamma=0.0) < -2.4
    assert -3.2 < slope("theorem-4.3", "alpha", *small, gamma=0.05) < -2.9
    for name in ("theorem-4.2", "remark-2", "theorem-4.3"):
        assert 1.2 < slope(name, "vc", 10, 1000, alpha=1e-3) < 1.6
        assert -1.1 < slope(name, "epsilon", 0.1, 1.0) < -0.9


# Section 5.


@pytest.mark.parametrize(("name", "private"), [("section-5", "remark-2"), ("section-5-agnostic", "theorem-4.3")])
def test_label_privacy_counts_both_halves(name: str, private: str) -> None:
    found, without_labels = bound(name), bound(private)
    assert found.value == without_labels.value + without_labels.terms["public_rows"]
    said = " ".join(found.assumptions)
    assert "the label of one row" in said
    assert "one teacher's votes" not in said
    assert found.terms["times_as_many"] == found.value / found.terms["rows_without_privacy"] > 1


# Bad input.


@pytest.mark.parametrize(
    ("letter", "bad"),
    [
        ("n", 0),
        ("n", 10**12 + 1),
        ("n", 1.5),
        ("m", 0),
        ("m", True),
        ("vc", 0),
        ("epsilon", 0.0),
        ("epsilon", math.nan),
        ("epsilon", math.inf),
        ("delta", 0.0),
        ("delta", 1.0),
        ("beta", 1.0),
        ("beta", -0.1),
        ("alpha", 0.0),
        ("gamma", -0.01),
        ("gamma", 1.0),
        ("xi", 0.51),
        ("mistakes", -1),
        ("cutoff", 0),
        ("constants", "invented"),
    ],
)
def test_senseless_values_are_refused_by_name(letter: str, bad: object) -> None:
    concerned = [name for name, function in BOUNDS.items() if letter in inspect.signature(function).parameters]
    assert concerned
    for name in concerned:
        with pytest.raises(InvalidParameter, match=rf"^{letter} is .*; it must be "):
            bound(name, **{letter: bad})


@pytest.mark.parametrize("name", BOUNDS)
def test_extreme_values_give_a_number_or_say_what_is_missing(name: str) -> None:
    for n, m in product((1, 10**12), repeat=2):
        for epsilon, alpha in ((1e-6, 1e-12), (1e4, 0.99)):
            given = {"n": n, "m": m, "epsilon": epsilon, "alpha": alpha, "beta": 1e-12, "delta": 1e-100}
            try:
                said = f"{bound(name, **given, vc=10**12).value:g}"
            except CannotCalibrate as refused:
                said = str(refused)
            assert "would have to" in said or math.isfinite(float(said))


def test_without_enough_rows_no_question_is_free() -> None:
    with pytest.raises(CannotCalibrate, match=r"n is 1000 and would have to grow to about") as refused:
        bound("theorem-3.4-free", n=1000)
    wanted = int(float(str(refused.value).split()[-1].rstrip(".")))
    assert bound("theorem-3.4-free", n=wanted).value >= 1
    with pytest.raises(CannotCalibrate, match=r"gamma is 0\.4 and would have to fall below 1/3"):
        bound("theorem-3.5-free", gamma=0.4)
