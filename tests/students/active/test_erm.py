"""Empirical risk minimisers against exhaustive search."""

from __future__ import annotations

import numpy as np
import pytest
from exact_erm import FiniteClass
from hypothesis import given, settings
from hypothesis import strategies as st

from mapl.errors import InvalidParameter
from mapl.reproduce.crowds.cut_rules import ThresholdRules
from mapl.students.active.erm import Linear

POINTS = 7


def every_threshold() -> FiniteClass:
    """All thresholds on the points 0 to 6, as a list."""
    return FiniteClass((np.arange(POINTS) >= np.arange(POINTS + 1)[:, None]).astype(np.int32))


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.integers(0, POINTS - 1), st.integers(0, 1)), max_size=12))
def test_thresholds_are_searched_exactly(seen: list[tuple[int, int]]) -> None:
    x = np.array([one for one, _ in seen], dtype=np.float64).reshape(-1, 1)
    labels = np.array([label for _, label in seen], dtype=np.int32)
    rows = np.arange(POINTS, dtype=np.float64).reshape(-1, 1)
    listed, quick = every_threshold().contest(x, labels, rows), ThresholdRules().contest(x, labels, rows)
    assert quick.error == pytest.approx(listed.error)
    for i in range(POINTS):
        # Several classifiers may be best; where they call a row differently, the other side costs nothing more.
        same = quick.calls[i] == listed.calls[i]
        assert quick.otherwise[i] == pytest.approx(listed.otherwise[i] if same else listed.error)


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 10_000))
def test_finite_classes_by_hand(seed: int) -> None:
    draws = np.random.default_rng(seed)
    table = draws.integers(0, 2, size=(5, 4)).astype(np.int32)
    at, labels = draws.integers(0, 4, size=6), draws.integers(0, 2, size=6).astype(np.int32)
    contest = FiniteClass(table).contest(at[:, None].astype(float), labels, np.arange(4.0)[:, None])
    errors = [(row[at] != labels).mean() for row in table]
    assert contest.error == pytest.approx(min(errors))
    for point in range(4):
        others = [e for e, row in zip(errors, table, strict=True) if row[point] != contest.calls[point]]
        assert contest.otherwise[point] == pytest.approx(min(others, default=np.inf))


def test_linear_classifiers() -> None:
    draws = np.random.default_rng(0)
    rows = draws.normal(size=(400, 2))
    labels = (rows[:, 0] > 0).astype(np.int32)
    asked = np.array([[0.02, 0.0], [-0.02, 0.5], [3.0, 0.0], [-3.0, 0.0]])
    contest = Linear(penalty=10.0, n_columns=2).contest(rows, labels, asked)
    assert contest.calls.tolist()[2:] == [1, 0]
    assert contest.error < 0.03
    near, far = contest.otherwise[:2], contest.otherwise[2:]
    assert (near < 0.06).all()
    assert (far > 0.2).all()
    assert Linear(n_columns=2).dimension == 3


def test_linear_with_one_class_so_far() -> None:
    contest = Linear(n_columns=1).contest(np.ones((3, 1)), np.ones(3, dtype=np.int32), np.zeros((2, 1)))
    assert contest.calls.tolist() == [1, 1]
    assert contest.otherwise.tolist() == [0.0, 0.0]
    with pytest.raises(InvalidParameter, match="2 columns"):
        Linear(n_columns=1).contest(np.ones((3, 2)), np.ones(3, dtype=np.int32), np.zeros((2, 2)))
