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
from mapl.errors import InvalidParameter
from mapl.mechanisms.mechanism import PricedByLoss
from mapl.mechanisms.tables.argmax_laws import (
    ROUNDING,
    Certain,
    LeadBox,
    Outside,
    one_bit_pairs,
    three_class_pairs,
    two_class_pairs,
)
from mapl.noise import DEVIATION
from mapl.types import Budget, State, finite_positive

MOST_SIGMA_EXACT = 100.0
"""Beyond this noise the exact maximum over three-class laws takes too long; a proved but looser bound is used."""
MOST_SIGMA_PROFILED = 45.0
"""Beyond this noise hockey-stick accounting of three or more classes takes too long; the Renyi figure stands."""
MOST_SIGMA_TWO_CLASSES = 1000.0
"""The same for two classes and single bits, whose laws are few: what ROUNDING covers is the limit."""
FIRST_TRIED = MOST_SIGMA_TWO_CLASSES / 128
"""Where calibration begins to double: it meets the widest noise that has the exact price, beyond which only more
noise than that is affordable again."""
LEAST_NOISE, MOST_NOISE = 0.2, 1e5
"""Noise below protects nobody, noise above is too wide to tabulate."""
MOST_EPSILON = 27.0
SAMPLING = 1e12 * DEVIATION
"""Delta of one noise draw: a sampler within total variation t costs t (1 + e^epsilon), up to MOST_EPSILON."""


class PricedWithSampling(PricedByLoss):
    """The accounting of mechanisms whose delta includes SAMPLING: no claim is made beyond MOST_EPSILON."""

    def epsilon(self, loss_of: State | None, delta: float) -> float:
        return epsilon_if_covered(super().epsilon(loss_of, delta))


def epsilon_if_covered(epsilon: float) -> float:
    """Return epsilon where SAMPLING covers it, infinity elsewhere."""
    return epsilon if epsilon <= MOST_EPSILON else math.inf


def usable(budget: Budget, draws: int) -> None:
    """Refuse budgets that integer noise of this precision cannot keep, before anything is calibrated."""
    if budget.delta <= 2 * draws * SAMPLING:
        raise InvalidParameter(
            f"delta is {budget.delta:g}; {draws} noise draws need a delta above {2 * draws * SAMPLING:.1g}, "
            "for example 1e-6."
        )
    if budget.epsilon > MOST_EPSILON:
        raise InvalidParameter(
            f"epsilon is {budget.epsilon:g}; noise is calibrated up to {MOST_EPSILON:g}, and beyond 10 it promises "
            "hardly anything. Choose a smaller one, usually between 0.1 and 10."
        )


def usable_noise(**scales: float) -> None:
    """Refuse noise that is not a number or protects nobody, by name."""
    finite_positive(**scales)
    for name, scale in scales.items():
        if not LEAST_NOISE <= scale <= MOST_NOISE:
            raise InvalidParameter(f"{name} is {scale:g}; it must lie between {LEAST_NOISE} and {MOST_NOISE:g}.")


@lru_cache(maxsize=64)
def argmax_loss(sigma: float, n_classes: int) -> Loss:
    """Return the loss of publishing the argmax of counts with discrete Gaussian noise on each.

    Every order is bounded by a/sigma^2, two counts moving by one. Up to twice sigma (and 32) the exact
    maximum over all neighbouring laws is smaller, by up to the factor 2/pi.
    """
    most = min(32.0, 2 * sigma)
    orders = [a for a in ORDERS if a <= most]
    divergences = {a: a / sigma**2 for a in ORDERS}
    widest = MOST_SIGMA_TWO_CLASSES if n_classes == 2 else MOST_SIGMA_EXACT
    if orders and LEAST_NOISE <= sigma <= widest:
        box = LeadBox.for_moments(sigma, most)
        keep = 0.2 if n_classes == 2 else max(0.2, 1 - 6 / sigma)
        found = RenyiSupremum(max(most, 2.0), keep=keep, rounding=ROUNDING)
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
    if LEAST_NOISE <= sigma <= MOST_SIGMA_TWO_CLASSES:
        box = LeadBox.for_moments(sigma, most)
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
    if sigma < 3 or sigma > (MOST_SIGMA_TWO_CLASSES if n_classes == 2 else MOST_SIGMA_PROFILED):
        return None
    eta = 0.01 * delta / (most_releases * math.exp(epsilon))
    if eta < 1e-15:
        return None
    box = LeadBox.for_profiles(sigma, 0.02 * eta)
    grid = ProfileGrid.around(1 / sigma, 2.4 * box.high / sigma**2 + 4 / sigma)
    simple = [two_class_pairs(sigma, box), one_bit_pairs(sigma, box)]
    rows = [grid.profiles(*pairs) for pairs in simple]
    # Laws outside the box are compared with simple ones up to u = 1, and both must have vanished there.
    far = max(float(ProfileGrid(np.array([-1.0, 1.0])).profiles(*pairs).max()) for pairs in simple)
    unseen = box.unseen(sigma) + math.e * far
    if n_classes > 2:
        largest = 2 * 0.64 / sigma**2
        rows += [envelopes(p, q, largest, grid) for p, q in three_class_pairs(sigma, box)]
    table = np.concatenate(rows)
    # Beyond the last point profiles are taken as zero; that must be true of all of them.
    if float(table[:, [0, -1]].max()) > 1e-30:
        return None
    step = 2 / sigma**2
    return certify_growth(table, grid, 3 * step, _variance_for(epsilon, delta) + 3 * step, eta, outside=unseen)


def _variance_for(epsilon: float, delta: float) -> float:
    """Return the Gaussian variance of the privacy loss that (epsilon, delta) allows."""
    low, high = 0.0, 100.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if gaussian_delta(middle, epsilon) <= delta else (low, middle)
    return high**2
