"""A linear model of noisy sums without public rows: a straight line with a curvature that was released."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from mapl.students.moments.curvature import denoise
from mapl.students.moments.prior import likely_variance
from mapl.students.moments.rounds import (
    Refined,
    SumRound,
    centre_classes,
    count_units,
    measure_optimism,
    weigh_rounds,
)
from mapl.students.moments.surrogate import eigen
from mapl.students.probabilities.log_sums import softmax
from mapl.types import Floats, Singles

LEAST_SPREAD = 0.3


@dataclass(frozen=True, slots=True, eq=False)
class NoisyProducts:
    """Sums of the products of features, and of their products with labels beyond an even guess."""

    sums: Floats
    slopes: SumRound

    def gram(self, independent: Floats, declared: int | None) -> Floats:
        """Return the mean products of features, given those that independent columns would have."""
        units = count_units((self.slopes,), declared)
        return denoise(self.sums, self.slopes.noise, independent, units)


@dataclass(frozen=True, slots=True, eq=False)
class KnownCurvature:
    """Follow the slopes of the sums by mean products of features that were released.

    Parameters
    ----------
    public
        Vectors of rows that are made up of declared facts: how sure a model is of itself is judged on them.
    gram
        The mean products of features.
    """

    public: Singles
    gram: Floats
    keep: ClassVar[float] = 0.7
    """How much less an older round counts than the next one."""

    @staticmethod
    def begin(known: Refined, slopes: SumRound) -> Refined:
        """Take slopes of an even guess along, which were released beside the products."""
        return replace(known, rounds=(*known.rounds, slopes), before=(*known.before, known.weights))

    def refine(self, known: Refined, released: SumRound) -> Refined:
        """Take one more round into account."""
        grown = replace(known, rounds=(*known.rounds, released), before=(*known.before, known.weights))
        n_classes = known.weights.shape[1]
        chances = softmax(self.public @ known.weights.astype(np.float32))
        sure = float((chances * (1 - chances)).mean()) * n_classes / (n_classes - 1)
        gram, turn = eigen(self.gram)
        curvature = count_units(grown.rounds, None) * max(sure, LEAST_SPREAD / n_classes) * gram
        shares, noise = weigh_rounds(grown.rounds, self.keep)
        slopes = sum(
            share * (turn.T @ centre_classes(one.sums) + curvature[:, None] * (turn.T @ before))
            for share, one, before in zip(shares, grown.rounds, grown.before, strict=True)
        )
        variance = likely_variance(curvature, np.asarray(slopes), noise)
        penalty = (1 + noise / (curvature + 1)) / variance
        weights = turn @ (slopes / (curvature + penalty)[:, None])
        return replace(
            grown,
            weights=weights,
            scatter=turn * (noise**0.5 / (curvature + penalty)),
            optimism=measure_optimism(grown.rounds, shares[0], curvature, penalty, apart=False),
        )
