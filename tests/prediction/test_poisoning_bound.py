"""Planted examples move the chance of a chosen answer no further than the bound, where a plain learner flips."""

from __future__ import annotations

import math

import numpy as np
import pytest

from mapl.noise import SeededCoins
from mapl.prediction.candidates.candidates import Cover
from mapl.prediction.hypotheses import Thresholds
from mapl.prediction.predictors.confidence import Confidence
from mapl.prediction.predictors.stable import StablePredictor
from mapl.prediction.predictors.subset import FixedSize
from mapl.prediction.prices.poisoning import stable_bound

N, RATE = 60, 0.05
TARGET = np.array([29.5])
X = np.arange(float(N))[:, None]
Y = (X[:, 0] >= 30).astype(int)


def poisoned(k: int) -> tuple[np.ndarray, np.ndarray]:
    """Relabel the k zeros nearest to the target, which is what moves thresholds the most."""
    labels = Y.copy()
    labels[30 - k : 30] = 1
    return X, labels


def stable(X: np.ndarray, y: np.ndarray) -> StablePredictor:
    return StablePredictor.fit(X, y, Cover(Thresholds()), subset=FixedSize(1, N), rate=RATE)


def chance(X: np.ndarray, y: np.ndarray) -> float:
    """Average exactly over all subsets, here of one record each."""
    return math.fsum(Thresholds().patterns(X[[i]]).errors(X, y).law(RATE, TARGET) for i in range(N)) / N


def best_threshold(X: np.ndarray, y: np.ndarray) -> int:
    """What a plain learner says: the threshold of fewest errors."""
    errors = [int(((X[:, 0] >= cut) != y).sum()) for cut in X[:, 0]]
    return int(TARGET[0] >= X[int(np.argmin(errors)), 0])


@pytest.mark.parametrize("k", [1, 3, 10])
def test_planted_examples_move_an_answer_within_the_bound(k: int) -> None:
    bound = stable(X, Y).stability_against(k)
    moved = abs(chance(*poisoned(k)) - chance(X, Y))
    assert 0 < moved <= bound
    assert bound <= stable_bound(k, stable(X, Y).stability) * (1 + 1e-12) < 1
    assert best_threshold(X, Y) == 0
    assert best_threshold(*poisoned(k)) == 1  # one example is enough to turn it round


def test_a_confidence_is_stable_for_every_value_of_its_coins() -> None:
    gamma = 0.15
    for seed in range(3):
        clean = Confidence.of(stable(X, Y), gamma, SeededCoins(seed))
        assert clean.stability <= gamma
        for row in (0, 29, 30, 59):
            labels = Y.copy()
            labels[row] ^= 1
            changed = Confidence.of(stable(X, labels), gamma, SeededCoins(seed))
            for at in (TARGET, np.array([5.0]), np.array([55.0])):
                assert abs(changed.at(at) - clean.at(at)) <= clean.stability
    assert clean.at(np.array([-1.0])) < 0.4 < 0.6 < clean.at(np.array([70.0]))
