"""Naive Bayes: sums per class, whose logarithms are linear scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mapl.teachers.together.family import Solved, Stack, one_score
from mapl.types import Flags, Floats

MOST_INVERSE = 1e10
"""Beyond this ratio of squared numbers to a variance, linear scores lose digits that scikit-learn's sums keep."""


@dataclass(frozen=True, slots=True)
class GaussianBayes:
    """scikit-learn's GaussianNB. A log-density is linear in a number and its square."""

    smoothing: float
    compiled: bool = False
    scalable: ClassVar[bool] = False
    narrows: ClassVar[bool] = False

    def features(self, rows: Any) -> Any:
        numbers = np.asarray(rows, dtype=np.float64)
        return np.concatenate([numbers, numbers * numbers], axis=1)

    def solve(self, stack: Stack) -> Solved:
        rows = stack.rows
        counts, means, variances = self._moments(stack)
        variances += self.smoothing * _overall(means, variances, counts / rows.shape[1])
        inverse = 1.0 / variances
        constants = (np.log(2 * np.pi * variances) + means * means * inverse)[:, :, None, :] @ np.ones(
            (rows.shape[2], 1)
        )
        constants = np.log(counts / rows.shape[1])[:, :, 0] - constants[:, :, 0, 0] / 2
        coef, intercept = one_score(np.concatenate([means * inverse, -inverse / 2], axis=2), constants)
        return Solved(coef, intercept, self._exact_enough(rows, inverse))

    def _moments(self, stack: Stack) -> tuple[Floats, Floats, Floats]:
        """Return the size of every class of every shard, and mean and variance of its columns."""
        if self.compiled:
            from mapl.teachers.compiled.gaussian_moments import class_moments

            counts, means, variances = class_moments(stack.rows, stack.places, stack.n_classes)
            return counts, means, variances
        rows, members = stack.rows, stack.members()
        counts = class_sizes(members)
        means = (members @ rows) / counts
        apart = _of_own_class(means, stack)
        np.subtract(rows, apart, out=apart)
        np.multiply(apart, apart, out=apart)
        return counts, means, (members @ apart) / counts

    @staticmethod
    def _exact_enough(rows: Floats, inverse: Floats) -> Flags:
        flat = rows.reshape(len(rows), -1)
        largest = np.maximum(1.0, np.maximum(flat.max(axis=1), -flat.min(axis=1)))
        return np.asarray(largest * largest * inverse.max(axis=(1, 2)) <= MOST_INVERSE)


@dataclass(frozen=True, slots=True)
class BernoulliBayes:
    """scikit-learn's BernoulliNB: every number counts as above a public threshold or not."""

    alpha: float
    threshold: float
    learns_prior: bool
    scalable: ClassVar[bool] = False
    narrows: ClassVar[bool] = False

    def features(self, rows: Any) -> Any:
        return (rows > self.threshold).astype(np.float64)

    def solve(self, stack: Stack) -> Solved:
        members = stack.members()
        counts = class_sizes(members)
        above = members @ self.features(stack.rows)
        whole = np.log(counts + 2 * self.alpha)
        yes, no = np.log(above + self.alpha) - whole, np.log(counts - above + self.alpha) - whole
        constants = (no[:, :, None, :] @ np.ones((no.shape[2], 1)))[:, :, 0, 0]
        if self.learns_prior:
            constants = constants + np.log(counts / stack.rows.shape[1])[:, :, 0]
        coef, intercept = one_score(yes - no, constants)
        return Solved(coef, intercept, np.ones(len(stack), dtype=np.bool_))


def _of_own_class(means: Floats, stack: Stack) -> Floats:
    """Return for each row the mean of its class."""
    lines = stack.places + stack.n_classes * np.arange(len(stack))[:, None]
    return means.reshape(-1, means.shape[2]).take(lines, axis=0)


def _overall(means: Floats, variances: Floats, shares: Floats) -> Floats:
    """Return the largest variance of a shard's columns: within classes, and of their means."""
    shares = shares.transpose(0, 2, 1)
    between = means - shares @ means
    return np.asarray((shares @ (variances + between * between)).max(axis=2, keepdims=True))


def class_sizes(members: Floats) -> Floats:
    """Return how many rows each class of each shard has, as a column."""
    return members @ np.ones((members.shape[2], 1))
