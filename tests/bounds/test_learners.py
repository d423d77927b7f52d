"""What learners achieve without privacy: by hand, and against learners that are simulated."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

from mapl.bounds.learners import (
    agnostic_excess,
    log_growth,
    realizable_error,
    relative_deviation,
    rows_needed,
    uniform_deviation,
)


@pytest.mark.parametrize("vc", [1, 3, 10])
def test_the_growth_is_at_least_the_sum_of_sauers_lemma(vc: int) -> None:
    for points in range(1, 60):
        exact = sum(math.comb(points, i) for i in range(vc + 1))
        assert math.exp(log_growth(points, vc)) >= exact * (1 - 1e-12)


def test_the_formulas_by_hand() -> None:
    # 1000 rows, VC dimension 2, beta 0.1: G(2000) = (1000 e)^2.
    assert realizable_error(1000, 2, 0.1) == pytest.approx(
        2 / 1000 * (2 * math.log2(1000 * math.e) + math.log2(20)), rel=1e-12
    )
    assert agnostic_excess(1000, 2, 0.1) == pytest.approx(
        math.sqrt(4 * math.log(500 * math.e) / 1000) + math.sqrt(2 * math.log(20) / 1000), rel=1e-12
    )
    # Relative deviations solve L - observed = 2 sqrt(c L).
    c = (2 * math.log(1000 * math.e) + math.log(40)) / 1000
    found = relative_deviation(0.02, 1000, 2, 0.1)
    assert found - 0.02 == pytest.approx(2 * math.sqrt(c * found), rel=1e-9)
    assert relative_deviation(0.0, 1000, 2, 0.1) == pytest.approx(4 * c, rel=1e-12)


@pytest.mark.parametrize("learner", [realizable_error, agnostic_excess, uniform_deviation])
@pytest.mark.parametrize("vc", [1, 4, 50])
def test_more_rows_never_hurt(learner: object, vc: int) -> None:
    assert callable(learner)
    errors = [learner(rows, vc, 0.01) for rows in range(1, 3000)]
    assert all(more >= fewer for more, fewer in pairwise(errors))
    assert errors[0] == 1.0


@pytest.mark.parametrize("target", [0.5, 0.01, 1e-6])
def test_rows_needed_is_the_exact_inverse(target: float) -> None:
    for learner in (realizable_error, agnostic_excess):
        rows = rows_needed(lambda n, learner=learner: learner(n, 5, 0.05), target)  # type: ignore[misc]
        assert learner(rows, 5, 0.05) <= target < learner(rows - 1, 5, 0.05)


@pytest.mark.statistical
def test_consistent_thresholds_keep_the_promise() -> None:
    # The worst consistent threshold lies at the farther of the truth's two neighbours.
    rng = np.random.default_rng(1)
    rows = rng.random((4000, 60))
    below = np.where(rows < 0.5, rows, 0.0).max(axis=1)
    above = np.where(rows >= 0.5, rows, 1.0).min(axis=1)
    worst = np.maximum(0.5 - below, above - 0.5)
    promised = realizable_error(60, 1, 0.05)
    assert promised < 0.5
    assert (worst > promised).mean() <= 0.05
    # A tenth of the promise would be broken: the bound is loose, but not idle.
    assert (worst > promised / 10).mean() > 0.05


@pytest.mark.statistical
def test_empirical_minimisers_keep_the_promise() -> None:
    # Labels are 1(x > 1/2) flipped with probability 0.3; all thresholds compete.
    rng = np.random.default_rng(2)
    n, promised = 200, agnostic_excess(200, 1, 0.1)
    excesses = []
    for _ in range(400):
        x = np.sort(rng.random(n))
        y = (x > 0.5) ^ (rng.random(n) < 0.3)
        # The threshold before row i calls the rows below it 0.
        errors = np.concatenate([[0], np.cumsum(y)]) + np.concatenate([np.cumsum(~y[::-1])[::-1], [0]])
        where = np.concatenate([[0.0], x])[errors.argmin()]
        excesses.append(0.4 * abs(where - 0.5))
    assert promised < 1
    assert np.mean(np.array(excesses) > promised) <= 0.1
