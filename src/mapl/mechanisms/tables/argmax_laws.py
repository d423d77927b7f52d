"""The laws that one changed vote can move a noisy argmax between, exactly, for discrete Gaussian noise.

A vote moves from class a to class b. Condition on everything else: R, the largest noisy count among the
other classes, and its label. Three outcomes are left (a wins, b wins, R's label wins), and their law
depends only on x = n_a - R, y = n_b - R and on who wins ties. Neighbours are (x, y) and (x-1, y+1).
With two classes there is no R and the law depends on n_a - n_b alone.

Outside a `LeadBox` of offsets the laws are close to those of two classes, or of one class against R; `Outside` and
`Certain` bound what is left. Proof: docs/proofs/noisy-max.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mapl.types import Floats

ROUNDING = 2e-11
"""Relative error that sums of up to 90,000 positive doubles can have; bounds are widened by it."""
TIE_ORDERS = ((1, 1), (1, 0), (0, 0))
"""Whether a, and b, beat R's label on ties, with a before b; b before a is the same by symmetry."""


@dataclass(frozen=True, slots=True)
class GaussianLaw:
    """Point and lower-tail probabilities of discrete Gaussian noise on ``-width .. width``, as floats.

    `lower` is padded with zeros and ones by `padding` on each side, so that shifted reads are plain slices.
    """

    sigma: float
    point: Floats
    lower: Floats
    width: int
    padding: int

    @classmethod
    def beyond(cls, sigma: float, side: int) -> GaussianLaw:
        """Tabulate four deviations past `side`, so that even tails at `side` keep twelve digits."""
        width = side + math.ceil(4 * sigma) + 2
        padding = 3 * width
        k = np.arange(-width, width + 1)
        mass = np.exp(-(k**2) / (2 * sigma**2))
        point = mass / mass.sum()
        lower = np.concatenate([np.zeros(padding), np.cumsum(point), np.ones(padding)])
        return cls(sigma, point, lower, width, padding)

    @property
    def centre(self) -> int:
        return self.padding + self.width

    def at_most(self, k: NDArray[np.int64]) -> Floats:
        """Return P(noise <= k)."""
        return np.asarray(self.lower.take(k + self.centre, mode="clip"))

    def above(self, k: int) -> float:
        """Return an upper bound of P(noise >= k)."""
        return float(self.lower[max(self.centre - k, 0)]) * (1 + ROUNDING)

    def difference(self) -> Floats:
        """Return the lower tails of the difference of two noises, on ``-2 width .. 2 width``.

        The chance of a difference k is proportional to e^(-k^2/4s^2) times the sum over j of e^(-(j - k/2)^2/s^2),
        and that sum only depends on whether k is even.
        """
        k = np.arange(-2 * self.width, 2 * self.width + 1)
        j = np.arange(-self.width, self.width + 1)
        even, odd = (float(np.exp(-((j - half) ** 2) / self.sigma**2).sum()) for half in (0.0, 0.5))
        mass = np.exp(-(k**2) / (4 * self.sigma**2)) * np.where(k % 2 == 0, even, odd)
        return np.cumsum(mass / mass.sum())


@dataclass(frozen=True, slots=True)
class LeadBox:
    """The square of offsets ``-low .. high`` in which laws are enumerated; tail bounds take over outside."""

    low: int
    high: int

    @classmethod
    def for_moments(cls, sigma: float, most_order: float) -> LeadBox:
        """Return the box whose outside a moment of order `most_order` or less can be bounded tightly."""
        return cls(math.ceil(4.5 * sigma + most_order), math.ceil(5 * sigma + most_order))

    @classmethod
    def for_profiles(cls, sigma: float, unseen: float) -> LeadBox:
        """Return the smallest box outside which profiles exceed those of simpler laws by at most `unseen`."""
        side = math.ceil(sigma)
        while cls(side, side).unseen(sigma) > unseen:
            side += max(1, math.ceil(sigma / 16))
        return cls(side, side)

    def unseen(self, sigma: float) -> float:
        """Bound how much a profile outside the box exceeds a one-bit or two-class profile (four tails)."""
        side = min(self.low, self.high)
        return 4 * GaussianLaw.beyond(sigma, side).above(side - 1)

    @property
    def span(self) -> int:
        return self.low + self.high


def two_class_pairs(sigma: float, box: LeadBox) -> tuple[Floats, Floats]:
    """Return neighbouring laws (a wins, b wins) of two noisy counts, one row per difference and tie order."""
    noise = GaussianLaw.beyond(sigma, box.span)
    lower, centre = noise.difference(), 2 * noise.width  # and P(X >= k) = P(X <= -k)
    d = np.arange(-box.span, box.span + 1)

    def laws(offset: NDArray[np.int64], bar: int) -> Floats:
        """Return (a wins, b wins) where a wins iff the offset plus noise is at least `bar`."""
        return np.stack([lower[centre + offset - bar], lower[centre + bar - 1 - offset]], axis=1)

    p = np.concatenate([laws(d, bar) for bar in (0, 1)])
    q = np.concatenate([laws(d - 2, bar) for bar in (0, 1)])
    return p, q


def one_bit_pairs(sigma: float, box: LeadBox) -> tuple[Floats, Floats]:
    """Return neighbouring laws (passes, fails) of one noisy count against a fixed bar."""
    noise = GaussianLaw.beyond(sigma, box.span)
    k = np.arange(-box.span, box.span)
    p = np.stack([noise.at_most(-k - 1), noise.at_most(k)], axis=1)
    return p[:-1], p[1:]


def three_class_pairs(sigma: float, box: LeadBox) -> Iterator[tuple[Floats, Floats]]:
    """Yield neighbouring laws (a, b, R's label wins) for all offsets in the box, in blocks of rows.

    P_a(x, y) is a sum over a's noise w from a bar upwards of P(w) P(b's noise <= w + x - y - [ties]): for a
    fixed difference x - y it is one running sum, read at all x.
    """
    noise = GaussianLaw.beyond(sigma, box.span)
    own = slice(noise.padding, noise.padding + 2 * noise.width + 1)  # reads P(noise <= w) for each w
    for a_ties, b_ties in TIE_ORDERS:

        def laws(d: int, x: NDArray[np.int64], a_ties: int = a_ties, b_ties: int = b_ties) -> Floats:
            y = x - d
            a_upward = np.cumsum((noise.point * noise.lower[own.start + d : own.stop + d])[::-1])[::-1]
            b_upward = np.cumsum((noise.point * noise.lower[own.start - d - 1 : own.stop - d - 1])[::-1])[::-1]
            a_wins = a_upward[1 - a_ties - x + noise.width]
            b_wins = b_upward[1 - b_ties - y + noise.width]
            other = noise.at_most(-a_ties - x) * noise.at_most(-b_ties - y)
            return np.stack([a_wins, b_wins, other], axis=1)

        rows_p: list[Floats] = []
        rows_q: list[Floats] = []
        for d in range(-box.span, box.span + 1):
            # Both ends of the move, (x, x-d) and (x-1, x-d+1), are read off; one may leave the box by a step.
            x = np.arange(max(-box.low, d - box.low), min(box.high, d + box.high) + 1)
            rows_p.append(laws(d, x))
            rows_q.append(laws(d - 2, x - 1))
            if len(rows_p) == 64 or d == box.span:
                yield np.concatenate(rows_p), np.concatenate(rows_q)
                rows_p, rows_q = [], []


class Certain:
    """Bounds on the divergence of two-outcome pairs beyond the box's span, where one outcome is all but certain."""

    def __init__(self, sigma: float, box: LeadBox, *, counts: int) -> None:
        """Take the number of noisy counts that decide: one against a bar, or two against each other."""
        self._noise = GaussianLaw.beyond(sigma, box.span)
        self._lower = self._noise.difference() if counts == 2 else self._noise.lower[self._noise.padding :]
        self._zero = counts * self._noise.width
        self._counts, self._span, self._sigma = counts, box.span, sigma

    def at(self, order: float) -> float:
        shift = self._counts * (math.ceil(order) + 1)
        faint = float(self._lower[max(self._zero - self._span + shift, 0)]) * (1 + ROUNDING)
        growth = math.exp(self._counts * order * (order - 1) / (2 * self._sigma**2))
        return math.log((1 - faint) ** (1 - order) + growth * faint) / (order - 1)


class Outside:
    """Bounds on the Renyi divergence of every three-class pair outside the box.

    Far below, one class cannot win and the other faces R alone; far above, R cannot win and two classes
    are left. What the tails add is bounded by tilting the noise (Hoelder). Proof: docs/proofs/noisy-max.md.
    """

    def __init__(self, sigma: float, box: LeadBox) -> None:
        self._sigma, self._box = sigma, box
        self._noise = GaussianLaw.beyond(sigma, box.span)
        self._differences = self._noise.difference()
        self._one_bit, self._two_class = one_bit_pairs(sigma, box), two_class_pairs(sigma, box)
        self._d = np.tile(np.arange(-box.span, box.span + 1), 2)

    def at(self, order: float) -> float:
        growth, shift = math.exp(order * (order - 1) / self._sigma**2), math.ceil(order)

        faint = self._noise.above(self._box.low - shift)
        p, q = self._one_bit
        single = max(float(_moments(*pair, order).sum(axis=1).max()) for pair in ((p, q), (q, p)))
        below = single * (1 - faint) ** (1 - order) + growth * faint

        faint = self._noise.above(self._box.high - shift)
        ahead = self._d >= -2  # the class further above R is called a; the mirror image is the other direction
        chance = np.clip(2 * self._noise.width - self._d[ahead] + 2 * shift + 2, 0, len(self._differences) - 1)
        behind_wins = growth * self._differences[chance]
        above = 0.0
        p, q = self._two_class
        for first, second in ((p[ahead], q[ahead]), (q[ahead], p[ahead])):
            rest = second - faint
            solid = np.where(rest > 0, _moments(first, np.maximum(rest, 1e-300), order), np.inf)
            above = max(above, float((solid[:, 0] + np.minimum(solid[:, 1], behind_wins)).max()) + growth * faint)
        return math.log(max(below, above)) / (order - 1) * (1 + ROUNDING) + 2 * (order + 1) / (order - 1) * ROUNDING


def _moments(p: Floats, q: Floats, order: float) -> Floats:
    return np.asarray(np.exp(np.minimum(order * np.log(p) + (1 - order) * np.log(q), 600)))
