"""Hockey-stick accounting by a Gaussian supersolution, certified step by step.

Write G_V(l) = E (e^(l+Z) - 1)_+ with Z ~ N(-V/2, V). If one step's laws (p, q) satisfy, for every l,

    sum_o q_o G_V(l + ln(p_o/q_o))  <=  G_(V+v)(l) + eta,                                          (S)

then n adaptive steps that start at V_0 and grow by v(V_j) each satisfy, for every epsilon,

    delta(epsilon)  <=  delta_Gauss(sqrt(V_n), epsilon) + n e^epsilon eta.

The left side of (S) minus G_V(l) is the Gaussian average of the step's privacy profile

    k(u) = sum_o (e^u p_o - q_o)_+  for u < 0,   sum_o (q_o - e^u p_o)_+  for u >= 0,

and the right side minus G_V(l) is half the integral of Gaussian densities n_W(-l) over W in [V, V+v]. Divided
by n_V(-l), the left becomes A(d) = int k(u) exp(u d - u^2/2V) du with d = l/V - 1/2: positive, log-convex in d and
smooth, so a grid of d with chords of ln A certifies all l. Proof: docs/proofs/hockey-stick.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import log_ndtr, ndtr

from mapl.types import Floats, Singles

WIDEN = 1e-6
"""Relative widening of probabilities that covers single precision."""
SAFETY = 1e-5
"""Relative allowance for single-precision products and quadrature in A."""
POINTS = 48
"""Grid cells in l on each side of a node."""
FINER = 32
PIECES = 24


def gaussian_delta(deviation: float, epsilon: float) -> float:
    """Return delta at epsilon of a Gaussian mechanism whose privacy loss has this standard deviation."""
    if deviation <= 0:
        return 0.0
    a = deviation / 2 - epsilon / deviation
    value = ndtr(a) - math.exp(epsilon + float(log_ndtr(a - deviation)))
    return max(0.0, float(value)) + 1e-15


@dataclass(frozen=True, slots=True)
class ProfileGrid:
    """Points u at which profiles are tabulated; between them a chord in e^u lies above the profile."""

    points: Floats

    @classmethod
    def around(cls, unit: float, widest: float) -> ProfileGrid:
        """Lay points evenly up to four units on each side, where profiles bend, and sparsely up to `widest`."""
        near = np.linspace(0, 4 * unit, 33)[1:]
        far = np.geomspace(4 * unit, max(widest, 5 * unit), 21)[1:]
        side = np.concatenate([near, far])
        return cls(np.concatenate([-side[::-1], [0.0], side]))

    def profiles(self, p: Floats, q: Floats) -> Singles:
        """Return k(u) of each row's law at all points, in single precision, rounded up.

        Widening p and q by more than the rounding of single precision, to the side that raises k, makes
        the result an upper bound.
        """
        below = self.points < 0
        sign = np.where(below, 1.0, -1.0)
        p_factor = (np.where(below, 1 + WIDEN, 1 - WIDEN) * np.exp(self.points) * sign).astype(np.float32)
        q_factor = (np.where(below, 1 - WIDEN, 1 + WIDEN) * sign).astype(np.float32)
        p32, q32 = p.astype(np.float32), q.astype(np.float32)
        total = np.empty((len(p), len(self.points)), dtype=np.float32)
        for start in range(0, len(p), 512):  # small blocks stay in the processor's cache
            rows = slice(start, start + 512)
            block = total[rows]
            block[:] = 0
            for o in range(p.shape[1]):
                block += np.maximum(p32[rows, o, None] * p_factor - q32[rows, o, None] * q_factor, 0)
        total *= np.float32(1 + WIDEN)
        return total

    def weights(self, variance: float, tilts: Floats) -> Floats:
        """Return matrix B with A(d) <= profile @ B[:, d], integrating chords in e^u against exp(u d - u^2/2V)."""
        nodes, node_weights = np.polynomial.legendre.leggauss(12)
        out = np.zeros((len(self.points), len(tilts)))
        left, right = self.points[:-1], self.points[1:]
        u = (left + right)[:, None] / 2 + (right - left)[:, None] / 2 * nodes
        w = (right - left)[:, None] / 2 * node_weights
        share = (np.exp(u) - np.exp(left)[:, None]) / (np.exp(right) - np.exp(left))[:, None]
        # Factor out the largest exponent d^2 V / 2 of each column; `certified_growth` puts it back.
        density = np.exp(u[:, :, None] * tilts - (u**2)[:, :, None] / (2 * variance) - tilts**2 * variance / 2)
        out[:-1] += np.einsum("ck,ckd->cd", w * (1 - share), density)
        out[1:] += np.einsum("ck,ckd->cd", w * share, density)
        return out


def edge(eta: float) -> float:
    """Return how many deviations of l must be certified before eta alone covers the wings."""
    return math.sqrt(2 * math.log(1 / eta)) + 0.5


def losses(variance: float, eta: float) -> Floats:
    """Return the grid of l for a node: symmetric, out to the edge."""
    return np.linspace(-1, 1, 2 * POINTS + 1) * edge(eta) * math.sqrt(variance)


def certified_growth(variance: float, log_a: Floats, eta: float) -> float:
    """Return the smallest v (up to bisection) for which (S) certainly holds at this variance.

    Parameters
    ----------
    log_a
        ln of sup A(d) - d^2 V / 2 on the grid `losses`, over all laws in both directions.
    """
    ell = losses(variance, eta)
    # ln of the Gaussian average of the profile: A(d) times the density n_V(-l), whose exponent is -d^2 V / 2.
    log_left = log_a - 0.5 * math.log(2 * math.pi * variance)
    call_or_put = _time_value(ell[[0, -1]], variance)
    if (np.exp(log_left[[0, -1]]) + call_or_put).max() > eta:
        return math.inf
    # ln A = log_a + d^2 V / 2 is convex in d, hence in l: chords lie above, and a cell's largest is at an end.
    fine = np.linspace(ell[0], ell[-1], FINER * (len(ell) - 1) + 1)
    chord = np.interp(fine, ell, log_a + (ell / variance - 0.5) ** 2 * variance / 2)
    ceiling = np.exp(np.maximum(chord[:-1], chord[1:]))
    # eta / n_V(-l) is convex in l, least at l = V/2; the Gaussian integral is even in l and grows with |l|.
    nearest = np.clip(variance / 2, fine[:-1], fine[1:])
    spare = eta * math.sqrt(2 * math.pi * variance) * np.exp((nearest - variance / 2) ** 2 / (2 * variance))
    size = np.abs(np.clip(0.0, fine[:-1], fine[1:]))
    needed = ceiling - spare
    open_cells = needed > 0
    needed, size = needed[open_cells], size[open_cells]
    if not open_cells.any():  # eta alone covers these laws
        return 0.0

    def holds(v: float) -> bool:
        return bool((needed <= _gaussian_room(size, variance, v)).all())

    high = variance / 8
    while not holds(high):
        high *= 2
        if high > 100:
            return math.inf
    low = high / 2
    while holds(low):
        low, high = low / 2, low
    while high - low > 1e-5 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _gaussian_room(size: Floats, variance: float, v: float) -> Floats:
    """Return a lower bound of half the integral of n_W(-l)/n_V(-l) over W in [V, V+v], for |l| = size.

    In W the integrand rises, then falls, so the smaller end bounds it on each piece.
    """
    w = np.linspace(variance, variance + v, PIECES + 1)[:, None]
    density = np.sqrt(variance / w) * np.exp(size**2 / 2 * (1 / variance - 1 / w) - (w - variance) / 8)
    return np.asarray(np.minimum(density[:-1], density[1:]).sum(axis=0) * (v / (2 * PIECES)) * (1 - 1e-12))


def _time_value(ell: Floats, variance: float) -> Floats:
    """Return G_V(l) - (e^l - 1)_+ without cancellation: a call below zero, a put above."""
    s = math.sqrt(variance)
    d1, d2 = ell / s + s / 2, ell / s - s / 2
    call = np.exp(ell + log_ndtr(d1)) - ndtr(d2)
    put = ndtr(-d2) - np.exp(ell + log_ndtr(-d1))
    return np.asarray(np.maximum(np.where(ell < 0, call, put), 0.0) + 1e-300)


@dataclass(frozen=True, slots=True)
class VarianceGrowth:
    """Certified growth v at increasing variances; between two of them the left one's growth holds."""

    variances: tuple[float, ...]
    growths: tuple[float, ...]
    eta: float

    def after(self, steps: int) -> float:
        """Return V_n after n steps, or infinity beyond the certified range."""
        variance, done = self.variances[0], 0
        for left, right, v in zip(self.variances, (*self.variances[1:], math.inf), self.growths, strict=True):
            if done == steps:
                break
            if variance >= right or not math.isfinite(v):
                if not math.isfinite(v):
                    return math.inf
                continue
            assert variance >= left
            # Steps that start below `right` use this node's growth.
            use = (
                steps - done
                if math.isinf(right)
                else min(steps - done, math.ceil((right - variance) / v) if v > 0 else steps)
            )
            variance += use * v * (1 + 1e-14)
            done += use
        return variance

    def epsilon(self, steps: int, delta: float) -> float:
        """Return the epsilon that n steps guarantee at delta."""
        deviation = math.sqrt(self.after(steps))
        if not math.isfinite(deviation):
            return math.inf
        low, high = 0.0, deviation * (deviation / 2 + 40)
        while high - low > 1e-9 * high:
            middle = (low + high) / 2
            low, high = (low, middle) if gaussian_delta(deviation, middle) <= 0.99 * delta else (middle, high)
        covered = steps * math.exp(high) * self.eta <= 0.01 * delta
        return high if covered and gaussian_delta(deviation, high) <= 0.99 * delta else math.inf


def supremum(rows: Singles, grid: ProfileGrid, variance: float, eta: float) -> Floats:
    """Return ln sup A(d) - d^2 V / 2 on the grid `losses`, over all rows, in both directions of each pair.

    Exchanging p and q turns k(u) into e^u k(-u), hence A at l into A at -l; the factored exponent changes by l.
    """
    ell = losses(variance, eta)
    weights = grid.weights(variance, ell / variance - 0.5).astype(np.float32)
    best = np.zeros(len(ell), dtype=np.float32)
    for start in range(0, len(rows), 1 << 14):
        np.maximum(best, (rows[start : start + (1 << 14)] @ weights).max(axis=0), out=best)
    log_a = np.log(np.maximum(best, 1e-37).astype(np.float64) * (1 + SAFETY))
    return np.asarray(np.maximum(log_a, log_a[::-1] + ell))


def certify_growth(
    rows: Singles, grid: ProfileGrid, first: float, last: float, eta: float, *, outside: float
) -> VarianceGrowth:
    """Certify v(V) at variances from `first` to beyond `last`; laws not in `rows` may exceed them by `outside`."""
    room = eta - outside
    if room <= 0:
        return VarianceGrowth((first,), (math.inf,), eta)
    variances = [first]
    while variances[-1] < last:  # growth settles as variance accumulates, so nodes may spread out
        variances.append(variances[-1] * (1.3 if variances[-1] < 30 * first else 1.8))
    growths = [certified_growth(v, supremum(rows, grid, v, room), room) for v in variances]
    return VarianceGrowth(tuple(variances), tuple(growths), eta)


TIERS = ((0.93, 1), (0.8, 2), (0.5, 6), (0.0, 48))
"""Laws with at least this share of the largest chi-square distance are enveloped in cells of this many."""


def envelopes(p: Floats, q: Floats, largest: float, grid: ProfileGrid) -> Singles:
    """Return profiles of a block of laws, weak ones enveloped together: a maximum of profiles dominates each."""
    chi = ((p - q) ** 2 / q).sum(axis=1) / largest
    rows, upper = [], math.inf
    for lower, cell in TIERS:
        tier = np.flatnonzero((chi >= lower) & (chi < upper))
        upper = lower
        if tier.size:
            # Cells never bridge a gap: laws on two sides of a stronger one would make a wide envelope.
            starts = np.union1d(np.arange(0, len(tier), cell), np.flatnonzero(np.diff(tier) > 1) + 1)
            rows.append(np.maximum.reduceat(grid.profiles(p[tier], q[tier]), starts, axis=0))
    return np.concatenate(rows)
