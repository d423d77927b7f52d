"""A linear model's probabilities agree with the first sums, whatever later rounds cut off."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import softmax

from mapl.students.moments.recalibration import find_constant, recalibrate
from mapl.students.moments.rounds import Refined, SumRound
from mapl.types import Floats

UNITS, N_PUBLIC, WIDTH = 20_000, 3000, 6


def vectors(n: int, seed: int) -> Floats:
    rows = np.random.default_rng(seed).normal(size=(n, WIDTH))
    rows[:, -1] = 2.0
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def truth(n_classes: int) -> Floats:
    weights = np.random.default_rng(7).normal(size=(WIDTH, n_classes)) * 2
    weights[-1, -1] -= 4  # the last class is rare
    return np.asarray(weights - weights.mean(axis=1, keepdims=True))


def first_round(n_classes: int, noise: float) -> SumRound:
    rows, draws = vectors(UNITS, 1), np.random.default_rng(2)
    chances = softmax(rows @ truth(n_classes), axis=1)
    labels = (draws.random(UNITS)[:, None] > chances.cumsum(axis=1)).sum(axis=1)
    sums = rows.T @ (np.eye(n_classes)[labels] - 1 / n_classes)
    return SumRound(sums + noise * draws.normal(size=sums.shape), noise, UNITS, 1.0)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_slope_and_totals_are_mended(n_classes: int) -> None:
    """A model that is twice too sure and misses the rare class, beside noise of a fiftieth of the units."""
    public = vectors(N_PUBLIC, 3).astype(np.float32)
    spoilt = 2 * truth(n_classes)
    spoilt[-1, -1] -= 3
    known = Refined(spoilt, (first_round(n_classes, noise=20.0),), (np.zeros(1),), np.ones((WIDTH, WIDTH)))
    mended = recalibrate(known, public, units=UNITS)
    so = softmax(public @ truth(n_classes), axis=1)
    before, after = (softmax(public @ one.weights, axis=1) for one in (known, mended))
    assert abs(after.mean(axis=0) - so.mean(axis=0)).max() < 0.02
    assert -(so * np.log(after)).sum() < -(so * np.log(before)).sum()
    assert np.abs(after - so).mean() < np.abs(before - so).mean() / 2
    assert mended.scatter is not None
    assert (mended.scatter < 1).all()  # noise of weights shrinks with them


def test_where_noise_is_everything_the_model_stays() -> None:
    public = vectors(N_PUBLIC, 3).astype(np.float32)
    known = Refined(truth(2), (first_round(2, noise=1e7),), (np.zeros(1),))
    np.testing.assert_allclose(recalibrate(known, public, units=UNITS).weights, truth(2), rtol=0.05, atol=0.05)


def test_an_echo_flattens() -> None:
    public = vectors(N_PUBLIC, 3).astype(np.float32)
    known = Refined(truth(2), (first_round(2, noise=20.0),), (np.zeros(1),))
    plain, echoed = (recalibrate(known, public, units=UNITS, echo=echo).weights for echo in (0.0, 0.1))
    assert np.abs(echoed).sum() < 0.97 * np.abs(plain).sum()


def test_the_constant_is_one_along_all_rows() -> None:
    rows = vectors(N_PUBLIC, 4)
    along = rows @ find_constant(rows, 0.0)
    assert along.mean() == pytest.approx(1)
    assert along.std() < 0.5
    assert not find_constant(np.zeros((5, 3)), 0.0).any()
