"""The disagreement coefficient: how fast the region grows on which classifiers near the best one disagree.

theta(r0) = sup over r > r0 of P(DIS(B(h*, r)))/r, and at least 1. B(h*, r) holds the classifiers that differ from
h* with chance r at most, DIS(B) the questions on which some of them differ. Active learning pays by theta.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from mapl.bounds.bound import Bound
from mapl.bounds.letters import check_letters
from mapl.errors import InvalidData, InvalidParameter
from mapl.types import Floats


@dataclass(frozen=True, slots=True)
class DisagreementCurve:
    """For some distances from the best classifier, the share of questions in dispute within them.

    `regions[i]` is the share within `radii[i]`; radii rise, and are those at which a classifier joins.
    """

    radii: Floats
    regions: Floats

    def region(self, radius: float) -> float:
        """Return the share of questions on which some classifier within the radius differs from the best."""
        joined = int(np.searchsorted(self.radii, radius, side="right"))
        return float(self.regions[joined - 1]) if joined else 0.0

    def coefficient(self, radius: float = 0.0) -> float:
        """Return theta at a radius; between two radii the region stays and the ratio falls, so steps are enough."""
        check_letters(radius=radius)
        beyond = self.radii > radius
        ratios = self.regions[beyond] / self.radii[beyond]
        here = self.region(radius) / radius if radius > 0 else 0.0
        return float(max(1.0, here, ratios.max(initial=0.0)))


def disagreement_curve(predictions: ArrayLike, best: ArrayLike) -> DisagreementCurve:
    """Estimate the curve from what sampled classifiers, and the best one, predict on sampled questions.

    Parameters
    ----------
    predictions
        One row for each classifier, one column for each question; any labels. Draw classifiers at many distances
        from the best one, also small ones: what is not drawn is not in dispute.
    best
        The best classifier's labels on the same questions.

    Notes
    -----
    With all classifiers of the class it is exact for the drawn questions. With some of them it is too small, and
    rises to the truth as classifiers near the best one become dense; so it is an estimate, never a bound.
    Questions must be public.

    Examples
    --------
    >>> points = np.arange(100)
    >>> curve = disagreement_curve(points >= np.arange(101)[:, None], points >= 50)
    >>> curve.coefficient()
    2.0
    """
    table, reference = np.asarray(predictions), np.asarray(best)
    if table.ndim != 2 or reference.shape != table.shape[1:] or table.size == 0:
        raise InvalidData(
            "Predictions must have one row per classifier and one column per question, and the best classifier one "
            "label per question."
        )
    differs = table != reference
    distances = differs.mean(axis=1)
    order = np.argsort(distances, kind="stable")
    order = order[distances[order] > 0]
    if not order.size:
        raise InvalidData("All classifiers agree with the best one on every question; draw some that do not.")
    in_dispute = np.logical_or.accumulate(differs[order], axis=0).mean(axis=1)
    # Classifiers at one distance join together: the last of them has seen them all.
    radii, last = np.unique(distances[order][::-1], return_index=True)
    return DisagreementCurve(radii, in_dispute[::-1][last])


def thresholds(quantile: float = 0.5, *, radius: float = 0.0) -> Bound:
    """Return theta of thresholds on the line: 2, as long as there are rows on both sides.

    Within r of the best threshold lie those that pass at most a share r of the rows on either side: the region has
    mass min(r, q) + min(r, 1 - q), whatever the distribution, if it has no atoms.
    """
    check_letters(quantile=quantile, radius=radius)
    theta = max(1.0, min((min(radius, quantile) + min(radius, 1 - quantile)) / radius if radius else 2.0, 2.0))
    return _exact(theta, radius, "Thresholds on a line, rows from a distribution without atoms.")


def intervals(width: float, *, radius: float = 0.0) -> Bound:
    """Return theta of intervals: max(4, 1/width), where the best one holds a share `width` of the rows.

    Moving both ends disputes 4r at most; from r = width on a small interval anywhere is within r, and all is in
    dispute.
    """
    check_letters(width=width, radius=radius)
    theta = max(1.0, 1 / max(width, radius), 4.0 if radius < width else 0.0)
    return _exact(
        theta, radius, "Intervals on a line, rows from a distribution without atoms; not tight near ends."
    )


def halfspaces(dimension: int, *, radius: float = 0.0) -> Bound:
    """Return theta of halfspaces through the origin under a spherical distribution, for example a Gaussian.

    Within r lie the directions at an angle of pi r or less, so that a row is in dispute if its direction has a
    component of sin(pi r) or less along the best one: chance I(sin^2(pi r); 1/2, (p - 1)/2), a Beta law. The ratio
    falls with r; at r = 0 it is 2 sqrt(pi) Gamma(p/2)/Gamma((p - 1)/2), about sqrt(2 pi p) and below pi sqrt(p).

    Examples
    --------
    >>> round(float(halfspaces(2)), 6), float(halfspaces(100)) < math.pi * 10
    (2.0, True)
    """
    check_letters(dimension=dimension, radius=radius)
    from scipy.special import betainc

    if radius == 0:
        theta = 2 * math.sqrt(math.pi) * math.exp(math.lgamma(dimension / 2) - math.lgamma((dimension - 1) / 2))
    elif radius < 0.5:
        theta = float(betainc(0.5, (dimension - 1) / 2, math.sin(math.pi * radius) ** 2)) / radius
    else:
        theta = 1 / radius
    return _exact(
        max(1.0, theta),
        radius,
        f"Halfspaces through the origin in {dimension} dimensions, a spherical distribution.",
    )


def _exact(theta: float, radius: float, setting: str) -> Bound:
    if not math.isfinite(theta):
        raise InvalidParameter(f"radius is {radius:g}; it is too small to divide by, take 0.")
    return Bound(
        value=theta,
        meaning=f"disagreement coefficient theta({radius:g})",
        assumptions=(setting,),
        terms={"radius": radius, "largest_region_over_radius": theta},
        source="Hanneke 2014, Theory of disagreement-based active learning, section 7.1; derived here",
    )
