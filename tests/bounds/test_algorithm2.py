"""Algorithm 2 with the corrected distance: its constants, its privacy, and that uncontested questions pass."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom

from mapl.bounds.btt18.algorithm2 import Algorithm2, Constants, count_contested, largest_proved
from mapl.bounds.btt18.release import printed_cutoff
from mapl.mechanisms.mechanism import Task
from mapl.mechanisms.papers.btt18 import BTT18
from mapl.mechanisms.papers.sparse_vector import SparseVector
from mapl.mechanisms.stable_queries import StableQueries
from mapl.noise import SeededCoins
from mapl.types import Budget, Tallies

GRID = [
    (cutoff, m, epsilon, delta, beta)
    for cutoff in (1, 7, 400)
    for m in (500, 10**6)
    for epsilon in (0.1, 1.0, 8.0)
    for delta in (1e-3, 1e-9)
    for beta in (0.3, 1e-4)
]


def calibrated(cutoff: int, m: int, epsilon: float, delta: float, beta: float, constants: Constants) -> Algorithm2:
    return Algorithm2.calibrated(cutoff, m, epsilon=epsilon, delta=delta, beta=beta, constants=constants)


def test_the_printed_constants_are_reproduced() -> None:
    # T = 10, m = 1000, epsilon = 1, delta = 1e-6, beta = 0.05, with the numbers of the paper's first two lines.
    found = calibrated(10, 1000, 1.0, 1e-6, 0.05, Constants.printed)
    scale = math.sqrt(32 * 10 * math.log(2e6))
    assert found.scale == pytest.approx(scale, rel=1e-12)
    assert found.scale == pytest.approx(68.14, abs=0.01)
    assert found.threshold == math.ceil(2 * scale * math.log(2e9))
    assert found.teachers == math.ceil(34 * math.sqrt(2) * scale * math.log(4e4 / 1e-6))
    printed = BTT18.for_task(Task(Budget(1.0, 1e-6), 10, 2, 1000), max_abstentions=10, beta=0.05)
    assert (printed.scale, printed.threshold) == (found.scale, found.threshold)
    assert printed.parameters["k"] == found.teachers


def test_the_derived_constants_are_those_of_the_mechanism_that_runs() -> None:
    found = calibrated(10, 1000, 1.0, 1e-6, 0.05, Constants.derived)
    mechanism = StableQueries.for_task(Task(Budget(1.0, 1e-6), 10, 2, 1000), max_abstentions=11)
    assert (found.scale, found.threshold, found.epochs(1000)) == (
        mechanism.scale,
        mechanism.threshold,
        mechanism.epochs,
    )
    noise = math.ceil(2 * found.scale * math.log(2000 / 0.05)) + math.ceil(found.scale * math.log(22 / 0.05))
    assert found.distance == found.threshold + noise + 1
    assert found.teachers == 6 * (found.distance + 1)


@pytest.mark.parametrize("constants", Constants)
def test_enough_teachers_for_the_distance_whoever_is_wrong(constants: Constants) -> None:
    for setting in GRID:
        found = calibrated(*setting, constants)
        wrong = found.teachers // 3
        counts = np.array([[wrong, found.teachers - wrong], [found.teachers - wrong, wrong]])
        assert Tallies(counts).distances.min() >= found.distance
        # In the printed algorithm 24 lambda ln(.) would do, that is half of the printed number.
        assert constants == Constants.derived or found.teachers > 1.5 * 6 * (found.distance + 1)


@pytest.mark.parametrize("constants", Constants)
def test_what_is_spent_is_within_the_budget(constants: Constants) -> None:
    for cutoff, m, epsilon, delta, beta in GRID:
        found = calibrated(cutoff, m, epsilon, delta, beta, constants)
        assert epsilon <= largest_proved(delta)
        assert found.epsilon(m, delta) <= epsilon * (1 + 1e-12)
        assert found.bad_pass(m) <= delta / 2


def test_the_printed_proof_stops_where_it_is_said_to_stop() -> None:
    for delta in (1e-2, 1e-6, 1e-30):
        last = largest_proved(delta)
        inside = calibrated(1, 10**9, last * 0.999, delta, 0.1, Constants.printed)
        # At T = 1 pure composition is better; the limit is that of the zCDP formula, which large T attain.
        rho = 4 / inside.scale**2
        assert rho + 2 * math.sqrt(rho * math.log(2 / delta)) == pytest.approx(last * 0.999, rel=2e-3)
        beyond = calibrated(10**6, 10**9, last * 8, delta, 0.1, Constants.printed)
        assert beyond.epsilon(10**9, delta) > last * 8


def failures(mechanism: SparseVector, teachers: int, contested: int, m: int, runs: int, wrong: int) -> int:
    """Count runs in which an uncontested question is refused or never reached, contested ones being tied."""
    counts = np.tile([wrong, teachers - wrong], (m, 1))
    spread = np.linspace(0, m - 1, contested).astype(int)
    counts[spread] = [teachers // 2, teachers - teachers // 2]
    votes, plain = Tallies(counts), np.ones(m, dtype=bool)
    plain[spread] = False
    failed = 0
    for seed in range(runs):
        coins = SeededCoins(seed)
        labels = mechanism.release(mechanism.start(coins), votes, coins).labels
        failed += len(labels) < m or not bool((labels[plain] == 1).all())
    return failed


@pytest.mark.statistical
@pytest.mark.parametrize("constants", Constants)
def test_uncontested_questions_pass_as_often_as_theorem_3_2_says(constants: Constants) -> None:
    # The noise may fail with probability beta/2 = 0.2; 500 runs; false-alarm rate below 1e-3 even if it just did.
    cutoff, m, runs = 4, 120, 500
    found = calibrated(cutoff, m, 2.0, 1e-3, 0.4, constants)
    task = Task(Budget(2.0, 1e-3), found.teachers, 2, m)
    mechanism: SparseVector = (
        BTT18.for_task(task, max_abstentions=cutoff)
        if constants == Constants.printed
        else StableQueries.for_task(task, max_abstentions=cutoff + 1)
    )
    third = found.teachers // 3
    assert failures(mechanism, found.teachers, cutoff, m, runs, third) <= binom.ppf(0.999, runs, 0.2)
    # The distance of the threshold alone, without room for the noise, is not enough.
    fewer = 6 * (found.threshold + 1)
    assert failures(mechanism, fewer, cutoff, m, 100, fewer // 3) > 90


@pytest.mark.parametrize("m", [10, 1000, 10**6])
@pytest.mark.parametrize("rate", [0.0, 1e-6, 1e-3, 0.05, 0.3])
@pytest.mark.parametrize("beta", [0.5, 0.05, 1e-9])
def test_the_number_of_contested_questions_by_the_exact_law(m: int, rate: float, beta: float) -> None:
    bound = count_contested(m, rate, beta)
    assert binom.sf(bound, m, min(1.0, 3 * rate)) <= beta


def test_the_printed_chernoff_step_is_too_small() -> None:
    # One teacher that errs at rate q makes more mistakes than B far more often than beta/k allows for one of them.
    m, rate, beta, teachers = 1000, 0.001, 0.05, 1000
    printed = rate * m + math.sqrt(rate * m * math.log(m / beta) / 2)
    assert binom.sf(math.floor(printed), m, rate) > 300 * beta / teachers
    # The printed T itself fails for small beta, if all teachers that are wrong are wrong together.
    m, rate, beta = 100, 0.001, 1e-9
    assert binom.sf(math.floor(printed_cutoff(m, rate, beta)), m, 3 * rate) > 100 * beta
    assert binom.sf(count_contested(m, rate, beta), m, 3 * rate) <= beta
