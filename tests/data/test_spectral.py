"""Spectral coordinates of public points: groups lie together, and every other point is placed by itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from mapl.data.encoding.projection import VALUE_LIMIT, VALUE_STEP, Projection
from mapl.data.encoding.spectral import DENSE, Spectral

Floats = NDArray[np.float32]


def groups(n: int, *, n_groups: int = 3, width: int = 40, seed: int = 0) -> tuple[Floats, NDArray[np.int64]]:
    """Points around the corners of a simplex."""
    draws = np.random.default_rng(seed)
    of = draws.integers(n_groups, size=n)
    points = 2 * np.eye(n_groups, width)[of] + 0.25 * draws.normal(size=(n, width))
    return points.astype(np.float32), of


def fitted(public: Floats, dim: int = 10) -> tuple[Projection, Spectral]:
    projection = Projection.fit(public, dim=20)
    return projection, Spectral.fit(projection(public), dim=dim)


def group_error(coordinates: NDArray[Any], of: NDArray[np.int64], others: NDArray[Any], their: Any) -> float:
    """How often the nearest group mean is another group's."""
    means = np.stack([coordinates[of == k].mean(axis=0) for k in np.unique(of)])
    gap = ((others[:, None] - means) ** 2).sum(axis=2)
    return float((gap.argmin(axis=1) != their).mean())


@pytest.mark.parametrize("n", [60, DENSE, DENSE + 300], ids=["few", "whole", "sparse"])
def test_groups_lie_together_before_anybody_has_seen_a_label(n: int) -> None:
    public, of = groups(n)
    others, their = groups(200, seed=1)
    projection, spectral = fitted(public, dim=2)
    own, placed = spectral(projection(public)), spectral(projection(others))
    assert own.shape == (n, 2)
    assert group_error(own, of, own, of) == 0
    assert group_error(own, of, placed, their) == 0


def test_dense_and_sparse_decompositions_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    public, _ = groups(400)
    projection, whole = fitted(public)
    monkeypatch.setattr("mapl.data.encoding.spectral.DENSE", 0)
    parts = Spectral.fit(projection(public), dim=10)
    np.testing.assert_allclose(parts.pace, whole.pace, rtol=1e-4)
    signs = np.sign((parts.walk * whole.walk).sum(axis=0))
    np.testing.assert_allclose(parts.walk * signs, whole.walk, atol=1e-2)


def test_a_landmark_is_an_average_of_its_neighbours() -> None:
    """An eigenvector of the walk times its eigenvalue is its own mean over one step; checked on the whole graph."""
    public, _ = groups(150)
    projection, spectral = fitted(public)
    points = projection(public).astype(np.float64)
    gap = ((points[:, None] - points) ** 2).sum(axis=2)
    np.fill_diagonal(gap, np.inf)
    k = spectral.n_neighbours
    radii = np.sqrt(np.sort(gap, axis=1)[:, k - 1])
    one_way = np.exp(-gap / np.outer(radii, radii)) * (gap <= radii[:, None] ** 2 * (1 + 1e-12))
    steps = np.maximum(one_way, one_way.T)
    steps /= steps.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(steps @ spectral.walk, spectral.walk * spectral.pace, atol=1e-4)
    assert (np.diff(spectral.pace) <= 1e-12).all()
    assert np.abs(spectral.walk.mean(axis=0)).max() < 0.5  # the constant is left out


@pytest.mark.parametrize("step", [1, 7, 64, 1000])
def test_a_row_is_placed_to_the_bit_whatever_stands_beside_it(step: int) -> None:
    public, _ = groups(300)
    others, _ = groups(150, seed=5)
    others[3] = 1e6
    others[4] = public[7]
    projection, spectral = fitted(public)
    points = projection(others)
    together = spectral(points)
    parts = [others[start : start + step] for start in range(0, len(others), step)]
    assert np.array_equal(np.concatenate([projection(part) for part in parts]), points)
    assert np.array_equal(np.concatenate([spectral(projection(part)) for part in parts]), together)
    backwards = projection(np.ascontiguousarray(others[::-1]))
    assert np.array_equal(spectral(backwards)[::-1], together)


def test_wide_rows_are_projected_exactly() -> None:
    """Sums of thousands of products have no rounding, so they equal those of whole numbers."""
    draws = np.random.default_rng(2)
    public = draws.random((80, 3969)).astype(np.float32)
    projection = Projection.fit(public, dim=30)
    rows = (16 * draws.normal(size=(5, 3969))).astype(np.float32)
    on_grid = np.rint(np.clip(rows, -16, 16).astype(np.float64) * 2**14)
    exponent = 40
    axes = projection.axes.astype(np.float64) * 2.0**exponent
    assert (axes == np.rint(axes)).all()
    whole = [
        [
            sum(
                (int(x) - int(m)) * int(a)
                for x, m, a in zip(row, projection.mean.astype(np.float64) * 2**14, axis, strict=True)
            )
            for axis in axes.T[:3]
        ]
        for row in on_grid
    ]
    exact = np.array([[value / 2 ** (exponent + 14) for value in row] for row in whole])
    expected = np.clip(np.rint(exact / VALUE_STEP) * VALUE_STEP, -VALUE_LIMIT, VALUE_LIMIT)
    assert np.array_equal(projection(rows)[:, :3], expected.astype(np.float32))


def test_principal_components_are_those_of_a_singular_value_decomposition() -> None:
    draws = np.random.default_rng(3)
    public = (draws.normal(size=(400, 8)) * 0.5 ** np.arange(8)) @ draws.normal(size=(8, 90))
    public = (public + 0.01 * draws.normal(size=public.shape)).astype(np.float32)
    projection = Projection.fit(public, dim=8)
    _, singular, turn = np.linalg.svd(public - public.mean(axis=0), full_matrices=False)
    for j in range(5):
        axis = projection.axes[:, j].astype(np.float64)
        assert abs(axis @ turn[j]) / np.linalg.norm(axis) > 0.999
    values = projection(public)
    assert np.mean(values.astype(np.float64) ** 2) == pytest.approx(1, rel=0.01)
    spread = values.std(axis=0)
    assert spread[0] / spread[4] == pytest.approx(np.sqrt(singular[0] / singular[4]), rel=0.02)


def test_far_from_everything_is_still_a_place() -> None:
    public, _ = groups(100)
    projection, spectral = fitted(public)
    odd = np.array([[1e9] * 40, [-1e9] * 40, [np.finfo(np.float32).max] * 40], np.float32)
    assert np.isfinite(spectral(projection(odd))).all()


@pytest.mark.parametrize("n", [1, 2, 3, 4, 12, 40])
def test_few_public_rows(n: int) -> None:
    public, _ = groups(n)
    projection, spectral = fitted(public)
    placed = spectral(projection(groups(30, seed=1)[0]))
    assert placed.shape == (30, spectral.dim)
    assert spectral.dim <= max(0, n - 2)
    assert np.isfinite(placed).all()


def test_equal_and_constant_rows() -> None:
    public, of = groups(60)
    once, thrice = fitted(public)[1], fitted(np.repeat(public, 3, axis=0))[1]
    assert len(thrice.landmarks) == len(once.landmarks) == 60
    same = np.ones((50, 40), np.float32)
    projection, spectral = fitted(same)
    assert spectral(projection(public)).shape == (60, 0)
    assert projection(public).shape == (60, 1)
    half = np.concatenate([same[:30], public[:30]])
    projection, spectral = fitted(half)
    assert np.isfinite(spectral(projection(public))).all()
    assert of.shape == (60,)


@pytest.mark.parametrize("n", [300, 900])
@pytest.mark.parametrize("dim", [10, 21])
def test_a_graph_in_many_parts(n: int, dim: int) -> None:
    """Each part has an eigenvector of its own, and none of them is mistaken for the constant."""
    public, of = groups(n, n_groups=6, width=30)
    public = (public + 20 * np.eye(6, 30, dtype=np.float32)[of]) / 4
    projection = Projection.fit(public, dim=20)
    spectral = Spectral.fit(projection(public), dim=dim)
    assert (spectral.pace == 1).sum() == 5
    assert (spectral.pace[:10:2] == 1).all()
    assert spectral.pace[1::2].max() < 0.99
    np.testing.assert_allclose((spectral.walk**2).sum(axis=0) / n, 1, rtol=0.5)
    own = spectral(projection(public))
    assert group_error(own, of, own, of) == 0


def test_small_parts_do_not_hide_what_is_inside_a_large_one() -> None:
    large, of = groups(600, width=40)
    islands = np.repeat(8 * np.eye(40, dtype=np.float32)[10:40], 11, axis=0)
    islands += 0.1 * np.random.default_rng(4).normal(size=islands.shape).astype(np.float32)
    projection = Projection.fit(np.concatenate([large, islands]), dim=39)
    spectral = Spectral.fit(projection(np.concatenate([large, islands])), dim=30)
    assert (spectral.pace == 1).sum() == 15
    own = spectral(projection(large))
    assert group_error(own, of, own, of) < 0.01
