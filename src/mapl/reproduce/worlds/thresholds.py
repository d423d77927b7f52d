"""Thresholds on a line: the simplest class, in which every error is known exactly."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from mapl.errors import InvalidParameter
from mapl.reproduce.worlds.label_noise import LabelNoise
from mapl.types import Floats, Labels


@dataclass(frozen=True, slots=True)
class ThresholdWorld:
    """Rows are uniform on [0, 1]; the best classifier says 1 from ``cut`` on. A hypothesis is another cut.

    Examples
    --------
    >>> world = ThresholdWorld(cut=0.5, noise=LabelNoise.massart(0.2))
    >>> round(world.bayes_error, 3), round(world.excess_risk(0.6), 3), round(world.error(0.6), 3)
    (0.2, 0.06, 0.26)
    """

    cut: float = 0.5
    noise: LabelNoise = field(default_factory=LabelNoise)

    vc: ClassVar[int] = 1

    def __post_init__(self) -> None:
        if not 0 < self.cut < 1:
            raise InvalidParameter(f"cut is {self.cut}; it must lie inside of (0, 1), so that both classes occur.")

    @property
    def bayes_error(self) -> float:
        return self.noise.bayes_error

    def sample(self, n: int, rng: Generator) -> tuple[Floats, Labels]:
        """Draw n rows of one column, and their labels."""
        X = rng.random((n, 1))
        return X, (rng.random(n) < self.regression(X)).astype(np.int32)

    def bayes(self, X: Floats) -> Labels:
        return (X[:, 0] >= self.cut).astype(np.int32)

    def depth(self, X: Floats) -> Floats:
        """Return the share of the rows on the same side that lie nearer to the cut."""
        x = X[:, 0]
        return np.where(x >= self.cut, (x - self.cut) / (1 - self.cut), (self.cut - x) / self.cut)

    def regression(self, X: Floats) -> Floats:
        return 0.5 + np.where(self.bayes(X) == 1, 1, -1) * self.noise.margins(self.depth(X))

    def disagreement(self, cut: float) -> float:
        """Return how often another cut and the best one differ, exactly."""
        return abs(min(max(cut, 0.0), 1.0) - self.cut)

    def excess_risk(self, cut: float) -> float:
        """Return by how much the error of another cut exceeds the best one's, exactly."""
        side = 1 - self.cut if cut > self.cut else self.cut
        return 2 * side * self.noise.mean_margin_to(self.disagreement(cut) / side)

    def error(self, cut: float) -> float:
        """Return how often another cut is wrong, exactly."""
        return self.bayes_error + self.excess_risk(cut)

    def erm(self, X: Floats, y: Labels) -> float:
        """Return a cut that makes the fewest errors on these rows: in the middle of the lowest best gap."""
        order = np.argsort(X[:, 0], kind="stable")
        x, ones = X[order, 0], y[order].astype(np.int64)
        # A cut after the first j rows is wrong on the ones before it and on the zeros behind it.
        errors = np.concatenate([[0], np.cumsum(2 * ones - 1)])
        ends = np.concatenate([[0.0], x, [1.0]])
        best = int(np.argmin(errors))
        return float((ends[best] + ends[best + 1]) / 2)
