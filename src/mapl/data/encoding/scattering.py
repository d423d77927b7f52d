"""Scattering coefficients of one image: wavelets, absolute values, wavelets again, local means.

Two scales and eight angles, orders 0 to 2 (Bruna and Mallat, Invariant Scattering Convolution Networks, arXiv
1203.1513). The filters are constants, and every image is transformed by itself: what it becomes does not depend on
which other images there are, not even in the last bit.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from mapl.types import Floats, Singles

ANGLES = 8
"""Directions over half a turn."""

STRIDE = 4
"""Coefficients are taken at every fourth pixel: two to the number of scales."""

CHANNELS = 1 + 2 * ANGLES + ANGLES**2


def n_coefficients(side: int) -> int:
    """Return how many coefficients an image of this side has."""
    return CHANNELS * _count(side) ** 2


def scatter(image: Singles) -> Singles:
    """Return the coefficients of a square image: means, both scales, and pairs of a fine and a coarse one."""
    side = len(image)
    bank = _bank(side)
    start = (bank.size - side) // 2
    canvas = np.zeros((bank.size, bank.size), np.float32)
    canvas[start : start + side, start : start + side] = image
    hat = fft.fft2(canvas)
    fine = np.abs(fft.ifft2(hat * bank.fine))
    coarse = np.abs(fft.ifft2(_halved(hat * bank.coarse)))
    pairs = np.abs(fft.ifft2(_halved(fft.fft2(fine)[:, None] * bank.coarse)))
    whole = np.concatenate([canvas.reshape(1, -1), fine.reshape(ANGLES, -1)])
    half = np.concatenate([coarse.reshape(ANGLES, -1), pairs.reshape(ANGLES**2, -1)])
    return np.concatenate([whole @ bank.means, half @ bank.means_of_half]).ravel()


@dataclass(frozen=True, slots=True, eq=False)
class _Bank:
    """What is the same for all images of a side.

    `fine` and `coarse` are the wavelets as the Fourier transform sees them, one per angle; `means` and
    `means_of_half` take local means of a flattened canvas, and of one with every second pixel only.
    """

    size: int
    fine: Singles
    coarse: Singles
    means: Singles
    means_of_half: Singles


@lru_cache(maxsize=4)
def _bank(side: int) -> _Bank:
    count = _count(side)
    size = STRIDE * (count + 1)  # half a stride of ground on every side, since the transform wraps around
    angles = np.pi * np.arange(ANGLES) / ANGLES
    fine, coarse = (
        np.stack([_morlet_hat(size, scale, angle) for angle in angles]).astype(np.float32) for scale in (0, 1)
    )
    return _Bank(size, fine, coarse, _means(size, 1, count), _means(size // 2, 2, count))


def _count(side: int) -> int:
    return -(-side // STRIDE)


def _morlet_hat(size: int, scale: int, angle: float) -> Floats:
    """A wave under a Gaussian, minus as much of the Gaussian as makes its mean exactly zero."""
    sigma, frequency = 0.8 * 2**scale, 0.75 * np.pi / 2**scale
    wave = _gabor_hat(size, sigma, angle, frequency)
    envelope = _gabor_hat(size, sigma, angle, 0.0)
    hat: Floats = wave - envelope * (wave[0, 0] / envelope[0, 0])
    return hat


def _gabor_hat(size: int, sigma: float, angle: float, frequency: float) -> Floats:
    """The Fourier transform of a wave under a Gaussian that is twice as long across it; sampling folds it."""
    slant = 4.0 / ANGLES
    total = np.zeros((size, size))
    base = 2 * np.pi * np.fft.fftfreq(size)
    turns = 2 * np.pi * np.arange(-2, 3)
    for y in (base + turn for turn in turns):
        for x in (base + turn for turn in turns):
            along = np.cos(angle) * x[None, :] + np.sin(angle) * y[:, None] - frequency
            across = np.cos(angle) * y[:, None] - np.sin(angle) * x[None, :]
            total += np.exp(-0.5 * sigma**2 * (along**2 + (across / slant) ** 2))
    return total


def _means(size: int, step: int, count: int) -> Singles:
    """Gaussian means around every fourth pixel of a canvas of which every `step`-th pixel is known."""
    period = step * size
    ahead = step * np.arange(size)[None, :] - STRIDE * np.arange(1, count + 1)[:, None]
    gap = (ahead + period / 2) % period - period / 2
    weight = np.exp(-0.5 * (gap / (0.4 * STRIDE)) ** 2)
    weight /= weight.sum(axis=1, keepdims=True)
    return np.ascontiguousarray(np.kron(weight, weight).T, np.float32)


def _halved(hat: NDArray[np.complex64]) -> NDArray[np.complex64]:
    """Keep every second pixel, which folds the Fourier transform."""
    half = hat.shape[-1] // 2
    rows = hat[..., :half, :] + hat[..., half:, :]
    return np.asarray((rows[..., :half] + rows[..., half:]) * np.float32(0.25), np.complex64)
