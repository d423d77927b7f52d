"""How large the weights of a model are likely to be, read off released sums alone."""

from __future__ import annotations

import numpy as np

from mapl.types import Floats

VARIANCES = np.logspace(-2, 2, 33)
MOST_VARIANCE = 3.0
"""The likelihood overrates the variance where there are many classes."""


def likely_variance(
    curvature: Floats, slopes: Floats, noise: float, most: float = MOST_VARIANCE, *, drawn: float = 1.0
) -> float:
    """Return the prior variance of weights under which noisy slopes are likeliest.

    In the eigenbasis of the public curvature h, a slope is normal with variance t h^2 + d h + s: that of the
    weights times the curvature, that of drawing records, and that of the noise.

    Parameters
    ----------
    slopes
        One line per direction, one column per class.
    noise
        s, the variance of the noise of a slope.
    most
        The largest variance that is believed.
    drawn
        d, which is 1 where slopes are of one draw of people.
    """
    variance = VARIANCES[:, None] * curvature**2 + drawn * curvature + noise
    squares = np.einsum("ij,ij->i", slopes, slopes)
    likelihood = -(slopes.shape[1] * np.log(variance) + squares / variance).sum(axis=1)
    return min(float(VARIANCES[np.argmax(likelihood)]), most)
