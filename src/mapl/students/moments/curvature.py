"""Mean products of features, which are a model's curvature, released with noise."""

from __future__ import annotations

import math

import numpy as np

from mapl.students.moments.surrogate import eigen
from mapl.types import Floats

LEAST = 1e-3
"""No direction is flatter than this part of the mean."""


def denoise(noisy: Floats, noise: float, independent: Floats, units: float) -> Floats:
    """Return the mean products that noisy sums of them stand for.

    Where columns go together more, or less, than independent ones would, and clearly so: the difference of the two
    is taken apart, and what does not stand out of the noise, whose largest eigenvalue is about 2 sqrt(d) times its
    deviation, is left out (Gavish and Donoho, IEEE Trans. Inf. Theory 2017, for the square loss).

    Parameters
    ----------
    noisy, noise
        The sums of products over all units, and the deviation of the noise of one.
    independent
        The mean products if columns were independent, by declared facts.
    """
    width = len(noisy)
    symmetric = (noisy + noisy.T) / 2
    beyond, turn = np.linalg.eigh(symmetric - units * independent)
    edge = 2 * noise / math.sqrt(2) * math.sqrt(width)
    kept = np.sign(beyond) * np.sqrt(np.maximum(beyond**2 - edge**2, 0.0))
    values, vectors = eigen(independent + (turn * (kept / units)) @ turn.T)
    return np.asarray((vectors * np.maximum(values, LEAST * values.mean())) @ vectors.T)
