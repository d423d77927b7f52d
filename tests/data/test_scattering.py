"""Scattering coefficients against sums written out by hand, and the properties that make them worth having."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from mapl.data.encoding.scattering import ANGLES, CHANNELS, STRIDE, n_coefficients, scatter

DRAWS = np.random.default_rng(7)


def coefficients(image: NDArray[np.float64]) -> NDArray[np.float64]:
    count = -(-len(image) // STRIDE)
    return scatter(image.astype(np.float32)).astype(np.float64).reshape(CHANNELS, count, count)


def placed(image: NDArray[np.float64], *, down: int = 0, right: int = 0, side: int = 28) -> NDArray[np.float64]:
    canvas = np.zeros((side, side))
    start = (side - len(image)) // 2
    canvas[start + down : start + down + len(image), start + right : start + right + len(image)] = image
    return canvas


def wavelet(size: int, scale: int, angle: float) -> NDArray[np.complex128]:
    """The Morlet wavelet pixel by pixel, around pixel (0, 0) of a canvas that wraps around."""
    sigma, frequency, slant = 0.8 * 2**scale, 0.75 * np.pi / 2**scale, 0.5
    around = np.arange(-4, 5) * size
    y = (np.arange(size)[:, None] + around)[:, :, None, None]
    x = (np.arange(size)[:, None] + around)[None, None, :, :]
    along, across = x * np.cos(angle) + y * np.sin(angle), y * np.cos(angle) - x * np.sin(angle)
    envelope = np.exp(-(along**2 + (slant * across) ** 2) / (2 * sigma**2)) * slant / (2 * np.pi * sigma**2)
    wave = (envelope * np.exp(1j * frequency * along)).sum(axis=(1, 3))
    still = envelope.sum(axis=(1, 3))
    return wave - still * (wave.sum() / still.sum())


def convolved(image: NDArray[np.float64], filter_: NDArray[np.complex128]) -> NDArray[np.complex128]:
    """Sum over every pixel, one after the other."""
    total = np.zeros_like(filter_)
    for row, column in np.ndindex(*image.shape):
        total += image[row, column] * np.roll(filter_, (row, column), axis=(0, 1))
    return total


def local_means(image: NDArray[np.float64], step: int = 1) -> NDArray[np.float64]:
    """Gaussian means around every fourth pixel of the canvas, of which every `step`-th pixel is given."""
    size = step * len(image)
    centres = np.arange(STRIDE, size, STRIDE)
    gap = np.abs(step * np.arange(len(image))[None, :] - centres[:, None])
    weight = np.exp(-0.5 * (np.minimum(gap, size - gap) / 1.6) ** 2)
    weight /= weight.sum(axis=1, keepdims=True)
    return np.asarray(weight @ image @ weight.T)


@pytest.mark.parametrize("side", [8, 10])
def test_against_a_convolution_pixel_by_pixel(side: int) -> None:
    image = DRAWS.random((side, side))
    size = STRIDE * (-(-side // STRIDE) + 1)
    start = (size - side) // 2
    canvas = np.zeros((size, size))
    canvas[start : start + side, start : start + side] = image
    found = coefficients(image)
    np.testing.assert_allclose(found[0], local_means(canvas), atol=1e-5)
    for k, angle in enumerate(np.pi * np.arange(ANGLES) / ANGLES):
        fine = np.abs(convolved(canvas, wavelet(size, 0, angle)))
        coarse = np.abs(convolved(canvas, wavelet(size, 1, angle)))[::2, ::2]
        np.testing.assert_allclose(found[1 + k], local_means(fine), atol=1e-5)
        np.testing.assert_allclose(found[1 + ANGLES + k], local_means(coarse, 2), atol=1e-5)
        if k == 3:
            for other in (0, 5):
                pair = np.abs(convolved(fine, wavelet(size, 1, np.pi * other / ANGLES)))[::2, ::2]
                place = 1 + 2 * ANGLES + k * ANGLES + other
                np.testing.assert_allclose(found[place], local_means(pair, 2), atol=1e-5)


def test_a_shift_by_a_stride_shifts_the_coefficients() -> None:
    figure = DRAWS.random((12, 12))
    still, moved = coefficients(placed(figure)), coefficients(placed(figure, down=STRIDE, right=-STRIDE))
    np.testing.assert_allclose(moved[:, 1:, :-1], still[:, :-1, 1:], atol=1e-5)


def test_a_small_shift_changes_little_and_pixels_change_much() -> None:
    figure = DRAWS.random((12, 12))
    before, after = placed(figure), placed(figure, right=1)
    change = np.linalg.norm(coefficients(after) - coefficients(before)) / np.linalg.norm(coefficients(before))
    assert change < 0.25 < np.linalg.norm(after - before) / np.linalg.norm(before)


def test_brightness_scales_and_a_flat_ground_has_no_waves() -> None:
    image = DRAWS.random((28, 28))
    np.testing.assert_allclose(coefficients(3 * image), 3 * coefficients(image), rtol=1e-4, atol=1e-5)
    assert not coefficients(np.zeros((28, 28))).any()
    waves = coefficients(np.ones((64, 64)))[1:, 4:-4, 4:-4]
    assert waves.max() < 1e-3


def test_never_larger_than_the_image() -> None:
    for _ in range(20):
        one, other = DRAWS.random((2, 28, 28)) ** 4
        apart = np.linalg.norm(coefficients(one) - coefficients(other))
        assert apart <= np.linalg.norm(one - other)


@pytest.mark.parametrize("side", [1, 2, 3, 5, 8, 27, 28, 29, 32])
def test_every_side_has_its_number_of_coefficients(side: int) -> None:
    found = scatter(DRAWS.random((side, side)).astype(np.float32))
    assert found.shape == (n_coefficients(side),)
    assert found.dtype == np.float32
    assert np.isfinite(found).all()
    assert (found >= 0).all()
