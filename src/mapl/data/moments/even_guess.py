"""Labels beyond an even guess, which is what records add before there is any model."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapl.types import Floats


def beyond_even(labels: NDArray[Any], n_classes: int) -> Floats:
    """Return labels as zeros and a one, minus an even guess; a number, -1 to 1, is a share of each of its ends."""
    if labels.dtype.kind == "f":
        return np.stack([-labels / 2, labels / 2], axis=1)
    beyond = np.full((len(labels), n_classes), -1 / n_classes)
    beyond[np.arange(len(labels)), labels] += 1.0
    return beyond
