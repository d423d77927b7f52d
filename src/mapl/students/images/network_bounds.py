"""Refuse convolutional networks that do not add up, or that would ask for more memory than any network of mapl's.

A few stored numbers decide how much is computed per image: a file of some megabytes could hold filters that make a
million channels, and every image would then need gigabytes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mapl.data.encoding.images import Lens
from mapl.errors import InvalidData
from mapl.students.file.tree_bounds import parts_of
from mapl.students.images.convolution import COLOURS, ConvolutionStudent
from mapl.students.images.network import LAYERS, LEAST_SIDE, MOST_FILTERS, shapes

BROKEN = "The student file holds a network that does not add up; it is damaged or forged. Do not use it."


def refuse_bad_networks(model: Any) -> None:
    """Look at every network inside a loaded model before it predicts for the first time."""
    for _, part in parts_of(model):
        if isinstance(part, ConvolutionStudent) and not (_sound_lens(part) and _sound_arrays(part)):
            raise InvalidData(BROKEN)


def _sound_lens(student: Any) -> bool:
    """Look at how images are scaled, and whether that fits the number of pixels that rows are checked for."""
    lens, channels, n_pixels = (vars(student).get(name) for name in ("lens_", "channels_", "n_pixels_"))
    if not isinstance(lens, dict) or set(lens) != set(Lens.__slots__):
        return False
    side, *others = (lens[name] for name in Lens.__slots__)
    if any(type(number) is not int for number in (side, channels, n_pixels)) or channels not in (1, COLOURS):
        return False
    if any(type(number) is not float or not np.isfinite(number) for number in others):
        return False
    return bool(side >= LEAST_SIDE and n_pixels == channels * side**2)


def _sound_arrays(student: Any) -> bool:
    """Compare the arrays with the shapes that follow from images, filters and classes."""
    arrays, classes = (vars(student).get(name) for name in ("arrays_", "classes_"))
    if not isinstance(classes, np.ndarray) or classes.ndim != 1 or not len(classes):
        return False
    if not isinstance(arrays, list) or len(arrays) != 2 * len(LAYERS) + 2:
        return False
    if not all(isinstance(array, np.ndarray) and array.dtype == np.float32 for array in arrays):
        return False
    widths = tuple(array.size for array in arrays[1:-2:2])
    if not all(1 <= width <= MOST_FILTERS for width in widths):
        return False
    expected = shapes(Lens(**student.lens_).shrunk_side, student.channels_, widths, len(classes))
    return [array.shape for array in arrays] == expected and all(np.isfinite(array).all() for array in arrays)
