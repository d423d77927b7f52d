"""Standardising within each shard, as scikit-learn's StandardScaler does it, and taking it back in the weights."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from mapl.teachers.together.family import Solved, Stack, transpose
from mapl.types import Floats


@dataclass(frozen=True, slots=True)
class Scaling:
    """What a shard's own rows say about centre and scale."""

    with_mean: bool = True
    with_std: bool = True

    def fit(self, stack: Stack) -> tuple[Floats, Floats]:
        """Return the middle and the scale of every column of every shard; a constant column has scale 1."""
        rows = stack.rows
        n = rows.shape[1]
        ones = np.ones((1, n))
        middle = (ones @ rows) / n
        apart = rows - middle
        spread = (ones @ (apart * apart)) / n
        tiny = n * np.finfo(np.float64).eps
        constant = spread <= tiny * spread + (tiny * middle) ** 2
        scale = np.where(constant, 1.0, np.sqrt(spread)) if self.with_std else np.ones_like(spread)
        return (middle if self.with_mean else np.zeros_like(middle)), scale

    def apply(self, stack: Stack, middle: Floats, scale: Floats) -> Stack:
        """Return the shards, each in its own scale."""
        return replace(stack, rows=(stack.rows - middle) / scale)

    def take_back(self, solved: Solved, middle: Floats, scale: Floats) -> Solved:
        """Return weights for rows as they are, from weights for standardised ones."""
        coef = solved.coef / scale
        intercept = solved.intercept - (coef @ transpose(middle))[:, :, 0]
        return replace(solved, coef=coef, intercept=intercept)
