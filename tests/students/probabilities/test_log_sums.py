"""Sums of exponentials are those of scipy."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special
from scipy.special import logsumexp

from mapl.students.probabilities.log_sums import log_sums, softmax


@pytest.mark.parametrize("n_classes", [2, 3, 7, 26])
def test_they_are_those_of_scipy(n_classes: int) -> None:
    rng = np.random.default_rng(n_classes)
    scores = (rng.normal(size=(2000, n_classes)) * rng.choice([0.01, 1, 50], (2000, 1))).astype(np.float32)
    scores[:100] = np.rint(scores[:100])  # where several are the largest
    scores[:10] = 0.0
    found = log_sums(scores)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, logsumexp(scores.astype(np.float64), axis=1), rtol=2e-6, atol=2e-7)
    np.testing.assert_array_equal(found, logsumexp(scores, axis=1))  # seeded runs release what they did before


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_classes", [2, 3, 7, 26])
def test_shares_are_those_of_scipy(n_classes: int, dtype: type) -> None:
    scores = (np.random.default_rng(n_classes).normal(size=(2000, n_classes)) * 30).astype(dtype)
    found = softmax(scores)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, scipy.special.softmax(scores, axis=1))
