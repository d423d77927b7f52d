"""What every world with a known truth can tell."""

from __future__ import annotations

from typing import Protocol

from numpy.random import Generator

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
