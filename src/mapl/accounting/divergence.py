"""Suprema over families of neighbouring laws: the largest Renyi divergence at any order, rounded up."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from mapl.types import Floats

WEAK = 0.5
"""Pairs whose moments stay below those of this share of the largest chi-square distance are passed over."""


def log_moment(q: Floats, log_ratio: Floats, order: float) -> Floats:
    """Return ``ln sum_o p_o^a q_o^(1-a)`` for each row, given q and ln(p/q)."""
    return np.asarray(np.log(np.einsum("ij,ij->i", q, np.exp(order * log_ratio))))


class RenyiSupremum:
    """The largest divergence, in both directions, of all the pairs of laws it was shown.

    The few pairs with a chi-square distance near the largest are kept and evaluated at any order. The
    others are evaluated at anchor orders only: ``ln sum p^a q^(1-a)`` is convex in a, so between anchors
    the chord bounds it. Pairs that are weak for certain are not evaluated at all: with z = p/q - 1,
    ``(1+z)^a - 1 - a z <= a(a-1)/2 z^2 max(1, (1+z)^(a-2))``, so a chi-square distance X and log-ratios
    within +-r bound the moment by ``1 + a(a-1)/2 X e^(|a-2| r)``.
    """

    def __init__(self, most_order: float, *, keep: float, rounding: float) -> None:
        """Prepare for orders up to `most_order`.

        Parameters
        ----------
        keep
            Pairs with at least this share of the largest chi-square distance are kept.
        rounding
            Relative error of the given probabilities; every result is raised by what it can cause.
        """
        steps = max(2, math.ceil(math.log(most_order / 1.2) / math.log(1.3)))
        self._anchors = np.geomspace(1.2, most_order * (1 + 1e-12), steps + 1)
        self._at_anchors = np.zeros(steps + 1)
        self._keep, self._rounding = keep, rounding
        self._kept: list[tuple[Floats, Floats, Floats]] = []
        self._largest = 0.0

    def observe(self, blocks: Iterable[tuple[Floats, Floats]]) -> None:
        """Take in blocks of neighbouring laws, one law per row."""
        for p, q in blocks:
            log_ratio = np.log(p / q)
            self._sort(q, log_ratio, ((p - q) ** 2 / q).sum(axis=1))
            self._sort(p, -log_ratio, ((p - q) ** 2 / p).sum(axis=1))
        kept, self._kept = self._kept, []
        for q, log_ratio, chi in kept:  # the largest distance may have grown since
            self._sort(q, log_ratio, chi)

    def _sort(self, q: Floats, log_ratio: Floats, chi: Floats) -> None:
        self._largest = max(self._largest, float(chi.max(initial=0.0)))
        near = chi >= self._keep * self._largest
        if near.any():
            self._kept.append((q[near], log_ratio[near], chi[near]))
        spread = np.abs(log_ratio).max(axis=1)
        far = ~near & (chi * np.exp(max(self._anchors[-1] - 2, 1.0) * spread) > WEAK * self._largest)
        if far.any():
            far_q, far_ratio = q[far], log_ratio[far]
            for i, anchor in enumerate(self._anchors):
                worst = float(log_moment(far_q, far_ratio, anchor).max())
                self._at_anchors[i] = max(self._at_anchors[i], worst)

    def at(self, order: float) -> float:
        """Return an upper bound on the divergence at this order, exact up to rounding where it is attained."""
        if not self._anchors[0] <= order <= self._anchors[-1]:
            return math.inf
        kept = max(float(log_moment(q, log_ratio, order).max()) for q, log_ratio, _ in self._kept)
        far = float(np.interp(order, self._anchors, self._at_anchors))
        weak = math.log1p(order * (order - 1) / 2 * WEAK * self._largest)
        return max(kept, far, weak) / (order - 1) * (1 + 1e-12) + 2 * (order + 1) / (order - 1) * self._rounding
