"""Cleaning: noisy labels of alike rows average out, and how much they are smoothed follows from them alone."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from mapl.students.strategies.cleaning import PENALTIES, clean_labels
from mapl.types import ABSTAIN


def grouped(
    n: int, right: float, *, seed: int = 0
) -> tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.int32]]:
    """Coordinates of four groups, the truth, and labels of which some are right."""
    draws = np.random.default_rng(seed)
    truth = draws.integers(4, size=n).astype(np.int32)
    places = np.hstack([np.eye(4)[truth] + 0.1 * draws.normal(size=(n, 4)), 0.1 * draws.normal(size=(n, 20))])
    wrong = (truth + draws.integers(1, 4, size=n)) % 4
    return places, truth, np.where(draws.random(n) < right, truth, wrong).astype(np.int32)


@pytest.mark.parametrize("right", [0.4, 0.6, 0.9, 1.0])
def test_noise_averages_out(right: float) -> None:
    places, truth, labels = grouped(1500, right)
    found = clean_labels(places, labels, 4)
    assert found.dtype == np.int32
    assert (found == truth).mean() > 0.99


def test_rows_without_a_label_get_one() -> None:
    places, truth, labels = grouped(1000, 0.8)
    labels[::2] = ABSTAIN
    assert (clean_labels(places, labels, 4) == truth).mean() > 0.99


@pytest.mark.parametrize("seed", range(4))
def test_left_out_errors_are_exact(seed: int) -> None:
    """The chosen penalty is the one that fitting again without each row would choose."""
    places, _, labels = grouped(40, 0.6, seed=seed)
    weights = np.random.default_rng(seed).uniform(0.5, 2, 40)
    targets = np.eye(4)[labels]

    def scores(rows: NDArray[np.int64], at: NDArray[np.float64], penalty: float) -> NDArray[np.float64]:
        counted = weights[rows]
        design = np.hstack([np.ones((len(rows), 1)), places[rows]])
        ridge = penalty * np.eye(25)
        ridge[0, 0] = 0
        inner = design.T @ (counted[:, None] * design) + ridge
        slopes = np.linalg.solve(inner, design.T @ (counted[:, None] * targets[rows]))
        return np.asarray(np.hstack([np.ones((len(at), 1)), at]) @ slopes)

    def error(penalty: float) -> float:
        rest = [np.delete(np.arange(40), i) for i in range(40)]
        missed = [((targets[i] - scores(rest[i], places[[i]], penalty)[0]) ** 2).sum() for i in range(40)]
        return float(weights @ missed)

    expected = scores(np.arange(40), places, min(PENALTIES, key=error)).argmax(axis=1)
    assert np.array_equal(clean_labels(places, labels, 4, weights=weights), expected)


def test_labels_that_the_places_cannot_explain_are_left_to_the_majority() -> None:
    draws = np.random.default_rng(5)
    places, labels = draws.normal(size=(600, 10)), (draws.random(600) < 0.2).astype(np.int32)
    assert (clean_labels(places, labels, 2) == 0).mean() > 0.98


@pytest.mark.parametrize("n_coordinates", [0, 1, 5])
def test_degenerate_lessons(n_coordinates: int) -> None:
    draws = np.random.default_rng(6)
    one_class = np.full(7, 2, np.int32)
    assert (clean_labels(draws.normal(size=(7, n_coordinates)), one_class, 4) == 2).all()
    single = np.array([ABSTAIN, 1, ABSTAIN], np.int32)
    assert (clean_labels(draws.normal(size=(3, n_coordinates)), single, 3) == 1).all()
    never = clean_labels(draws.normal(size=(50, n_coordinates)), (np.arange(50) % 2).astype(np.int32), 5)
    assert set(never) <= {0, 1}
