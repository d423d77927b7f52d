"""What one noisy argmax costs, exactly for discrete Gaussian noise: a Renyi curve and a hockey-stick growth."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from mapl.accounting import ORDERS, Loss
from mapl.accounting.divergence import RenyiSupremum
from mapl.accounting.hockey_stick import (
    ProfileGrid,
    VarianceGrowth,
    certify_growth,
    envelopes,
    gaussian_delta,
)
from mapl.mechanisms.argmax_laws import (
    ROUNDING,
    Box,
    Certain,
    Outside,
    one_bit_pairs,
    three_class_pairs,
    two_class_pairs,
)
from mapl.noise import DEVIATION

MOST_SIGMA_EXACT = 100.0
"""Beyond this noise the exact maximum over three-class laws takes too long; a proved but looser bound is used."""
MOST_SIGMA_PROFILED = 45.0
"""Beyond this noise hockey-stick accounting of three or more classes takes too long; the Renyi figure stands."""
SAMPLING = 1e12 * DEVIATION
"""Delta of one noise draw: a sampler within total variation t costs t (1 + e^epsilon); enough for epsilon <= 27."""


@lru_cache(maxsize=64)
def argmax_loss(sigma: float, n_classes: int) -> Loss:
    """Return the loss of publishing the argmax of counts with discrete Gaussian noise on each.

    Every order is bounded by a/sigma^2, two counts moving by one. Up to twice sigma (and 32) the exact
    maximum over all neighbouring laws is smaller, by up to the factor 2/pi.
    """
    most = min(32.0, 2 * sigma)
    orders = [a for a in ORDERS if a <= most]
    divergences = {a: a / sigma**2 for a in ORDERS}
    if n_classes == 2 or (orders and sigma <= MOST_SIGMA_EXACT):
        box = Box.for_moments(sigma, most)
        found = RenyiSupremum(max(most, 2.0), keep=max(0.2, 1 - 6 / sigma), rounding=ROUNDING)
        found.observe([two_class_pairs(sigma, box)] if n_classes == 2 else three_class_pairs(sigma, box))
        tails = Certain(sigma, box, counts=2) if n_classes == 2 else Outside(sigma, box)
        for a in orders:
            divergences[a] = min(divergences[a], max(found.at(a), tails.at(a)))
    return Loss.of(divergences, n_classes * SAMPLING)


@lru_cache(maxsize=64)
def one_bit_loss(sigma: float) -> Loss:
    """Return the loss of publishing whether one count with discrete Gaussian noise reaches a public bar."""
    most = min(64.0, 2 * sigma)
    divergences = {a: a / (2 * sigma**2) for a in ORDERS}
    box = Box.for_moments(sigma, most)
    found = RenyiSupremum(max(most, 2.0), keep=0.2, rounding=ROUNDING)
    found.observe([one_bit_pairs(sigma, box)])
    tails = Certain(sigma, box, counts=1)
    for a in ORDERS:
        if a <= most:
            divergences[a] = min(divergences[a], max(found.at(a), tails.at(a)))
    return Loss.of(divergences, SAMPLING)


@lru_cache(maxsize=16)
def argmax_growth(
    sigma: float, n_classes: int, most_releases: int, epsilon: float, delta: float
) -> VarianceGrowth | None:
    """Certify hockey-stick growth for up to `most_releases` and any epsilon up to the given one, or return None."""
    if sigma < 3 or (n_classes > 2 and sigma > MOST_SIGMA_PROFILED):
        return None
    eta = 0.01 * delta / (most_releases * math.exp(epsilon))
    if eta < 1e-15:
        return None
    box = Box.for_profiles(sigma, 0.02 * eta)
    grid = ProfileGrid.around(1 / sigma, 2.4 * box.high / sigma**2 + 4 / sigma)
    rows = [grid.profiles(*two_class_pairs(sigma, box))]
    if n_classes > 2:
        rows.append(grid.profiles(*one_bit_pairs(sigma, box)))
        largest = 2 * 0.64 / sigma**2
        rows += [envelopes(p, q, largest, grid) for p, q in three_class_pairs(sigma, box)]
    table = np.concatenate(rows)
    # Beyond the last point profiles are taken as zero; that must be true of all of them.
    if float(table[:, [0, -1]].max()) > 1e-30:
        return None
    step = 2 / sigma**2
    return certify_growth(
        table, grid, 3 * step, _variance_for(epsilon, delta) + 3 * step, eta, outside=box.unseen(sigma)
    )


def _variance_for(epsilon: float, delta: float) -> float:
    """Return the Gaussian variance of the privacy loss that (epsilon, delta) allows."""
    low, high = 0.0, 100.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if gaussian_delta(middle, epsilon) <= delta else (low, middle)
    return high**2
