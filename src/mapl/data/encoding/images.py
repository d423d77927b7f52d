"""From the pixels of square images to features, by fixed steps and four public numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from mapl.data.encoding.scattering import n_coefficients, scatter
from mapl.errors import InvalidData
from mapl.types import Singles

WIDEST = 32
"""Larger images are shrunk to at most this side, by means over squares of pixels."""

PLAIN_GROUND = 0.1
"""Images whose border is this close to black or white show a figure on a plain ground."""

STEEPEST = 1.0


@dataclass(frozen=True, slots=True)
class Lens:
    """How images are looked at: scale to [0, 1], straighten figures, scatter, take square roots.

    Figures on a plain ground, such as written characters, are moved to the middle and set upright, on black. Images
    without a plain ground, such as photographs, stay as they are.

    Parameters
    ----------
    side
        How many pixels an image has in each row, and in each column.
    darkest, brightest
        The range of public pixels; what lies outside, or is missing, counts as the nearest or the darkest.
    ground
        The typical brightness of the border of public images, between 0 and 1.
    """

    side: int
    darkest: float
    brightest: float
    ground: float

    @classmethod
    def of(cls, pixels: NDArray[Any], name: str) -> Self:
        """Read the public numbers off PUBLIC images, one flattened image per row.

        Parameters
        ----------
        name
            The column's name, for messages.
        """
        side = side_of(pixels.shape[1], name)
        known = pixels[np.isfinite(pixels)]
        darkest, brightest = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
        lens = cls(side, darkest, brightest, ground=0.5)
        border = np.ones((side, side), dtype=np.bool_)
        border[1:-1, 1:-1] = False
        ground = float(np.median(lens._scaled(pixels[:, border.ravel()])))
        return cls(side, darkest, brightest, ground)

    @property
    def n_features(self) -> int:
        return n_coefficients(self.shrunk_side)

    def features(self, pixels: NDArray[Any]) -> Singles:
        """Return the features of flattened images, each computed from that image alone.

        Parameters
        ----------
        pixels
            One image per row; a block of some hundred rows at a time keeps the result small.
        """
        features = np.empty((len(pixels), self.n_features), np.float32)
        for image, row in zip(self.figures(pixels), features, strict=True):
            row[:] = scatter(image)
        return np.sqrt(np.maximum(features, 0, out=features), out=features)

    def figures(self, pixels: NDArray[Any]) -> Singles:
        """Return flattened images as squares: scaled to [0, 1], shrunk, and straightened where figures are."""
        images = self._scaled(pixels).reshape(-1, self.side, self.side)
        figures = np.empty((len(images), self.shrunk_side, self.shrunk_side), np.float32)
        for image, figure in zip(images, figures, strict=True):
            figure[:] = self._straightened(self._shrunk(image))
        return figures

    @property
    def on_plain_ground(self) -> bool:
        """Whether the images show figures on a plain ground, which is then black."""
        return min(self.ground, 1 - self.ground) <= PLAIN_GROUND

    def _scaled(self, pixels: NDArray[Any]) -> Singles:
        spread = self.brightest - self.darkest
        scaled = (np.asarray(pixels, np.float64) - self.darkest) / (spread if spread > 0 else 1.0)
        scaled = np.nan_to_num(np.clip(scaled, 0, 1, out=scaled), copy=False)
        return np.asarray(1 - scaled if self.ground >= 1 - PLAIN_GROUND else scaled, np.float32)

    @property
    def _shrinking(self) -> int:
        return -(-self.side // WIDEST)

    @property
    def shrunk_side(self) -> int:
        return -(-self.side // self._shrinking)

    def _shrunk(self, image: Singles) -> Singles:
        factor, side = self._shrinking, self.shrunk_side
        if factor == 1:
            return image
        padded = np.pad(image, (0, factor * side - self.side), mode="edge")
        return np.asarray(padded.reshape(side, factor, side, factor).mean(axis=(1, 3)), np.float32)

    def _straightened(self, image: Singles) -> Singles:
        return straighten(image) if self.on_plain_ground else image


def side_of(n_pixels: int, name: str) -> int:
    """Return the side of square images with so many pixels, or refuse others."""
    side = math.isqrt(n_pixels)
    if side * side != n_pixels:
        raise InvalidData(
            f"The images of column {name!r} have {n_pixels} numbers each; expected square images with one channel, "
            "such as 784 = 28 x 28. Pad or cut them to squares and turn colours into grey; where the lists are no "
            "images, give every number a column of its own. Learners of your own, for teachers and student, get "
            "the numbers as they are."
        )
    return side


def straighten(image: Singles) -> Singles:
    """Move the centre of mass of a figure on black to the middle, and undo its slant."""
    side = len(image)
    bright = np.asarray(image, np.float64)
    place, middle = np.arange(side, dtype=np.float64), (side - 1) / 2
    by_row, by_column = bright.sum(axis=1), bright.sum(axis=0)
    mass = by_row.sum()
    if mass <= 0:
        return image
    top, left = (by_row * place).sum() / mass, (by_column * place).sum() / mass
    down, right = place - top, place - left
    height = (by_row * down**2).sum() / mass
    lean = (bright * down[:, None] * right).sum() / mass / max(height, 1e-3)
    slant = min(max(lean, -STEEPEST), STEEPEST)
    moved = ndimage.affine_transform(
        image,
        np.array([[1.0, 0.0], [slant, 1.0]]),
        offset=(top - middle, left - middle - slant * middle),
        order=1,
        mode="grid-constant",
        prefilter=False,
    )
    return np.asarray(moved, np.float32)
