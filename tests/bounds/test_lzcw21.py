"""LZCW21's theorems: computed exactly, enumerated, or run where that can be done."""

from __future__ import annotations

import inspect
import math
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from mapl.bounds import Bound
from mapl.bounds.btt18.algorithm2 import count_contested
from mapl.bounds.learners import realizable_error
from mapl.bounds.lzcw21.active import TOLERATED, phases, theorem_15
from mapl.bounds.lzcw21.labels import (
    gaussian_labels,
    gaussian_scale,
    sparse_labels,
    sparse_teachers,
)
from mapl.bounds.lzcw21.margin import crowd, proposition_11, remark_14, theorem_12, theorem_13
from mapl.bounds.lzcw21.passive import best_labels, remark_6, student_excess, theorem_5, under_noise, without_noise
from mapl.bounds.lzcw21.theorems import BOUNDS
from mapl.bounds.lzcw21.tsybakov import tsybakov_excess
from mapl.bounds.lzcw21.voting import (
    ensemble_error,
    example_8,
    example_9,
    infinite_ensemble,
    small_margin_share,
)
from mapl.errors import CannotCalibrate, InvalidData, InvalidParameter
from mapl.mechanisms.mechanism import Task
from mapl.mechanisms.papers.lzcw21_sparse import LZCW21Sparse
from mapl.mechanisms.papers.sparse_vector import scale_by_concentration
from mapl.reproduce.lzcw21.voting import chance_to_halt_early, even_margin
from mapl.types import Budget

EVERYTHING: dict[str, Any] = {
    "n": 10**11,
    "m": 10**6,
    "vc": 2,
    "epsilon": 1.0,
    "delta": 1e-9,
    "tau": 1.0,
    "eta": 1.0,
    "beta": 0.05,
    "gamma": 0.01,
    "alpha": 0.1,
    "nu": 1e-4,
    "margin": 0.25,
    "classes": 2,
    "theta": 2.0,
    "best_disagreement": 0.02,
    "teachers": 101,
    "voters": 3,
    "rows_each": 10**6,
    "quantile": 0.4,
    "width": 0.2,
    "radius": 0.01,
    "dimension": 5,
}


def bound(name: str, **changed: Any) -> Bound:
    """Compute a bound by name, from everything that it takes."""
    function = BOUNDS[name]
    given = {**EVERYTHING, **changed}
    return function(**{letter: given[letter] for letter in inspect.signature(function).parameters})


def takes(name: str, letter: str) -> bool:
    return letter in inspect.signature(BOUNDS[name]).parameters


ERRORS = [name for name in BOUNDS if takes(name, "n")]


@pytest.mark.parametrize("name", BOUNDS)
def test_every_bound_says_what_it_means_and_assumes(name: str) -> None:
    found = bound(name)
    assert math.isfinite(found.value)
    assert found.value >= 0
    assert found.meaning
    assert found.assumptions
    assert found.source.startswith(("LZCW21", "Hanneke"))
    assert all(math.isfinite(term) for term in found.terms.values())
    if takes(name, "epsilon"):
        words = " ".join(found.assumptions)
        assert "adjacency" in words
        assert "unit" in words
        assert "delta" in words


@pytest.mark.parametrize("name", ERRORS)
@pytest.mark.parametrize(
    ("letter", "values"), [("n", (10**4, 10**8, 10**10, 10**12)), ("epsilon", (0.01, 0.3, 1.0, 5.0))]
)
def test_more_rows_and_more_budget_never_hurt(name: str, letter: str, values: tuple[float, ...]) -> None:
    found = [bound(name, **{letter: value}).value for value in values]
    assert all(worse >= better for worse, better in pairwise(found))
    assert all(0 <= value <= 1 for value in found)
    assert found[-1] < found[0]


@pytest.mark.parametrize("name", [name for name in ERRORS if name.startswith("table") or name == "theorem-15"])
def test_more_public_rows_never_hurt_who_may_leave_some_out(name: str) -> None:
    found = [bound(name, m=m).value for m in (10, 999, 10**4, 10**6, 10**12)]
    assert all(worse >= better for worse, better in pairwise(found))


@pytest.mark.parametrize("name", [name for name in ERRORS if takes(name, "tau")])
def test_a_stronger_noise_condition_never_hurts(name: str) -> None:
    found = [bound(name, tau=tau).value for tau in (0.0, 0.5, 0.8, 1.0)]
    assert found[0] == 1.0
    assert all(weak >= strong for weak, strong in pairwise(found))


def test_too_few_rows_promise_nothing_and_say_so() -> None:
    found = theorem_5(1000, 1000, vc=5, epsilon=1.0, delta=1e-6)
    assert found.value == 1.0
    assert "vacuous" in found.meaning


# Section 3.1.


def test_the_excess_under_noise_solves_its_equation_and_is_realizable_up_to_a_constant() -> None:
    rows, vc, beta = 10**6, 3, 0.1
    c = (vc * math.log(math.e * 2 * rows / vc) + math.log(8 / beta)) / rows
    for tau in (0.0, 0.4, 1.0):
        excess = tsybakov_excess(rows, vc, beta, tau=tau, eta=1.5)
        assert excess == pytest.approx(2 * math.sqrt(2 * 1.5 * c) * excess ** (tau / 2) + 4 * c, rel=1e-6)
    ratio = tsybakov_excess(rows, vc, beta, tau=1.0, eta=1.0) / realizable_error(rows, vc, beta)
    assert 3 < ratio < 7


@pytest.mark.statistical
def test_thresholds_under_bounded_noise_keep_the_promised_excess() -> None:
    # One run in ten may fail; of forty independent ones at most fifteen do, but for a chance below 1e-6.
    rng = np.random.default_rng(5)
    rows, flip, failures = 3000, 0.1, 0
    # Labels are toggled with chance 0.1: the excess is 0.8 of the disagreement, so eta = 1.25.
    allowed = tsybakov_excess(rows, 1, 0.1, tau=1.0, eta=1 / (1 - 2 * flip))
    for _ in range(40):
        x = np.sort(rng.random(rows))
        y = (x >= 0.5) ^ (rng.random(rows) < flip)
        mistakes = np.concatenate(([0], np.cumsum(y))) + np.concatenate((np.cumsum(~y[::-1])[::-1], [0]))
        at = int(mistakes.argmin())
        learned = x[min(at, rows - 1)]
        failures += (1 - 2 * flip) * abs(learned - 0.5) > allowed
    assert failures <= 15


def test_the_teachers_of_theorem_5_are_enough_and_no_fewer_are() -> None:
    # A learner that is good early, so that the circle closes at numbers that can be walked through.
    def disagreement(rows: int, beta: float) -> float:
        return min(1.0, 5 / (rows + 1))

    n, m, epsilon, delta, beta = 400_000, 300, 2.0, 1e-5, 0.06
    labels = sparse_labels(n, m, epsilon=epsilon, delta=delta, beta=beta, disagreement=disagreement)
    assert labels is not None

    def suffices(teachers: int) -> bool:
        wrong = count_contested(m, disagreement(n // teachers, beta), beta / 3)
        scale = scale_by_concentration(wrong + 1, epsilon, delta)
        return sparse_teachers(m, wrong + 1, scale, delta=delta, beta=beta / 3) <= teachers

    assert suffices(labels.teachers)
    assert not any(suffices(teachers) for teachers in range(1, labels.teachers))


def test_the_scales_are_those_of_the_mechanisms() -> None:
    budget = Budget(1.0, 1e-6)
    sparse = LZCW21Sparse.for_task(
        Task(n_classes=2, n_queries=500, budget=budget, n_teachers=250), max_abstentions=20
    )
    assert sparse.scale == pytest.approx(scale_by_concentration(20, 1.0, 1e-6), rel=1e-3)
    sigma = gaussian_scale(500, 1.0, 1e-6)
    assert math.sqrt(2 * 500 * math.log(1e6)) / sigma + 500 / (2 * sigma**2) == pytest.approx(1.0)


def test_remark_6_needs_rows_of_the_printed_order() -> None:
    few, many = (remark_6(alpha, 2, epsilon=1.0, delta=1e-9) for alpha in (0.2, 0.02))
    # 1/alpha up to logarithms; an exponent of 3/2, as before this paper, would be 31.
    assert 8 < many.value / few.value < 22
    at = theorem_5(int(few.value), int(few.terms["public_rows"]), vc=2, epsilon=1.0, delta=1e-9)
    assert 0.18 < at.value <= 0.2


def test_what_cannot_be_reached_is_refused() -> None:
    with pytest.raises(CannotCalibrate, match="alpha is"):
        remark_6(1e-9, 1000, epsilon=1e-6, delta=1e-9)


# Table 1.


@pytest.mark.parametrize(
    ("labelling", "tau", "exponent"),
    [
        (gaussian_labels, None, 2 / 3),
        (gaussian_labels, 0.5, 2 * 0.5 / 3.5),
        (gaussian_labels, 1.0, 2 / 3),
        (sparse_labels, None, 1.0),
        (sparse_labels, 0.5, 1 / 3),
        (sparse_labels, 1.0, 1.0),
    ],
)
def test_rates_of_table_1_in_the_private_rows(labelling: Any, tau: float | None, exponent: float) -> None:
    teachers = without_noise(1) if tau is None else under_noise(1, tau, 1.0)

    def excess(n: int) -> float:
        def labeller(private: int, public: int) -> Any:
            return labelling(private, public, epsilon=1.0, delta=1e-9, beta=0.04, disagreement=teachers)

        return student_excess(best_labels(labeller, n, 10**18, 1, 0.01), 1, 0.01)

    low, high = 10**16, 10**19
    found = math.log(excess(low) / excess(high)) / math.log(high / low)
    # Logarithms flatten it a little; the printed (2 - tau)/2 would be 0.75 at tau = 1/2.
    assert 0.85 * exponent < found < 1.02 * exponent


def test_rates_of_table_1_in_the_public_rows() -> None:
    def slope(name: str) -> float:
        few, many = (bound(name, n=10**12, epsilon=100.0, vc=1, m=m).value for m in (100, 10**4))
        return math.log(few / many) / math.log(100)

    assert 0.85 < slope("table-1-sparse-realizable") < 1.01
    assert 0.85 < slope("table-1-gaussian-noisy") < 1.01
    assert 0.4 < slope("table-1-btt18-realizable") < 0.51


def test_active_students_pay_by_the_root_of_theta() -> None:
    narrow, wide = (bound("table-1-active-realizable", m=10**12, theta=theta).value for theta in (2.0, 32.0))
    assert 2.5 < wide / narrow < 5


def test_table_1_is_the_best_choice_among_public_rows() -> None:
    best = bound("table-1-sparse-noisy", m=10**6).value
    assert best <= min(bound("theorem-5", m=m).value for m in (1024, 4096, 16_384, 65_536))


def test_btt18_agnostic_is_not_the_realizable_row_where_gamma_is_zero() -> None:
    """Learners that do not know that some hypothesis never errs learn at the slower rate."""
    given = {"n": 10**9, "m": 10**6, "epsilon": 1.0}
    realizable, agnostic = (
        bound("table-1-btt18-realizable", **given),
        bound("table-1-btt18-agnostic", gamma=0.0, **given),
    )
    nearly = bound("table-1-btt18-agnostic", gamma=1e-9, **given)
    assert agnostic.value > realizable.value
    assert agnostic.value == pytest.approx(nearly.value, rel=1e-4)
    assert "agnostic" in agnostic.source
    assert "realizable" in realizable.source
    rate, fewer = "rate_without_constants_and_logs", given | {"n": 10**6}
    told = bound("table-1-btt18-agnostic", gamma=0.0, **fewer).terms[rate]
    vc = EVERYTHING["vc"]
    assert told == pytest.approx(vc**0.6 / 10**2.4)
    assert bound("table-1-btt18-realizable", **fewer).terms[rate] == pytest.approx(math.sqrt(vc / 10**6))


def test_btt18_agnostic_errs_at_a_multiple_of_the_best_error() -> None:
    found = bound("table-1-btt18-agnostic", n=10**12, epsilon=100.0, gamma=0.02, m=10**8)
    assert 7 * 0.02 < found.value < 13 * 0.02
    assert found.terms["printed_multiple_of_gamma"] == pytest.approx(0.26)


# Section 3.2: voting.


VOTERS_OF_EXAMPLE_8 = ((1, 1, 0, 0), (1, 0, 1, 0), (1, 0, 0, 1))
"""Figure 1 of LZCW21: three classifiers on four points whose label is always 1."""


def test_example_8_is_enumerated() -> None:
    shares = np.mean(VOTERS_OF_EXAMPLE_8, axis=0)
    assert infinite_ensemble(shares).tolist() == [1, 0, 0, 0]
    assert ensemble_error(shares, [1, 1, 1, 1]) == 0.75 == example_8().terms["ensemble_error"]
    assert [np.mean(1 - np.array(voter)) for voter in VOTERS_OF_EXAMPLE_8] == [0.5] * 3
    # K teachers converge to it exponentially fast: each of three questions is lost unless half of them hold it.
    lost = [float(binom.cdf(math.ceil(k / 2) - 1, k, 1 / 3)) for k in (11, 101, 1001)]
    assert all(less < more for less, more in pairwise(lost))
    assert 0.75 * lost[-1] == pytest.approx(0.75)
    # The best student among the three voters errs like them all; one that may also vote like the majority errs 3/4.
    labels = infinite_ensemble(shares)
    fit = [np.mean(np.array(h) != labels) for h in (*VOTERS_OF_EXAMPLE_8, (1, 0, 0, 0))]
    assert int(np.argmin(fit)) == 3


@pytest.mark.parametrize("voters", [3, 5, 9])
def test_voting_fails_for_any_odd_number_of_voters(voters: int) -> None:
    betrayed = list(combinations(range(voters), (voters + 1) // 2))
    gamma = 0.1
    lost = 2 * voters * gamma / (voters + 1)
    table = np.array([[1] + [int(h not in who) for who in betrayed] for h in range(voters)])
    weights = np.array([1 - lost] + [lost / len(betrayed)] * len(betrayed))
    assert np.allclose((1 - table) @ weights, gamma)
    error = ensemble_error(table.mean(axis=0), np.ones(len(weights)), weights)
    assert example_8(voters, gamma).value == pytest.approx(error - gamma)
    assert error <= 2 * gamma


def test_example_8_says_which_gamma_has_no_such_world() -> None:
    with pytest.raises(CannotCalibrate, match="lower gamma"):
        example_8(3, 0.9)


@pytest.mark.parametrize("margin", [0.05, 0.2, 0.5])
@pytest.mark.parametrize("teachers", [1, 10, 101])
def test_example_9_against_the_exact_tail(margin: float, teachers: int) -> None:
    found = example_9(margin, teachers)
    exact = float(binom.sf(math.ceil(teachers / 2) - 1, teachers, 0.5 - margin))
    assert found.terms["exact_worst_case"] == pytest.approx(exact, abs=1e-12)
    assert exact <= found.value
    assert ensemble_error([0.5 + margin] * 3, [1, 1, 1]) == 0.0


def test_definition_10_the_right_way_round() -> None:
    confident, tossing = [0.0, 1.0, 0.99, 0.02], [0.5, 0.5, 0.51, 0.49]
    assert small_margin_share(confident, 0.2) == 0.0
    assert small_margin_share(tossing, 0.2) == 1.0
    # As printed, P[Delta(x) > Delta] <= nu, coins would satisfy the condition with nu = 0.
    assert np.mean(np.abs(np.array(tossing) - 0.5) > 0.2) == 0.0
    assert small_margin_share(confident + tossing, 0.2, [1] * 4 + [3] * 4) == 0.75


# Section 3.2: Proposition 11.


@pytest.mark.parametrize(("m", "delta", "beta"), [(50, 1e-9, 0.1), (30, 1e-9, 0.05)])
def test_proposition_11_is_false_as_printed_and_true_as_corrected(m: int, delta: float, beta: float) -> None:
    # At this margin both printed conditions on K are equally strong, so that neither hides the other's slip.
    margin = even_margin(m, delta, beta)
    found = crowd(m, 0.0, margin, epsilon=1.0, delta=delta, beta=beta)
    # Every row has a margin above Delta, nu is 0, T and K are as printed: yet it halts more often than beta.
    assert chance_to_halt_early(found, found.teachers_as_printed, margin * 1.0001, m, delta) > beta
    assert chance_to_halt_early(found, found.teachers, margin * 1.0001, m, delta) < 1e-6 * beta


def test_the_chain_of_proposition_11_in_numbers() -> None:
    m, nu, margin, delta, beta = 1000, 0.01, 0.1, 1e-6, 0.05
    found = crowd(m, nu, margin, epsilon=1.0, delta=delta, beta=beta)
    needed = 3 * found.scale * (math.log(2 * (m + found.cutoff) / delta) + math.log(3 * m / beta))
    assert found.for_noise * margin / 2 - 1 >= needed
    assert found.for_noise_as_printed * margin / 2 - 1 < 0.6 * needed
    # Hoeffding: half of the margin is kept on every row.
    assert m * math.exp(-2 * found.for_votes * (margin / 2) ** 2) == pytest.approx(beta / 3)
    # Bernstein: the cutoff is above all rows of small margin.
    assert binom.sf(found.cutoff - 1, m, nu) < beta / 3


def test_theorems_12_and_13_follow_their_parts() -> None:
    given: dict[str, Any] = {"margin": 0.5, "vc": 1, "epsilon": 100.0, "delta": 1e-6}
    values = [theorem_12(10**6, nu, **given).value for nu in (0.0, 0.001, 0.01, 0.1)]
    assert all(less < more for less, more in pairwise(values))
    apart = theorem_12(10**6, 0.001, best_disagreement=0.1, **given).value
    assert values[1] + 0.1 < apart < values[1] + 0.1 + 3 * math.sqrt(30 / 10**6)
    voting = theorem_13(10**9, 1e-6, **given)
    assert voting.value <= voting.terms["printed_form_with_the_logarithm"] < 1
    assert voting.terms["printed_form"] < voting.terms["printed_form_with_the_logarithm"]


def test_remark_14_holds_for_thresholds() -> None:
    rows = 20_000
    found = remark_14(rows, 1, tau=1.0, eta=1.0)
    # The lowest consistent threshold: it differs from 1/2 at x < 1/2 with chance (1/2 + x)^rows.
    x = np.linspace(0, 1, 200_001)
    differs = np.where(x < 0.5, (0.5 + np.minimum(x, 0.5)) ** rows, 0.0)
    votes_for_one = np.where(x < 0.5, differs, 1.0)
    measured = small_margin_share(votes_for_one, found.terms["margin"])
    assert measured <= found.value < 0.1
    assert np.mean(infinite_ensemble(votes_for_one) != (x >= 0.5)) <= found.terms["best_disagreement"]


# Section 3.3.


def test_phases_of_active_learning_do_what_theorem_15_promises() -> None:
    # Thresholds on [0, 1], truth 1/2, and a region of mass alpha/4 next to it that is always labelled wrongly.
    alpha, beta, rng = 0.05, 0.1, np.random.default_rng(3)
    steps = phases(alpha, 2.0, 1, beta)
    log = math.log(4 * len(steps) / beta)
    failures, asked = 0, []
    for _ in range(25):
        low, high, used = 0.0, 1.0, 0
        for step in steps:
            stream = rng.random(step.rows)
            questions = np.flatnonzero((stream > low) & (stream < high))[: step.labels]
            used += len(questions)
            points = step.rows if len(questions) < step.labels else len(questions) / (high - low)
            wrong = TOLERATED * step.reach
            allowed = points * wrong + math.sqrt(2 * wrong * points * log) + 2 * log / 3
            x = np.sort(stream[questions])
            y = (x >= 0.5) ^ ((x >= 0.5) & (x < 0.5 + alpha / 4))
            mistakes = np.concatenate(([0], np.cumsum(y))) + np.concatenate((np.cumsum(~y[::-1])[::-1], [0]))
            kept = np.flatnonzero(mistakes <= allowed)
            edges = np.concatenate(([low], x, [high]))
            low, high = edges[kept[0]], edges[kept[-1] + 1]
        failures += not (low <= 0.5 <= high and max(high - 0.5, 0.5 - low) <= alpha)
        asked.append(used)
    assert failures == 0
    assert max(asked) <= sum(step.labels for step in steps)
    # Active learning saves labels: the passive student sees them all.
    assert sum(step.labels for step in steps) < 0.6 * sum(step.rows for step in steps)


def test_labels_of_theorem_15_grow_with_the_logarithm_of_alpha_only() -> None:
    labels = [sum(step.labels for step in phases(alpha, 2.0, 1, 0.05)) for alpha in (1e-2, 1e-4, 1e-8)]
    assert labels[1] < 2.3 * labels[0]
    assert labels[2] < 2.3 * labels[1]
    rows = [sum(step.rows for step in phases(alpha, 2.0, 1, 0.05)) for alpha in (1e-2, 1e-4)]
    assert rows[1] > 100 * rows[0]


def test_theorem_15_closes_its_circle() -> None:
    found = theorem_15(10**11, 10**7, vc=1, epsilon=1.0, delta=1e-9, theta=2.0)
    terms = found.terms
    assert found.value < 0.01
    assert 12 * terms["teacher_disagreement"] <= found.value
    assert terms["public_rows_used"] <= 10**7
    assert terms["sigma"] == gaussian_scale(int(terms["labels"]), 1.0, 1e-9)
    # K as printed has ln(2n) where the failure probability belongs.
    assert 0.3 < terms["teachers"] / terms["teachers_as_printed"] < 3


# Bad input.


@pytest.mark.parametrize(
    ("name", "letter", "value"),
    [
        ("theorem-5", "n", 0),
        ("theorem-5", "m", 10**13),
        ("theorem-5", "vc", 0),
        ("theorem-5", "tau", 1.5),
        ("theorem-5", "tau", math.nan),
        ("theorem-5", "eta", 0.5),
        ("theorem-5", "delta", 0.0),
        ("theorem-15", "theta", 0.5),
        ("theorem-15", "theta", math.inf),
        ("theorem-12", "best_disagreement", -0.1),
        ("proposition-11", "nu", 2.0),
        ("proposition-11", "margin", 0.0),
        ("proposition-11", "margin", 0.6),
        ("proposition-11", "classes", 1),
        ("proposition-11", "classes", True),
        ("remark-6", "alpha", 1.0),
        ("remark-14", "rows_each", 0),
        ("example-8", "voters", 4),
        ("table-1-btt18-agnostic", "gamma", 1.0),
        ("table-1-sparse-realizable", "epsilon", -1.0),
    ],
)
def test_senseless_numbers_are_refused_by_name(name: str, letter: str, value: float) -> None:
    with pytest.raises(InvalidParameter, match=f"{letter} is .*; it must be"):
        bound(name, **{letter: value})


@pytest.mark.parametrize("bad", [[], [[0.5]], [1.5], [math.nan]])
def test_votes_that_are_no_shares_are_refused(bad: Any) -> None:
    with pytest.raises(InvalidData, match="numbers from 0 to 1"):
        infinite_ensemble(bad)


def test_proposition_11_of_more_classes_says_that_it_is_not_the_papers() -> None:
    given: dict[str, Any] = {"margin": 0.01, "epsilon": 100.0, "delta": 1e-6}
    two, three = (proposition_11(1000, 0.0, classes=classes, **given) for classes in (2, 3))
    assert two == proposition_11(1000, 0.0, **given)
    assert three.value == math.ceil(2 * math.log(6 * 1000 / 0.05) / 0.01**2) > two.value
    assert "by us" in three.source
    assert "teachers_as_printed" not in three.terms
    assert any("leads the next likeliest" in one for one in three.assumptions)
    assert not any("of 1/2" in one for one in three.assumptions)


def test_proposition_11_by_hand() -> None:
    found = proposition_11(1000, 0.01, margin=0.25, epsilon=1.0, delta=1e-6, beta=0.05)
    cutoff = math.floor(10 + math.sqrt(20 * math.log(60)) + 2 / 3 * math.log(60)) + 1
    assert found.terms["cutoff"] == cutoff
    scale = (math.sqrt(2 * cutoff * (1 + math.log(2e6))) + math.sqrt(2 * cutoff * math.log(2e6))) / 1.0
    assert found.value == math.ceil((6 * scale * (math.log(4e9) + math.log(60_000)) + 2) / 0.25)
