"""A small convolutional network as plain arrays: its form, and its answers by matrix products.

It is trained elsewhere (`network_training`), so that whoever uses a student needs numpy and nothing more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from mapl.types import Singles

Arrays: TypeAlias = list[NDArray[np.float32]]
"""Filters and offsets of each layer in turn, then the matrix and the offsets of the last one.

Filters are indexed by row, column, channel that goes in, channel that comes out; the matrix by row, column and
channel of what is left of an image, all in one, and by class.
"""

FLOATS_AT_ONCE = 1 << 21


@dataclass(frozen=True, slots=True)
class Layer:
    """Filters of a size, shifted by a stride over an image with a border of zeros; then the largest of 2 x 2."""

    size: int
    stride: int = 1
    pooled: bool = False

    def side_after(self, side: int) -> int:
        return self.side_filtered(side) // (2 if self.pooled else 1)

    def side_filtered(self, side: int) -> int:
        return -(-side // self.stride)


LAYERS = (Layer(5, stride=2), Layer(3, pooled=True), Layer(3))
LEAST_SIDE = 3
"""The smallest images of which anything is left after all layers."""

MOST_FILTERS = 512


def sides(side: int) -> list[int]:
    """Return the side of an image before each layer, and after the last."""
    found = [side]
    for layer in LAYERS:
        found.append(layer.side_after(found[-1]))
    return found


def shapes(side: int, channels: int, widths: tuple[int, ...], n_classes: int) -> list[tuple[int, ...]]:
    """Return the shapes of the arrays of a network for square images."""
    found: list[tuple[int, ...]] = []
    for layer, before, after in zip(LAYERS, (channels, *widths), widths, strict=False):
        found += [(layer.size, layer.size, before, after), (after,)]
    return [*found, (sides(side)[-1] ** 2 * widths[-1], n_classes), (n_classes,)]


def work(side: int, channels: int, widths: tuple[int, ...]) -> int:
    """Return how many multiplications one image takes, without the last layer."""
    filters = shapes(side, channels, widths, 1)[:-2:2]
    return sum(
        layer.side_filtered(before) ** 2 * int(np.prod(shape))
        for layer, before, shape in zip(LAYERS, sides(side), filters, strict=False)
    )


def scores(images: Singles, arrays: Arrays) -> Singles:
    """Return a score per image and class.

    Parameters
    ----------
    images
        Indexed by image, row, column, channel.
    """
    step = images_at_once(images.shape[1], images.shape[3], tuple(offsets.size for offsets in arrays[1:-2:2]))
    blocks = [images[start : start + step] for start in range(0, len(images), step)]
    return np.concatenate([_scores(block, arrays) for block in blocks])


def images_at_once(side: int, channels: int, widths: tuple[int, ...]) -> int:
    """Return how many images are looked at together, so that their patches fit into memory."""
    patches = [
        layer.side_filtered(before) ** 2 * layer.size**2 * width
        for layer, before, width in zip(LAYERS, sides(side), (channels, *widths), strict=False)
    ]
    return max(1, FLOATS_AT_ONCE // max(patches))


def _scores(images: Singles, arrays: Arrays) -> Singles:
    seen = images
    for layer, filters, offsets in zip(LAYERS, arrays[0:-2:2], arrays[1:-2:2], strict=True):
        seen = _filtered(seen, filters, offsets, layer.stride)
        if layer.pooled:
            seen = _largest_of_four(seen)
    flat: Singles = seen.reshape(len(seen), -1) @ arrays[-2]
    flat += arrays[-1]
    return flat


def _filtered(images: Singles, filters: Singles, offsets: Singles, stride: int) -> Singles:
    """Lay every patch out as a row, multiply, and keep what is positive."""
    n, side, _, channels = images.shape
    size, margin, after = len(filters), len(filters) // 2, -(-side // stride)
    padded = np.pad(images, ((0, 0), (margin, margin), (margin, margin), (0, 0)))
    patches = np.empty((n, after, after, size, size, channels), np.float32)
    reach = stride * (after - 1) + 1
    for row in range(size):
        for column in range(size):
            patches[:, :, :, row, column] = padded[:, row : row + reach : stride, column : column + reach : stride]
    found: Singles = patches.reshape(n * after * after, -1) @ filters.reshape(-1, len(offsets))
    found += offsets
    return np.maximum(found, 0, out=found).reshape(n, after, after, len(offsets))


def _largest_of_four(images: Singles) -> Singles:
    even = 2 * (images.shape[1] // 2)
    top, bottom = (images[:, start:even:2] for start in (0, 1))
    larger = np.maximum(top, bottom)
    return np.maximum(larger[:, :, 0:even:2], larger[:, :, 1:even:2])
