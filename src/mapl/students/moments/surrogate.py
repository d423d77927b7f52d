"""A linear model of noisy sums: public rows stand in for the curvature, which the sums do not tell.

Were all private rows at hand, the best model would balance its predictions against the labels in every direction.
The sums tell the labels' side of that balance, up to noise; the predictions' side is an average over rows without
labels, and public rows are such. Everything here is public, and hence free.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.linalg import helmert
from scipy.optimize import minimize

from mapl.data.moments.probabilities import add_columns
from mapl.students.moments.prior import likely_variance
from mapl.students.moments.public_doubt import PublicDoubt
from mapl.students.moments.rounds import (
    Refined,
    SumRound,
    centre_classes,
    count_units,
    drawn_variance,
    measure_optimism,
    weigh_rounds,
)
from mapl.students.probabilities.log_sums import log_sums, softmax
from mapl.types import Floats, Singles

MOST_STEPS = 30

MANY = 25
"""So many units for each public row make it worth the time to ask what these cannot tell: with fewer, accuracy
moved by less than 0.1 points."""


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
    n_real
        How many of the public rows were not made up of others, if some were.
    """

    public: Singles
    counts: Singles
    keep: float = 0.7
    declared: int | None = None
    apart: bool = False
    n_real: int | None = None

    def refine(self, known: Refined, released: SumRound) -> Refined:
        """Take one more round into account."""
        chances = self._chances(known.weights)
        return self._solved(replace(known, rounds=(*known.rounds, released), before=(*known.before, chances)))

    def _solved(self, known: Refined) -> Refined:
        n_classes, chances = known.weights.shape[1], known.before[-1]
        units = count_units(known.rounds, self.declared)
        shares, noise = weigh_rounds(known.rounds, self.keep)
        drawn = drawn_variance(shares, apart=self.apart)
        balances = [self._mean_product(one - np.float32(1 / n_classes)) for one in known.before]
        sums = sum(
            share * (centre_classes(one.sums) + units * balance)
            for share, one, balance in zip(shares, known.rounds, balances, strict=True)
        )
        spread = add_columns(chances * (1 - chances)) / (n_classes - 1)
        curvature, turn = eigen(units * self._mean_square(spread))
        slopes, before = turn.T @ sums, turn.T @ known.weights
        if n_classes == 2:  # as a straight line from where the model is
            moved = slopes - units * (turn.T @ balances[-1]) + curvature[:, None] * before
            variance = likely_variance(curvature, moved, noise, drawn=drawn)
        else:  # from where the curvature is known exactly
            flat, flat_turn = self._flat
            variance = likely_variance(units / n_classes * flat, flat_turn.T @ sums, noise, drawn=drawn)

        def solve(doubt: float) -> tuple[Floats, Floats]:
            penalty = (1 + doubt + noise / (curvature + 1)) / variance
            return self._balanced(turn, slopes, penalty, curvature, before, units), penalty

        told_at = np.asarray(sum(np.float32(share) * one for share, one in zip(shares, known.before, strict=True)))

        def step(model: tuple[Floats, Floats]) -> float:
            return self._mean(np.square(self._chances(model[0]) - told_at))

        doubt = PublicDoubt(units / (self.n_real or len(self.public)), self._mean(chances * (1 - chances)))
        weights, penalty = doubt.settle(solve, step) if doubt.per_row > MANY else solve(0.0)
        return replace(
            known,
            weights=weights,
            scatter=turn * (noise**0.5 / (curvature + penalty)),
            optimism=measure_optimism(known.rounds, shares[0], curvature, penalty, apart=self.apart),
        )

    def _chances(self, weights: Floats) -> Singles:
        """Return what a model predicts of public rows."""
        return np.asarray(softmax(self.public @ weights.astype(np.float32)))

    def _mean(self, columns: Singles) -> float:
        """Return the mean over public rows of what columns add up to."""
        return float(self.counts @ columns.sum(axis=1))

    def _mean_product(self, columns: Singles) -> Floats:
        """Return the mean over public rows of the products of their vectors with some columns."""
        return (self._counted @ columns).astype(np.float64)

    def _mean_square(self, spread: Singles) -> Floats:
        """Return the mean over public rows of the products of their vectors with themselves, some counting more."""
        weighed = self.public * np.sqrt(self.counts * spread)[:, None]
        return np.asarray(weighed.T @ weighed, dtype=np.float64)

    @cached_property
    def _flat(self) -> tuple[Floats, Floats]:
        """Return the curvature at an even guess, but for a factor."""
        return eigen(self._mean_square(np.ones_like(self.counts)))

    @cached_property
    def _counted(self) -> Singles:
        """Return the vectors of public rows as columns, times how much each counts: a search needs them often."""
        return np.ascontiguousarray(self.public.T * self.counts)

    def _balanced(
        self, turn: Floats, slopes: Floats, penalty: Floats, curvature: Floats, start: Floats, units: float
    ) -> Floats:
        """Return the weights that balance predictions on public rows with the slopes.

        Slopes and start are those along the directions that `turn` has as columns, and so is the penalty. Classes
        have nothing in common in either, so that a search goes through one column less than there are classes.
        """
        contrasts = helmert(slopes.shape[1]).T
        short = contrasts.astype(np.float32)
        slopes, start = slopes @ contrasts, start @ contrasts
        scale = 1 / np.sqrt(curvature + penalty)[:, None]
        counts = self.counts.astype(np.float64)

        def loss(flat: Floats) -> tuple[float, Floats]:
            weights = flat.reshape(slopes.shape) * scale
            scores = (self.public @ (turn @ weights).astype(np.float32)) @ short.T
            level = log_sums(scores)
            value = units * float(counts @ level)
            value += float(0.5 * (penalty[:, None] * weights**2).sum() - (weights * slopes).sum())
            chances = np.exp(scores - level[:, None]) @ short
            slope = units * (turn.T @ self._mean_product(chances)) - slopes + penalty[:, None] * weights
            return value / units, (slope * scale).ravel() / units

        options = {"maxiter": MOST_STEPS, "gtol": 1e-6}
        found = minimize(loss, (start / scale).ravel(), jac=True, method="L-BFGS-B", options=options).x
        return np.asarray(turn @ (found.reshape(slopes.shape) * scale) @ contrasts.T)


def eigen(matrix: Floats) -> tuple[Floats, Floats]:
    """Return the eigenvalues of a public matrix, none below zero, and its eigenvectors."""
    values, vectors = np.linalg.eigh(matrix)
    return np.maximum(values, 0.0), vectors
