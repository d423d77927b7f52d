"""Images become features one by one, on a scale that public images set."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import ndimage

from mapl.data.encoding.images import Lens, side_of, straighten
from mapl.errors import InvalidData

MNIST = Path(__file__).parents[2].parent / "shared" / "data" / "mnist.parquet"


def strokes(n: int, side: int = 12, *, seed: int = 0) -> NDArray[np.float64]:
    """Slanted strokes on black, between 0 and 255."""
    draws = np.random.default_rng(seed)
    y, x = np.mgrid[:side, :side] - (side - 1) / 2
    slant = draws.uniform(-0.5, 0.5, n)[:, None, None]
    left = draws.uniform(-2, 2, n)[:, None, None]
    ink = np.exp(-((x - left - slant * y) ** 2)) * (np.abs(y) < side / 3)
    return np.asarray(np.rint(255 * ink).reshape(n, -1))


def test_a_row_is_the_same_alone_and_in_a_block() -> None:
    images = strokes(40)
    lens = Lens.of(images, "pixels")
    together = lens.features(images)
    for i in range(len(images)):
        assert np.array_equal(lens.features(images[i : i + 1])[0], together[i])
    shuffled = np.random.default_rng(1).permutation(len(images))
    assert np.array_equal(lens.features(images[shuffled]), together[shuffled])


def test_pixels_may_be_written_in_any_range() -> None:
    images = strokes(10)
    expected = Lens.of(images, "pixels").features(images)
    for rewritten in (images.astype(np.uint8), images / 255, (images / 255 - 0.5).astype(np.float32)):
        found = Lens.of(rewritten, "pixels").features(rewritten)
        np.testing.assert_allclose(found, expected, atol=1e-3)
    inverted = 255 - images
    np.testing.assert_allclose(Lens.of(inverted, "pixels").features(inverted), expected, atol=1e-3)


def test_a_figure_is_moved_to_the_middle_and_set_upright() -> None:
    side = 20
    y, x = np.mgrid[:side, :side] - (side - 1) / 2
    upright = (np.exp(-((x / 1.5) ** 2)) * (np.abs(y) < 5)).astype(np.float32)
    leaning = (np.exp(-(((x - 2 - 0.4 * y) / 1.5) ** 2)) * (np.abs(y) < 5)).astype(np.float32)
    moved = np.roll(leaning, 2, axis=0)
    assert np.abs(moved - upright).mean() > 0.05
    assert np.abs(straighten(moved) - upright).mean() < 0.01
    centre = ndimage.center_of_mass(straighten(moved))
    np.testing.assert_allclose(centre, (side - 1) / 2, atol=0.1)


def test_photographs_stay_as_they_are() -> None:
    draws = np.random.default_rng(3)
    photos = ndimage.gaussian_filter(draws.random((20, 16, 16)), (0, 2, 2)).reshape(20, -1)
    lens = Lens.of(photos, "photo")
    assert 0.2 < lens.ground < 0.8
    moved = np.roll(photos.reshape(20, 16, 16), 4, axis=2).reshape(20, -1)
    change = np.abs(lens.features(moved) - lens.features(photos)).mean()
    drawn = strokes(20, 16)
    drawn_moved = np.roll(drawn.reshape(20, 16, 16), 2, axis=2).reshape(20, -1)
    pen = Lens.of(drawn, "pixels")
    assert np.abs(pen.features(drawn_moved) - pen.features(drawn)).mean() < 1e-3 < change


@given(st.lists(st.floats(width=32), min_size=25, max_size=25))
@settings(max_examples=50, deadline=None)
def test_whatever_a_private_image_holds_its_features_are_finite(cells: list[float]) -> None:
    lens = Lens(side=5, darkest=0.0, brightest=1.0, ground=0.0)
    found = lens.features(np.array([cells]))
    assert found.shape == (1, lens.n_features)
    assert np.isfinite(found).all()


@pytest.mark.parametrize(
    "pixels",
    [np.zeros((3, 16)), np.full((3, 16), 7), np.full((3, 16), np.nan), np.eye(16)[:3]],
    ids=["black", "grey", "missing", "dots"],
)
def test_public_images_that_tell_nothing(pixels: NDArray[Any]) -> None:
    lens = Lens.of(pixels, "pixels")
    assert np.isfinite(lens.features(pixels)).all()


def test_large_images_are_shrunk() -> None:
    small = strokes(5, 20)
    large = np.kron(small.reshape(5, 20, 20), np.ones((1, 4, 4))).reshape(5, -1)
    lens = Lens.of(large, "pixels")
    assert lens.n_features <= 81 * 64
    # 80 pixels become 27 by means over squares of 3, with a strip of ground at the end.
    assert lens.n_features == Lens.of(strokes(5, 27), "pixels").n_features
    assert np.isfinite(lens.features(large)).all()


def test_images_that_are_no_squares_are_refused() -> None:
    assert side_of(784, "pixels") == 28
    with pytest.raises(InvalidData, match=r"'scan' have 700 numbers each; expected square images .* Pad or cut"):
        Lens.of(np.zeros((2, 700)), "scan")


@pytest.mark.skipif(not MNIST.exists(), reason="needs ../shared/data/mnist.parquet")
def test_digits_of_a_class_come_closer_together() -> None:
    with pyarrow.parquet.ParquetFile(MNIST) as stored:
        table = next(stored.iter_batches(300, columns=["pixels", "label"]))
    images = table.column("pixels").flatten().to_numpy().reshape(-1, 784)
    labels = table.column("label").to_numpy()
    lens = Lens.of(images, "pixels")
    assert lens == Lens(28, 0.0, 255.0, 0.0)

    def nearest_is_alike(points: NDArray[Any]) -> float:
        points = points - points.mean(axis=0)
        gap = (points**2).sum(axis=1)[:, None] + (points**2).sum(axis=1) - 2 * points @ points.T
        np.fill_diagonal(gap, np.inf)
        return float((labels[gap.argmin(axis=1)] == labels).mean())

    assert nearest_is_alike(lens.features(images)) > nearest_is_alike(images / 255.0) + 0.05
