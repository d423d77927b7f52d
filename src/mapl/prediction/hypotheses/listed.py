"""Errors of patterns that are few enough to list: one count each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import ctx
from numpy.typing import NDArray

from mapl.noise import Coins
from mapl.prediction.hypotheses.draw import (
    LAW_BITS,
    Ball,
    as_numerator,
    as_selection,
    gap_mass,
    permute_and_flip,
    permute_and_flip_law,
    pick_by_gap,
)
from mapl.prediction.hypotheses.protocol import Hypothesis, Points, Selection
from mapl.prediction.hypotheses.sample import as_points
from mapl.types import Flags, Integers, Silent


@dataclass(frozen=True, slots=True, repr=False)
class ListedErrors(Silent):
    """An error count for every pattern, with what turns an index into its representative.

    ``votes(x)`` tells for every pattern whether its representative labels the one point x (a row) with 1.
    """

    counts: Integers
    representative: Callable[[int], Hypothesis]
    votes: Callable[[Points], Flags]

    @property
    def best(self) -> int:
        return int(self.counts.min())

    @property
    def gaps(self) -> Integers:
        """How many errors each pattern makes more than the best."""
        return np.asarray(self.counts - self.counts.min())

    def draw(self, rate: float, coins: Coins, *, by: Selection = "exponential") -> Hypothesis:
        chosen = pick_by_gap if as_selection(by) == "exponential" else permute_and_flip
        return self.representative(chosen(self.gaps, rate, coins))

    def law(self, rate: float, x: NDArray[Any], *, by: Selection = "exponential") -> float:
        if as_selection(by) == "exponential":
            return float(self.share(rate, x).mid())
        return float(permute_and_flip_law(self.gaps, rate)[self.votes(one_point(x))].sum())

    def numerator(self, rate: float, x: NDArray[Any]) -> int:
        return as_numerator(self.share(rate, x))

    def share(self, rate: float, x: NDArray[Any]) -> Ball:
        """Return the part of the exponential mechanism's mass that labels x with 1."""
        gaps = self.gaps
        ones = gap_mass(gaps[self.votes(one_point(x))], rate, bits=LAW_BITS)
        total = gap_mass(gaps, rate, bits=LAW_BITS)
        with ctx.workprec(LAW_BITS):
            return ones / total


def one_point(x: NDArray[Any]) -> Points:
    """Return the one point x, given as its features, as a checked row."""
    return np.asarray(as_points(np.asarray(x).reshape(1, -1), n_features=1)[0])
