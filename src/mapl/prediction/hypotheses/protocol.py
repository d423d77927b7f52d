"""What a class of hypotheses must offer: its labelings of a few points, their errors, a fair draw among them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from mapl.noise import Coins
from mapl.types import Labels

Points = NDArray[np.float64]
"""Points as rows, features as columns; finite numbers."""


Selection = Literal["exponential", "permute-and-flip"]
"""How a hypothesis is drawn by its errors; see `draw`."""


class Hypothesis(Protocol):
    """A rule that labels every point 0 or 1. It may hold private values, so its repr is silent about them."""

    def predict(self, X: NDArray[Any]) -> Labels:
        """Return the label, 0 or 1, of every row."""


class Errors(Protocol):
    """How many examples of one sample every pattern's representative gets wrong: private.

    Notes
    -----
    *Guarantee* of one draw at `rate` (for either selection), patterns held fixed: pure differential privacy
    with epsilon = rate under add-remove adjacency of one example, and epsilon = 2 rate under replace-one.
    An added example raises every error count by nothing or one, which is all the proof uses.
    """

    @property
    def best(self) -> int:
        """The fewest errors of any pattern: private, for tests only."""

    def draw(self, rate: float, coins: Coins, *, by: Selection = "exponential") -> Hypothesis:
        """Draw a representative; by the exponential mechanism, exactly as exp(-rate * errors)."""

    def law(self, rate: float, x: NDArray[Any], *, by: Selection = "exponential") -> float:
        """Return the probability that the drawn hypothesis labels the one point x (p features) with 1: private."""

    def numerator(self, rate: float, x: NDArray[Any]) -> int:
        """Return the exponential mechanism's `law` as a numerator over 2**62 that is off by at most one: private.

        An answer by one coin flips it. Near 0 and 2**62 the relative error grows, so clip it first.
        """


class Patterns(Protocol):
    """The distinct labelings of some points T by a class, each with one representative.

    A representative is a function of its labeling and of T alone, never of the sample that scores it.
    """

    def __len__(self) -> int:
        """Return their number; beyond 2**63 Python refuses it, so price by `HypothesisClass.n_patterns`."""

    def __iter__(self) -> Iterator[Hypothesis]:
        """Yield the representatives in a fixed order; for small sets and for tests."""

    def errors(self, X: NDArray[Any], y: NDArray[Any]) -> Errors:
        """Count the errors of every representative on a sample with labels 0 and 1."""


class HypothesisClass(Protocol):
    """Hypotheses that label points 0 or 1, with a finite VC dimension."""

    @property
    def name(self) -> str: ...

    @property
    def vc(self) -> int:
        """The VC dimension, or an upper bound of it."""

    def patterns(self, T: NDArray[Any]) -> Patterns:
        """Return the distinct labelings of the rows of T."""

    def n_patterns(self, n_points: int) -> int:
        """Return an upper bound of `len(patterns(T))` for any n_points rows, to price before enumerating."""
