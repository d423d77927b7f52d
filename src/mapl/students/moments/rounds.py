"""Rounds of noisy sums as a student sees them, and the model that they have led to so far."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from mapl.types import Floats

DECLARED_TRUST, FARTHEST = 0.3, 3.0
"""The relative error that a declared number of units is trusted to have; and from so many deviations of it and of
noisy counts on, where the two are apart, it is a mistake."""


@dataclass(frozen=True, slots=True, eq=False)
class SumRound:
    """One release in units of its contributions: noisy sums, the noisy number of units, deviations of both.

    Where labels are numbers, ``squares`` are noisy sums of the squares of what the model before left over.
    """

    sums: Floats
    noise: float
    count: float
    count_noise: float
    squares: NoisySquares | None = None


@dataclass(frozen=True, slots=True, eq=False)
class NoisySquares:
    """For every feature, the noisy sum of its products with squared residuals, and the deviation of the noise."""

    sums: Floats
    noise: float


@dataclass(frozen=True, slots=True, eq=False)
class Refined:
    """A model after some rounds, and what of them the next one needs.

    Parameters
    ----------
    weights
        One line per feature, one column per class, or a single one where labels are numbers.
    rounds
        What was released so far.
    before
        For each round, what its sums have to be seen beside: what the model before it predicted on public rows, or
        that model itself.
    scatter
        How the noise of the sums scatters the weights of a class: so many independent normal variables of variance
        1, one for each column, times this.
    optimism
        By how much the first sums agree with the weights better than with those of other people and another noise,
        because the weights were made of them: the product of both is so much larger.
    level
        What is predicted beside what the weights say, if labels are numbers.
    bound
        Where the next round cuts off what the model leaves over of labels, if these are numbers.
    """

    weights: Floats
    rounds: tuple[SumRound, ...] = ()
    before: tuple[NDArray[Any], ...] = ()
    scatter: Floats | None = None
    optimism: float = 0.0
    level: float = 0.0
    bound: float = 1.0

    @classmethod
    def start(cls, n_features: int, n_columns: int) -> Self:
        return cls(np.zeros((n_features, n_columns)))


class Refiner(Protocol):
    """What turns rounds of noisy sums into a model."""

    def refine(self, known: Refined, released: SumRound) -> Refined:
        """Take one more round into account."""


def count_units(rounds: tuple[SumRound, ...], declared: int | None) -> float:
    """Estimate the number of units by noisy counts, and by what was declared unless these say otherwise."""
    precision = sum(one.count_noise**-2 for one in rounds)
    estimate = sum(one.count * one.count_noise**-2 for one in rounds)
    if declared is not None:
        trust = (DECLARED_TRUST * declared) ** -2
        if abs(declared - estimate / precision) <= FARTHEST * math.hypot(precision**-0.5, trust**-0.5):
            precision, estimate = precision + trust, estimate + declared * trust
    return float(max(estimate / precision, precision**-0.5, 1.0))


def weigh_rounds(rounds: tuple[SumRound, ...], keep: float) -> tuple[Floats, float]:
    """Return how much each round counts, newer ones more, and the variance of the noise of their average.

    What classes have in common is left out of sums, and its noise with it; numbers have one column, and nothing in
    common with others.
    """
    n_columns = rounds[0].sums.shape[1]
    weights = np.array([one.noise**-2 * keep ** (len(rounds) - t) for t, one in enumerate(rounds)])
    weights /= weights.sum()
    noise = sum(weight**2 * one.noise**2 for weight, one in zip(weights, rounds, strict=True))
    return weights, float(noise) * (1 - 1 / n_columns if n_columns > 1 else 1.0)


def drawn_variance(shares: Floats, *, apart: bool) -> float:
    """Return how much drawing people scatters the average of the rounds, beside a single one.

    The same people scatter every round alike; where rounds are about different people, averages are surer.
    """
    return float((shares**2).sum()) if apart else 1.0


def measure_optimism(
    rounds: tuple[SumRound, ...], share: float, curvature: Floats, penalty: Floats, *, apart: bool
) -> float:
    """Return by how much the product of weights and first sums is too large, as both have noise and draw in common.

    Weights are the average of the rounds' sums, of which the first has some share, divided by curvature and
    penalty; the variance of sums by drawing people is the curvature. Rounds of other people have nothing in common
    with the first.
    """
    n_classes = rounds[0].sums.shape[1]
    common = share * rounds[0].noise ** 2 + (share if apart else 1.0) * curvature
    return float((n_classes - 1) * (common / (curvature + penalty)).sum())


def centre_classes(sums: Floats) -> Floats:
    """Leave out what all classes have in common, which says nothing."""
    return np.asarray(sums - sums.mean(axis=1, keepdims=True))
