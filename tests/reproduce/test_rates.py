"""The rates of docs/rates.md, at a small size: what stability is worth where some cut never errs."""

from __future__ import annotations

import numpy as np
import pytest

from mapl.reproduce.crowds import runs
from mapl.reproduce.crowds.teachers import best_cuts
from mapl.reproduce.worlds import LabelNoise, ThresholdWorld

WORLD = ThresholdWorld(cut=0.3)


def rate(name: str, n: int, m: int) -> float:
    planned = runs.plan(name, m, runs.rehearsals(WORLD, n, runs.numbers_of_teachers(n, 5)))
    assert planned is not None
    return float(np.mean(runs.misses(WORLD, planned, n, m, questions=60_000, crowds=3)))


def test_the_ladders_rate_falls_like_one_over_n() -> None:
    sizes = (30_000, 60_000, 120_000)
    ladder = [rate("ladder", n, n // 10) for n in sizes]
    gaussian = [rate("noisy-max", n, n // 10) for n in sizes]
    assert -1.3 < runs.slope(sizes, ladder) < -0.7
    # The control: composition has to pay for every question, and the same fit tells the two apart.
    assert -0.7 < runs.slope(sizes, gaussian) < -0.3
    assert ladder[-1] < 0.7 * gaussian[-1]


def test_stability_does_not_win_everywhere() -> None:
    assert rate("ladder", 10_000, 1_000) > rate("noisy-max", 10_000, 1_000)


@pytest.mark.parametrize("noise", [LabelNoise(), LabelNoise(0.5)])
def test_teachers_trained_at_once_are_those_trained_one_by_one(noise: LabelNoise) -> None:
    world = ThresholdWorld(cut=0.3, noise=noise)
    X, y = world.sample(20 * 30, np.random.default_rng(1))
    together = best_cuts(X.reshape(20, 30), y.reshape(20, 30))
    alone = [world.erm(X[i : i + 30], y[i : i + 30]) for i in range(0, 600, 30)]
    np.testing.assert_array_equal(together, alone)


def test_a_student_without_labels_knows_nothing() -> None:
    nothing = runs.student(WORLD, np.linspace(0, 1, 5)[:, None], np.full(5, -1, dtype=np.int32))
    assert WORLD.excess_risk(nothing) == pytest.approx(0.2)
