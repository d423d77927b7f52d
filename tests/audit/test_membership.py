"""The attack from labels alone: it proves nothing where there is nothing, and much where there is much."""

from __future__ import annotations

import numpy as np
import pytest

from mapl.audit.runs.membership import guess_membership, most_provable, runs_needed


def seen(chance: float, runs: int, seed: int, questions: int = 1) -> np.ndarray:
    loud = np.random.default_rng(seed).binomial(questions, chance, size=runs)
    return np.column_stack([questions - loud, loud])


def test_what_is_always_seen_is_told_apart() -> None:
    judged = guess_membership(seen(1.0, 100, 0), seen(0.0, 100, 1), 0.0, 0.95)
    assert judged.right == judged.guesses == 150
    assert judged.epsilon == judged.most == most_provable(100, 0.0, 0.95) > 2.9


def test_what_is_the_same_on_both_sides_proves_nothing() -> None:
    """Each of 40 bounds is above zero with chance 5% at most; seeds are fixed, a fresh one fails with 1e-4."""
    proved = [guess_membership(seen(0.4, 80, s), seen(0.4, 80, 1000 + s), 0.0, 0.95).epsilon > 0 for s in range(40)]
    assert sum(proved) <= 8


@pytest.mark.statistical
def test_bounds_of_randomised_response_stay_below_its_epsilon() -> None:
    """At epsilon 1 exactly; each of 300 bounds is too large with chance 5% at most, more than 27 with 1e-3."""
    q = float(1 / (1 + np.exp(-1.0)))
    bounds = [guess_membership(seen(q, 400, s), seen(1 - q, 400, 5000 + s), 0.0, 0.95).epsilon for s in range(300)]
    assert sum(bound > 1.0 for bound in bounds) <= 27
    assert np.median(bounds) > 0.5


@pytest.mark.parametrize("epsilon", [1.0, 3.0])
def test_as_many_runs_as_needed_are_enough(epsilon: float) -> None:
    n = runs_needed(epsilon, 0.95)
    assert most_provable(n, 1e-6, 0.95) > epsilon
    assert most_provable(n // 2, 1e-6, 0.95) < epsilon


def test_delta_takes_from_what_is_proved() -> None:
    ins, outs = seen(0.9, 400, 0, 5), seen(0.1, 400, 1, 5)
    assert 0 < guess_membership(ins, outs, 0.1, 0.95).epsilon < guess_membership(ins, outs, 0.0, 0.95).epsilon
