"""Counting in 32 bits first: the same votes as in 64 bits and in exact numbers, ties and failures included."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mapl.teachers.panel import LinearPanel, Weights, linear
from mapl.teachers.panel.quick_count import DOUBTS_AT_ONCE, QUESTIONS_AT_ONCE, error_bound, scale


def panel_of(generator: Any, n_classes: int, n_teachers: int, n_features: int, scale: float) -> LinearPanel:
    """Teachers that often tie; some fail, lack a class, have their classes in another order or name none."""
    width = 1 if n_classes == 2 else n_classes
    teachers: list[Weights | None] = []
    for k in range(n_teachers):
        coef = generator.integers(-2, 3, size=(width, n_features)) * 0.1 * scale ** (k % 3)
        intercept = generator.integers(-1, 2, size=width) * 0.1 * scale ** (k % 3)
        codes = generator.permutation(n_classes)
        if k % 7 == 1:
            teachers.append(None)
        elif k % 7 == 2 and n_classes > 3:
            teachers.append(Weights(coef[1:], intercept[1:], codes[1:]))
        elif k % 7 == 3 and n_classes > 2:
            teachers.append(Weights(coef[:1], intercept[:1], codes[:2]))
        elif k % 7 == 4:
            codes[0] = -1
            teachers.append(Weights(coef, intercept, codes))
        else:
            teachers.append(Weights(coef, intercept, codes))
    return LinearPanel.of(teachers, n_features=n_features, n_classes=n_classes)


def counts(panel: LinearPanel, rows: Any, few: int) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(linear, "FEW_SCORES", few)
        return panel.votes(rows).counts


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@given(seed=st.integers(0, 2**32 - 1), scale=st.sampled_from([1.0, 1e-6, 1e40]), large=st.sampled_from([1.0, 1e30]))
@settings(max_examples=8, deadline=None)
def test_votes_are_those_of_the_slow_way(n_classes: int, seed: int, scale: float, large: float) -> None:
    generator = np.random.default_rng(seed)
    panel = panel_of(generator, n_classes, 30, 12, scale)
    rows = generator.integers(-3, 4, size=(50, 12)) * 0.1 * large
    rows[7] = 0.0
    rows[8, 3], rows[9, 2], rows[10, 0] = np.nan, np.inf, 1e200
    np.testing.assert_array_equal(counts(panel, rows, 0), counts(panel, rows, 1 << 60))


def test_many_questions_come_in_blocks() -> None:
    generator = np.random.default_rng(1)
    for n_classes in (2, 4):
        panel = panel_of(generator, n_classes, 400, 3, 1.0)
        rows = generator.normal(size=(QUESTIONS_AT_ONCE + 5, 3))
        found = counts(panel, rows, 0)
        np.testing.assert_array_equal(found, counts(panel, rows, 1 << 60))
        assert (found.sum(axis=1) == 400).all()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_doubts_wait_for_each_other_and_rows_that_fail_all_are_in_none(n_classes: int) -> None:
    """Three teachers are in doubt about everything, so that more waits than is decided at once."""
    generator, width = np.random.default_rng(3), 1 if n_classes == 2 else n_classes
    coef, unsure = generator.normal(size=(width, 2)), np.zeros((width, 2))
    orders = [generator.permutation(n_classes) for _ in range(4)]
    teachers = [Weights(coef if k == 3 else unsure, np.zeros(width), codes) for k, codes in enumerate(orders)]
    panel = LinearPanel.of(teachers, n_features=2, n_classes=n_classes)
    rows = generator.normal(size=(QUESTIONS_AT_ONCE + DOUBTS_AT_ONCE // 2, 2))
    rows[::7, 0] = np.nan
    found = counts(panel, rows, 0)
    assert (found.sum(axis=1) == 4).all()
    np.testing.assert_array_equal(found, counts(panel, rows, 1 << 60))


def test_32_bits_alone_would_decide_otherwise() -> None:
    """The control: without a second look some of these votes fall otherwise."""
    generator = np.random.default_rng(2)
    rows = generator.normal(size=(100, 20))
    teachers = [Weights(row[None, :] * 0, np.zeros(1), np.arange(2)) for row in rows]
    for k, row in enumerate(rows):  # each teacher's score on its own row is zero but for rounding
        other = generator.normal(size=20)
        coef = other - row * (other @ row) / (row @ row)
        teachers[k] = Weights(coef[None, :], np.zeros(1), np.arange(2))
    panel = LinearPanel.of(teachers, n_features=20, n_classes=2)
    exact = counts(panel, rows, 1 << 60)
    short = (rows.astype(np.float32) @ panel.columns.astype(np.float32) > 0).sum(axis=1)
    assert (short != exact[:, 1]).any()
    np.testing.assert_array_equal(counts(panel, rows, 0), exact)


@given(seed=st.integers(0, 2**32 - 1), n_features=st.sampled_from([1, 7, 300]))
@settings(max_examples=20, deadline=None)
def test_no_score_is_wrong_by_more_than_the_bound(seed: int, n_features: int) -> None:
    generator = np.random.default_rng(seed)
    rows, weights = (generator.standard_cauchy(size=(40, n_features + 1)) for _ in range(2))
    rows[:, -1] = 1.0
    weights /= 2.0 ** np.frexp(np.sqrt((weights**2).sum(axis=1)))[1][:, None]
    columns = scale(rows[:, :-1], np.sqrt((rows[:, :-1] ** 2).sum(axis=1)))
    assert (np.sqrt((columns.astype(np.float64) ** 2).sum(axis=0)) <= 1.000001).all()
    down = columns[-1].astype(np.float64)
    wrong = weights.astype(np.float32) @ columns - weights @ rows.T * down
    assert np.abs(wrong).max() <= error_bound(n_features)
