"""A linear model of noisy sums where labels are numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest

from mapl.data.moments.number_residuals import with_squares
from mapl.students.moments.least_squares import LEAST_BOUND, LeastSquares, cut_for
from mapl.students.moments.rounds import NoisySquares, Refined, SumRound


def world(n: int, spread: float, level: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return vectors with a constant among them, labels, and the model that these follow."""
    rng = np.random.default_rng(seed)
    rows = np.concatenate([np.ones((n, 1)), rng.normal(size=(n, 5))], axis=1)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    truth = np.array([0.0, 0.2, -0.1, 0.05, 0.0, 0.0])
    return rows, level + rows @ truth + spread * rng.normal(size=n), truth


def predicted(rows: np.ndarray, model: Refined) -> np.ndarray:
    return np.asarray(rows @ model.weights[:, 0] + model.level)


def learned(
    rows: np.ndarray,
    labels: np.ndarray,
    public: np.ndarray,
    *,
    noise: float,
    rounds: int = 6,
    seed: int = 1,
    refiner: LeastSquares | None = None,
) -> list[Refined]:
    rng, known = np.random.default_rng(seed), Refined.start(rows.shape[1], 1)
    refiner = refiner or LeastSquares(public.astype(np.float32), public.T @ public / len(public))
    found = []
    for _ in range(rounds):
        bound = known.bound
        cut = with_squares(labels - np.clip(predicted(rows, known), -1, 1), bound)
        sums = rows.T @ cut + noise * rng.normal(size=(rows.shape[1], 2))
        squares = NoisySquares(sums[:, 1] * bound**2 / 0.3, noise * bound**2 / 0.3)
        known = refiner.refine(
            known, SumRound(sums[:, :1] * bound, noise * bound, float(len(rows)), noise, squares)
        )
        found.append(known)
    return found


def test_without_noise_it_is_ordinary_least_squares() -> None:
    rows, labels, _ = world(20_000, 0.05, 0.3)
    beside = np.concatenate([rows, np.ones((len(rows), 1))], axis=1)
    exact = beside @ np.linalg.lstsq(beside, labels, rcond=None)[0]
    last = learned(rows, labels, world(4000, 0, 0, 7)[0], noise=1e-3, rounds=12)[-1]
    assert np.abs(predicted(rows, last) - exact).mean() < 5e-3


def test_residuals_are_cut_off_ever_nearer_as_the_model_gets_better() -> None:
    rows, labels, _ = world(20_000, 0.02, 0.5)
    bounds = [one.bound for one in learned(rows, labels, world(3000, 0, 0, 7)[0], noise=30.0)]
    assert bounds[0] > 4 * bounds[-1]
    cut = cut_for(30.0 / 20_000)
    assert 0.8 * cut * 0.02 < bounds[-1] < 2 * cut * 0.02


def test_a_bound_that_was_too_near_grows_again() -> None:
    rows, labels, _ = world(5000, 0.3, 0.0)
    refiner = LeastSquares(rows.astype(np.float32), rows.T @ rows / len(rows))
    known = Refined.start(6, 1)
    known = Refined(known.weights, bound=0.01)
    cut = with_squares(labels, 0.01)
    sums = rows.T @ cut
    two = SumRound(sums[:, :1] * 0.01, 0.1, 5000.0, 1.0, NoisySquares(sums[:, 1] * 0.01**2 / 0.3, 1e-4))
    assert refiner.refine(refiner.refine(known, two), two).bound > 0.015


def test_where_there_is_noise_and_nothing_else_predictions_stay_in_the_middle() -> None:
    rows, labels, _ = world(50, 0.0, 0.0)
    last = learned(rows, labels * 0, world(3000, 0, 0, 7)[0], noise=500.0)[-1]
    assert np.isfinite(last.weights).all()
    assert np.abs(predicted(rows, last)).mean() < 0.5


@pytest.mark.parametrize("level", [-0.9, 0.0, 0.9])
def test_the_level_of_all_labels_is_found_wherever_it_lies(level: float) -> None:
    rows, labels, _ = world(10_000, 0.05, 0.0)
    labels = np.clip(labels * 0.2 + level, -1, 1)
    last = learned(rows, labels, world(3000, 0, 0, 7)[0], noise=20.0)[-1]
    assert math.isclose(float(predicted(rows, last).mean()), labels.mean(), abs_tol=0.03)


def test_labels_that_are_all_equal_are_no_trouble() -> None:
    rows, _, _ = world(2000, 0.0, 0.0)
    last = learned(rows, np.full(2000, 0.25), rows, noise=1.0)[-1]
    assert last.bound >= LEAST_BOUND
    np.testing.assert_allclose(predicted(rows, last), 0.25, atol=0.01)


@pytest.mark.parametrize("seed", range(3))
def test_few_public_rows_are_believed_no_more_than_so_few_can_tell(seed: int) -> None:
    """Beside thirty public rows of forty features, clear sums lead nearer to the labels by doubt."""
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((20_030, 40)) * np.logspace(0, -1, 40)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    truth = rng.standard_normal(40)
    people, public = rows[30:], rows[:30]
    labels = np.clip(people @ truth / 4, -1, 1)
    off = []
    for n_told in (30, None):
        refiner = LeastSquares(public.astype(np.float32), public.T @ public / 30, n_told=n_told)
        last = learned(people, labels, public, noise=1.0, rounds=8, refiner=refiner)[-1]
        off.append(float(np.mean((predicted(people, last) - labels) ** 2)))
    assert off[0] < 0.5 * off[1], off
