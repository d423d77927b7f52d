"""Halfspaces among Gaussian rows, with errors that one integral gives exactly."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from mapl.errors import InvalidParameter
from mapl.reproduce.worlds.label_noise import LabelNoise
from mapl.types import Floats, Labels, positive_integer

SMALLEST_SINE = 1e-12
"""Below this angle two normals count as parallel, which changes no error by more than about as much."""


@dataclass(frozen=True, slots=True)
class HalfspaceWorld:
    """Rows are standard normal in R^p; the best classifier says 1 where the first column is positive.

    A normal of another direction is the same world turned around. A hypothesis is the halfspace
    ``weights . x + offset > 0``; that class has VC dimension p + 1.

    Examples
    --------
    >>> world = HalfspaceWorld(n_columns=3)
    >>> round(world.excess_risk([1.0, 1.0, 0.0]), 6)  # 45 of 180 degrees
    0.25
    """

    n_columns: int = 2
    noise: LabelNoise = field(default_factory=LabelNoise)

    def __post_init__(self) -> None:
        positive_integer(n_columns=self.n_columns)

    @property
    def vc(self) -> int:
        return self.n_columns + 1

    @property
    def bayes_error(self) -> float:
        return self.noise.bayes_error

    def sample(self, n: int, rng: Generator) -> tuple[Floats, Labels]:
        """Draw n rows and their labels."""
        X = rng.standard_normal((n, self.n_columns))
        return X, (rng.random(n) < self.regression(X)).astype(np.int32)

    def bayes(self, X: Floats) -> Labels:
        return (X[:, 0] > 0).astype(np.int32)

    def depth(self, X: Floats) -> Floats:
        """Return the share of all rows that lie nearer to the boundary."""
        from scipy.special import erf

        return np.asarray(erf(np.abs(X[:, 0]) / math.sqrt(2)), dtype=np.float64)

    def regression(self, X: Floats) -> Floats:
        return 0.5 + np.where(self.bayes(X) == 1, 1, -1) * self.noise.margins(self.depth(X))

    def disagreement(self, weights: ArrayLike, *, offset: float = 0.0) -> float:
        """Return how often a halfspace and the best one differ."""
        return self._integral(weights, offset, LabelNoise())

    def excess_risk(self, weights: ArrayLike, *, offset: float = 0.0) -> float:
        """Return by how much the error of a halfspace exceeds the best one's."""
        return self._integral(weights, offset, self.noise)

    def error(self, weights: ArrayLike, *, offset: float = 0.0) -> float:
        """Return how often a halfspace is wrong."""
        return self.bayes_error + self.excess_risk(weights, offset=offset)

    def _integral(self, weights: ArrayLike, offset: float, noise: LabelNoise) -> float:
        """Integrate 2 |r - 1/2| over where the two differ.

        Given z = x_0 the rest of the hypothesis is one normal variable g: it says 1 where
        ``z cos + g sin + shift > 0``. So the inner integral is a normal distribution function.
        """
        from scipy.integrate import quad
        from scipy.special import erf, ndtr

        given = np.asarray(weights, dtype=np.float64)
        length = float(np.linalg.norm(given))
        if given.shape != (self.n_columns,) or not 0 < length < math.inf:
            raise InvalidParameter(
                f"The weights have shape {given.shape}; give {self.n_columns} finite numbers, not all zero."
            )
        shift, cosine = offset / length, float(given[0]) / length
        sine = max(float(np.linalg.norm(given[1:])) / length, SMALLEST_SINE)

        def lost(z: float) -> float:
            margin = float(noise.margins(np.array(erf(z / math.sqrt(2)))))
            differ = ndtr(-(z * cosine + shift) / sine) + ndtr((shift - z * cosine) / sine)
            return float(2 * margin * differ * math.exp(-z * z / 2) / math.sqrt(2 * math.pi))

        # Where the hypothesis crosses x_0 it does so steeply if it is nearly parallel, so the integral stops there.
        crossing = abs(shift / cosine) if cosine else 0.0
        stops = sorted({0.0, *(c for c in (crossing - 8 * sine, crossing, crossing + 8 * sine) if 0 < c < 9), 9.0})
        parts = (quad(lost, a, b, epsabs=1e-12, limit=200)[0] for a, b in pairwise(stops))
        return math.fsum(parts)
