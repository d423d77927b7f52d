"""The disagreement coefficient: exact where it is known, and its estimate on the way there."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from mapl.bounds.disagreement import disagreement_curve, halfspaces, intervals, thresholds
from mapl.errors import InvalidData, InvalidParameter


@pytest.mark.parametrize("best", [1, 20, 50, 99])
def test_all_thresholds_on_points_have_the_exact_coefficient(best: int) -> None:
    points = np.arange(100)
    curve = disagreement_curve(points >= np.arange(101)[:, None], points >= best)
    for radius in (0.0, 0.05, 0.3, 0.7):
        assert curve.coefficient(radius) == pytest.approx(thresholds(best / 100, radius=radius).value)
    assert curve.region(0.1) == pytest.approx(min(0.1, best / 100) + min(0.1, 1 - best / 100))


def test_uniform_thresholds_are_approached_as_classifiers_become_dense() -> None:
    rng = np.random.default_rng(1)
    points = rng.random(4000)
    found = []
    for classifiers in (3, 30, 3000):
        near = 0.5 + 0.5 * rng.uniform(-1, 1, classifiers)
        found.append(disagreement_curve(points >= near[:, None], points >= 0.5).coefficient(0.05))
    assert all(less <= more for less, more in pairwise(found))
    assert found[-1] == pytest.approx(float(thresholds()), rel=0.02)


@pytest.mark.parametrize("width", [0.1, 0.2, 0.5])
def test_all_intervals_on_a_circle_of_points(width: float) -> None:
    # Ends would spoil it, so the best interval lies in the middle of many points.
    n = 60
    points = np.arange(n)
    ends = [(a, b) for a in range(n + 1) for b in range(a, n + 1)]
    table = np.array([(points >= a) & (points < b) for a, b in ends])
    half = round(width * n / 2)
    best = (points >= n // 2 - half) & (points < n // 2 + half)
    curve = disagreement_curve(table, best)
    exact = intervals(width).value
    # Empty intervals and single points are within width + 1/n, when all is in dispute.
    assert 0.8 * exact <= curve.coefficient() <= exact + 1e-9


def directions(rng: np.random.Generator, rows: int, dimension: int) -> NDArray[np.float64]:
    drawn = rng.standard_normal((rows, dimension))
    return np.asarray(drawn / np.linalg.norm(drawn, axis=1, keepdims=True))


@pytest.mark.statistical
@pytest.mark.parametrize("dimension", [2, 3, 10])
@pytest.mark.parametrize("radius", [0.02, 0.2])
def test_regions_of_halfspaces_by_drawing_rows(dimension: int, radius: float) -> None:
    # 40,000 draws: five standard deviations, a false alarm below one in a million.
    x = directions(np.random.default_rng(7), 40_000, dimension)
    share = float(np.mean(np.abs(x[:, 0]) <= math.sin(math.pi * radius)))
    expected = halfspaces(dimension, radius=radius).value * radius
    assert abs(share - expected) < 5 * math.sqrt(expected * (1 - expected) / 40_000)


@pytest.mark.parametrize("dimension", [2, 3])
def test_the_estimate_reaches_that_of_halfspaces(dimension: int) -> None:
    rng = np.random.default_rng(11)
    x = directions(rng, 3000, dimension)
    truth = np.eye(dimension)[0]
    radius = 0.1
    found = []
    for classifiers in (5, 60, 1500):
        # Directions at most a little farther than the radius: those are the ones that matter.
        aside = directions(rng, classifiers, dimension)
        aside -= aside[:, :1] * truth
        aside /= np.linalg.norm(aside, axis=1, keepdims=True)
        angle = math.pi * 1.3 * radius * rng.random((classifiers, 1)) ** 0.5
        near = np.cos(angle) * truth + np.sin(angle) * aside
        found.append(disagreement_curve(near @ x.T > 0, x[:, 0] > 0).coefficient(radius))
    assert all(less <= more for less, more in pairwise(found))
    assert found[-1] == pytest.approx(halfspaces(dimension, radius=radius).value, rel=0.08)


@pytest.mark.parametrize("dimension", [2, 5, 100, 10_000])
def test_halfspaces_between_their_known_limits(dimension: int) -> None:
    at_zero = halfspaces(dimension).value
    assert at_zero <= math.pi * math.sqrt(dimension)
    assert at_zero == pytest.approx(math.sqrt(2 * math.pi * dimension), rel=1 / dimension)
    assert halfspaces(dimension, radius=1e-9).value == pytest.approx(at_zero, rel=1e-5)
    falling = [halfspaces(dimension, radius=radius).value for radius in (0.0, 0.01, 0.1, 0.4, 0.5, 0.9)]
    assert all(more >= less * (1 - 1e-12) and less >= 1 for more, less in pairwise(falling))


def test_classifiers_at_one_distance_join_together() -> None:
    best = np.zeros(4, dtype=int)
    curve = disagreement_curve(np.eye(4, dtype=int), best)
    assert curve.radii.tolist() == [0.25]
    assert curve.regions.tolist() == [1.0]
    assert curve.region(0.2) == 0.0
    assert curve.coefficient() == 4.0
    assert curve.coefficient(0.5) == 2.0


@pytest.mark.parametrize(
    ("predictions", "best", "words"),
    [
        ([[0, 1]], [0, 1, 1], "one row per classifier"),
        ([0, 1], [0, 1], "one row per classifier"),
        ([[]], [], "one row per classifier"),
        ([[0, 1]], [0, 1], "draw some that do not"),
    ],
)
def test_tables_without_a_curve_are_refused(predictions: Any, best: Any, words: str) -> None:
    with pytest.raises(InvalidData, match=words):
        disagreement_curve(predictions, best)


def test_senseless_settings_are_refused_by_name() -> None:
    with pytest.raises(InvalidParameter, match="quantile is 0"):
        thresholds(0.0)
    with pytest.raises(InvalidParameter, match="dimension is 1;"):
        halfspaces(1)
    with pytest.raises(InvalidParameter, match=r"width is 1\.5"):
        intervals(1.5)
    with pytest.raises(InvalidParameter, match="radius is 1"):
        halfspaces(3, radius=1.0)
