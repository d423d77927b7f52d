"""Probabilities by basic operations: right, and the same bits wherever a row stands."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import softmax

from mapl.data.moments import probabilities
from mapl.data.moments.probabilities import add_columns, class_chances


@pytest.mark.parametrize("scale", [0.0, 1.0, 30.0, 1e6])
def test_they_are_those_of_a_softmax(scale: float) -> None:
    scores = scale * np.random.default_rng(0).normal(size=(500, 5))
    found = class_chances(scores)
    assert np.allclose(found, softmax(scores, axis=1), rtol=1e-12, atol=1e-300)
    assert np.allclose(found.sum(axis=1), 1, rtol=1e-12)
    assert (found >= 0).all()


def test_a_row_has_the_same_bits_in_every_block() -> None:
    scores = 5 * np.random.default_rng(1).normal(size=(257, 3))
    whole = class_chances(scores)
    for at in (0, 1, 13, 256):
        assert (class_chances(scores[at : at + 1]) == whole[at]).all()
        assert (class_chances(scores[at:]) == whole[at:]).all()
        assert (class_chances(np.asfortranarray(scores)[at:]) == whole[at:]).all()


def test_sums_go_from_left_to_right() -> None:
    row = np.array([[1.0, 2.0**-53, 2.0**-53, 2.0**-53, 2.0**-53]])
    assert add_columns(row).tolist() == [1.0]
    assert add_columns(row[:, ::-1]).tolist() == [1.0 + 2.0**-51]


def test_no_function_of_a_library_is_asked_for_an_exponential(monkeypatch: pytest.MonkeyPatch) -> None:
    """Libraries may compute the last number of a block otherwise than the first."""
    for name in ("exp", "exp2", "expm1", "power"):
        monkeypatch.delattr(probabilities.np, name)
    class_chances(np.array([[0.0, 1.0]]))
