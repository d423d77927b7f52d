"""Balancing sums against predictions on public rows: the model that comes out agrees with the sums."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import softmax

from mapl.students.moments.rounds import Refined, SumRound
from mapl.students.moments.surrogate import PublicBalance

UNITS = 200_000


@pytest.mark.parametrize("n_classes", [2, 3, 9])
def test_rounds_without_much_noise_lead_to_the_model_that_made_the_labels(n_classes: int) -> None:
    draws = np.random.default_rng(n_classes)
    public = draws.standard_normal((3000, 5)).astype(np.float32)
    public /= np.linalg.norm(public, axis=1, keepdims=True)
    counts = np.full(len(public), 1 / len(public), dtype=np.float32)
    truth = draws.standard_normal((5, n_classes))
    truth -= truth.mean(axis=1, keepdims=True)
    law = softmax(public @ truth, axis=1)
    balance, known = PublicBalance(public, counts, declared=UNITS), Refined.start(5, n_classes)
    for _ in range(3):
        beyond = law - softmax(public @ known.weights, axis=1)
        released = SumRound(UNITS * (public.T * counts) @ beyond, 1.0, float(UNITS), 1.0)
        known = balance.refine(known, released)
    assert np.abs(known.weights - truth).max() < 0.02
    assert np.abs(known.weights.sum(axis=1)).max() < 1e-9  # classes have nothing in common


def test_a_row_that_counts_twice_is_as_good_as_two() -> None:
    draws = np.random.default_rng(0)
    public = draws.standard_normal((400, 4)).astype(np.float32) / 4
    sums = draws.standard_normal((4, 3)) * 30
    released = SumRound(sums, 5.0, 4000.0, 5.0)
    counts = np.where(np.arange(400) < 100, 2, 1)
    weighed = PublicBalance(public, (counts / counts.sum()).astype(np.float32))
    repeated = np.repeat(public, counts, axis=0)
    plain = PublicBalance(repeated, np.full(len(repeated), 1 / len(repeated), dtype=np.float32))
    first, second = (one.refine(Refined.start(4, 3), released) for one in (weighed, plain))
    assert np.allclose(first.weights, second.weights, atol=1e-3)
    assert first.optimism == pytest.approx(second.optimism, rel=1e-4)
