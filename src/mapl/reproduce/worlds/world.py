"""What every world with a known truth can tell."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from mapl.types import Floats, Labels


class World(Protocol):
    """A distribution of rows and labels 0 or 1 whose best classifier and its error are known exactly."""

    @property
    def vc(self) -> int:
        """The VC dimension of the class of hypotheses that the world is made for."""
        ...

    @property
    def bayes_error(self) -> float:
        """The error that no classifier can beat."""
        ...

    def sample(self, n: int, rng: Generator) -> tuple[Floats, Labels]:
        """Draw n rows and their labels. The generator makes up data; it protects nobody."""
        ...

    def bayes(self, X: Floats) -> Labels:
        """Return the label that is right most often for each row."""
        ...

    def regression(self, X: Floats) -> Floats:
        """Return r(x), the chance that the label of each row is 1."""
        ...


def regret(world: World, X: Floats, predicted: NDArray[np.integer]) -> float:
    """Return by how much the error of any predictions exceeds Bayes' on these rows, with labels averaged out.

    It equals the mean of 2 |r(x) - 1/2| over the rows on which the two differ, and is an unbiased estimate of the
    excess risk that no noise of labels disturbs.
    """
    lost = 2 * np.abs(world.regression(X) - 0.5)
    return float(np.mean(lost * (predicted != world.bayes(X))))
