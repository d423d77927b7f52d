"""A stable confidence: the chance of an answer, averaged over subsets that share no record.

Stability is promised of the chance itself here, whatever the coins were: a record is in one of k subsets, where it
may do anything, and in the others it moves the odds by `inner`. Theorem 5 of docs/proofs/prediction-composition.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapl.errors import CannotCalibrate
from mapl.noise import Coins
from mapl.prediction.candidates.candidates import Candidates
from mapl.prediction.hypotheses import Errors
from mapl.prediction.hypotheses.protocol import Points
from mapl.prediction.predictors.flip import stability
from mapl.prediction.predictors.stable import StablePredictor, question
from mapl.prediction.predictors.teachers_vote import shards_of
from mapl.types import Flags, Silent

CAUTION = 1e-9
"""Chances are computed to far more digits than this; what is promised is rounded up by it."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Confidence(Silent):
    """The mean chance of answer 1 over k disjoint subsets, each with its own candidates, scored on all records."""

    points: Points
    scored: tuple[Errors, ...]
    rate: float
    stability: float

    @classmethod
    def of(cls, predictor: StablePredictor, gamma: float, coins: Coins) -> Confidence:
        """Take as large subsets and as high a rate as the predictor's that keep the mean within gamma."""
        n, inner_per_rate = len(predictor.points), predictor.inner / predictor.rate
        k = max(math.floor(1 / float(predictor.subset.share)), math.floor(1 / gamma) + 1)
        if k > n and predictor.adjacency == "replace-one":  # else n is private, and empty subsets do no harm
            raise CannotCalibrate(
                f"A stability of {gamma:g} needs {k} disjoint subsets of the records; give more records."
            )
        left = (gamma * (1 - 2 * CAUTION) - 1 / k) / (1 - 1 / k)
        half = 4 if predictor.odds else 2
        rate = min(predictor.rate, half * math.atanh(left) / inner_per_rate)
        moved = stability(rate * inner_per_rate, 1 / k, odds=predictor.odds)
        places = shards_of(n, k, adjacency=predictor.adjacency, coins=coins)
        # Where records are replaced the places are public, so they are shuffled lest their order mean something.
        order = np.argsort(coins.words(n), kind="stable") if predictor.adjacency == "replace-one" else np.arange(n)
        scored = tuple(
            scores(predictor.candidates, predictor.points, predictor.ones, order[places == j], coins)
            for j in range(k)
        )
        return cls(predictor.points, scored, rate, min(1.0, moved + CAUTION))

    def at(self, x: NDArray[Any]) -> float:
        """Return the confidence in class 1 at one point."""
        row = question(x, self.points)[0]
        return math.fsum(errors.law(self.rate, row) for errors in self.scored) / len(self.scored)


def scores(candidates: Candidates, points: Points, ones: Flags, chosen: NDArray[np.int64], coins: Coins) -> Errors:
    """Return the errors on all records of the candidates that some records shape."""
    among = candidates.among(points[chosen], ones[chosen].astype(np.int32), coins)
    return among.errors(points, ones)
