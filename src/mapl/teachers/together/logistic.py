"""Logistic regression with an L2 penalty: Newton's method in every shard, until that shard is done."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mapl.teachers.together import binary_newton, multinomial_newton
from mapl.teachers.together.family import Solved, Stack, transpose
from mapl.teachers.together.narrowing import narrow
from mapl.teachers.together.ridge import balanced_weights
from mapl.types import Flags, Floats

MOST_COMPILED = 64
"""Columns of a shard up to which two classes are solved faster without LAPACK."""


@dataclass(frozen=True, slots=True)
class Logistic:
    """scikit-learn's LogisticRegression: half the squared weights, plus `strength` times the loss of every row."""

    strength: float
    intercept: bool = True
    balanced: bool = False
    compiled: bool = False
    scalable: ClassVar[bool] = True
    narrows: ClassVar[bool] = True

    def features(self, rows: Any) -> Any:
        return rows

    def solve(self, stack: Stack) -> Solved:
        members = stack.members()
        weights = np.full(stack.places.shape, self.strength)
        if self.balanced:
            weights = weights * balanced_weights(members, stack.places)
        rows, widen = narrow(stack.rows)
        n, width = rows.shape[1:]
        if self.intercept:
            rows = np.concatenate([rows, np.ones((len(rows), n, 1))], axis=2)
        penalty = (np.arange(rows.shape[2]) < width).astype(np.float64)
        if stack.n_classes == 2:
            found, settled = self._binary(rows, np.ascontiguousarray(members[:, 1, :]), weights, penalty)
            found = found[:, :, None]
        else:
            found, settled = self._multinomial(rows, np.ascontiguousarray(transpose(members)), weights, penalty)
        coef = transpose(widen(np.ascontiguousarray(found[:, :width, :])))
        constants = found[:, width, :] if self.intercept else np.zeros((len(rows), found.shape[2]))
        return Solved(np.ascontiguousarray(coef), np.ascontiguousarray(constants), settled)

    def _binary(self, rows: Floats, targets: Floats, weights: Floats, penalty: Floats) -> tuple[Floats, Flags]:
        if not self.compiled or rows.shape[2] > MOST_COMPILED:
            return binary_newton.fit_binary(rows, targets, weights, penalty)
        from mapl.teachers.compiled.binary_newton import fit_binary

        found, settled = fit_binary(rows, targets, weights, penalty)
        return found, settled

    def _multinomial(self, rows: Floats, targets: Floats, weights: Floats, penalty: Floats) -> tuple[Floats, Flags]:
        if not self.compiled:
            return multinomial_newton.fit_multinomial(rows, targets, weights, penalty)
        from mapl.teachers.compiled.multinomial_newton import fit_multinomial

        found, settled = fit_multinomial(rows, targets, weights, penalty)
        return found, settled
