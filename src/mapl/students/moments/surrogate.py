"""A linear model of noisy sums: public rows stand in for the curvature, which the sums do not tell.

Were all private rows at hand, the best model would balance its predictions against the labels in every direction.
The sums tell the labels' side of that balance, up to noise; the predictions' side is an average over rows without
labels, and public rows are such. Everything here is public, and hence free.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.optimize import minimize
from scipy.special import softmax

from mapl.students.moments.log_sums import log_sums
from mapl.students.moments.prior import likely_variance
from mapl.students.moments.rounds import (
    Refined,
    SumRound,
    centre_classes,
    count_units,
    drawn_variance,
    measure_optimism,
    weigh_rounds,
)
from mapl.types import Floats, Singles

MOST_STEPS = 30


@dataclass(frozen=True, eq=False)
class PublicBalance:
    """Balance sums against predictions on public rows.

    Parameters
    ----------
    public
        Vectors of public rows, of norm at most 1.
    counts
        How much each of them counts; they add up to 1.
    keep
        How much less an older round counts than the next one.
    declared
        About how many units add to a round, where that was declared.
    apart
        Whether every round is about other units.
    """

    public: Singles
    counts: Singles
    keep: float = 0.7
    declared: int | None = None
    apart: bool = False

    def refine(self, known: Refined, released: SumRound) -> Refined:
        """Take one more round into account."""
        n_classes = known.weights.shape[1]
        chances = softmax(self.public @ known.weights.astype(np.float32), axis=1)
        balance = self._mean_product(chances - np.float32(1 / n_classes))
        grown = replace(known, rounds=(*known.rounds, released), before=(*known.before, balance))
        return self._solved(grown, chances)

    def _solved(self, known: Refined, chances: Singles) -> Refined:
        n_classes = known.weights.shape[1]
        units = count_units(known.rounds, self.declared)
        shares, noise = weigh_rounds(known.rounds, self.keep)
        drawn = drawn_variance(shares, apart=self.apart)
        sums = sum(
            share * (centre_classes(one.sums) + units * balance)
            for share, one, balance in zip(shares, known.rounds, known.before, strict=True)
        )
        spread = ((chances * (1 - chances)).mean(axis=1) * n_classes / (n_classes - 1)).astype(np.float32)
        curvature, turn = eigen(units * self._mean_product(self.public * spread[:, None]))
        slopes, before = turn.T @ sums, turn.T @ known.weights
        if n_classes == 2:  # as a straight line from where the model is
            moved = slopes - units * (turn.T @ known.before[-1]) + curvature[:, None] * before
            variance = likely_variance(curvature, moved, noise, drawn=drawn)
        else:  # from where the curvature is known exactly
            flat, flat_turn = eigen(units / n_classes * self._mean_product(self.public))
            variance = likely_variance(flat, flat_turn.T @ sums, noise, drawn=drawn)
        penalty = (1 + noise / (curvature + 1)) / variance
        turned = replace(self, public=self.public @ turn.astype(np.float32))
        weights = turn @ turned._balanced(slopes, penalty, curvature, before, units)
        return replace(
            known,
            weights=weights,
            scatter=turn * (noise**0.5 / (curvature + penalty)),
            optimism=measure_optimism(known.rounds, shares[0], curvature, penalty, apart=self.apart),
        )

    def _mean_product(self, columns: Singles) -> Floats:
        """Return the mean over public rows of the products of their vectors with some columns."""
        return (self._counted @ columns).astype(np.float64)

    @cached_property
    def _counted(self) -> Singles:
        """Return the vectors of public rows as columns, times how much each counts: a search needs them often."""
        return np.ascontiguousarray(self.public.T * self.counts)

    def _balanced(self, slopes: Floats, penalty: Floats, curvature: Floats, start: Floats, units: float) -> Floats:
        """Return the weights that balance predictions on public rows with the slopes."""
        n_features, n_classes = slopes.shape
        scale = 1 / np.sqrt(curvature + penalty)[:, None]
        counts = self.counts.astype(np.float64)

        def loss(flat: Floats) -> tuple[float, Floats]:
            weights = flat.reshape(n_features, n_classes) * scale
            scores = self.public @ weights.astype(np.float32)
            level = log_sums(scores)
            value = units * float(counts @ (level - scores.mean(axis=1)))
            value += float(0.5 * (penalty[:, None] * weights**2).sum() - (weights * slopes).sum())
            chances = np.exp(scores - level[:, None]) - np.float32(1 / n_classes)
            slope = units * self._mean_product(chances) - slopes + penalty[:, None] * weights
            return value / units, (slope * scale).ravel() / units

        options = {"maxiter": MOST_STEPS, "gtol": 1e-6}
        found = minimize(loss, (start / scale).ravel(), jac=True, method="L-BFGS-B", options=options).x
        return np.asarray(found.reshape(n_features, n_classes) * scale)


def eigen(matrix: Floats) -> tuple[Floats, Floats]:
    """Return the eigenvalues of a public matrix, none below zero, and its eigenvectors."""
    values, vectors = np.linalg.eigh(matrix)
    return np.maximum(values, 0.0), vectors
