"""How sure labels are, by how deep a row lies on its side of the boundary."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

import numpy as np

from mapl.errors import InvalidParameter
from mapl.types import Floats

FLATNESS = 3.0
"""How flat margins are at tau = 0; with less, a learner needs millions of rows to notice that they are flat."""


@dataclass(frozen=True, slots=True)
class LabelNoise:
    """The Tsybakov noise condition as an equation: P(|r(x) - 1/2| <= t) = (t / most)^(tau / (1 - tau)).

    The depth u of a row is the share of rows that lie nearer to the boundary; it is uniform on [0, 1]. The margin
    |r - 1/2| of a label at depth u is ``most * u^((1 - tau) / tau)``.

    - tau = 1: the same margin everywhere. Massart's bounded noise; with most = 1/2 the world is realizable.
    - 0 < tau < 1: the margin vanishes at the boundary, the faster the smaller tau is.
    - tau = 0: the margin ``most * e^(3 - 3/u)`` vanishes faster than any power, P(|r - 1/2| <= t) is
      3 / (3 + ln(most / t)), whose exponent falls to 0 with t, and no positive tau fits. The best classifier is
      still unique, so that excess risks mean something: they fall like n^(-1/2) up to logarithms, the agnostic
      rate. (Labels that are pure coins on a set of positive measure have tau = 0 too, but nobody errs there.)

    Parameters
    ----------
    tau
        The parameter of Liu et al. (AISTATS 2021, Definition 3), in [0, 1].
    most
        The largest margin, in (0, 1/2].

    Examples
    --------
    >>> LabelNoise(tau=0.5).exponent, LabelNoise.massart(0.25).bayes_error
    (1.0, 0.25)
    """

    tau: float = 1.0
    most: float = 0.5

    def __post_init__(self) -> None:
        if not 0 <= self.tau <= 1:
            raise InvalidParameter(f"tau is {self.tau}; it must lie in [0, 1], 1 for bounded noise.")
        if not 0 < self.most <= 0.5:
            raise InvalidParameter(f"most is {self.most}; a margin |r(x) - 1/2| lies in (0, 1/2].")

    @classmethod
    def massart(cls, flip: float) -> Self:
        """Flip every label with the same probability, below 1/2."""
        if not 0 <= flip < 0.5:
            raise InvalidParameter(f"flip is {flip}; labels can be flipped with a probability in [0, 1/2).")
        return cls(1.0, 0.5 - flip)

    @property
    def exponent(self) -> float:
        """The power of t in P(|r - 1/2| <= t), infinite for bounded noise."""
        return math.inf if self.tau == 1 else self.tau / (1 - self.tau)

    @property
    def bayes_error(self) -> float:
        """The error of the best classifier: 1/2 less the mean margin."""
        return 0.5 - self.mean_margin_to(1.0)

    @property
    def eta(self) -> float:
        """The smallest eta >= 1 with Dis(h, Bayes) <= eta (excess risk)^tau for every h (Liu's Lemma 4).

        Among all h that differ from Bayes on a share D of the rows, the one that does so at the lowest depths has
        the smallest excess risk, 2 most tau D^(1 / tau).
        """
        return 1.0 if self.tau == 0 else max(1.0, (2 * self.most * self.tau) ** -self.tau)

    def margins(self, depth: Floats) -> Floats:
        """Return |r - 1/2| at each depth."""
        if self.tau == 0:
            with np.errstate(divide="ignore"):
                return self.most * np.exp(FLATNESS * (1 - 1 / np.asarray(depth, dtype=np.float64)))
        return self.most * np.asarray(depth, dtype=np.float64) ** ((1 - self.tau) / self.tau)

    def mean_margin_to(self, depth: float) -> float:
        """Return the integral of the margin from depth 0 to this one."""
        if depth == 0:
            return 0.0
        if self.tau == 0:
            from scipy.special import expn

            # Put v = depth / u: the integral of e^(-3 v / depth) / v^2 from 1 on is the exponential integral E_2.
            return float(self.most * math.exp(FLATNESS) * depth * expn(2, FLATNESS / depth))
        return float(self.most * self.tau * depth ** (1 / self.tau))
