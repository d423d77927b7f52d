"""Logistic regression with an L2 penalty: Newton's method in every shard, until that shard is done."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mapl.teachers.together.binary_newton import fit_binary
from mapl.teachers.together.family import Solved, Stack, transpose
from mapl.teachers.together.multinomial_newton import fit_multinomial
from mapl.teachers.together.narrowing import narrow
from mapl.teachers.together.ridge import balanced_weights


@dataclass(frozen=True, slots=True)
class Logistic:
    """scikit-learn's LogisticRegression: half the squared weights, plus `strength` times the loss of every row."""

    strength: float
    intercept: bool = True
    balanced: bool = False
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
            found, settled = fit_binary(rows, np.ascontiguousarray(members[:, 1, :]), weights, penalty)
            found = found[:, :, None]
        else:
            targets = np.ascontiguousarray(transpose(members))
            found, settled = fit_multinomial(rows, targets, weights, penalty)
        coef = transpose(widen(np.ascontiguousarray(found[:, :width, :])))
        constants = found[:, width, :] if self.intercept else np.zeros((len(rows), found.shape[2]))
        return Solved(np.ascontiguousarray(coef), np.ascontiguousarray(constants), settled)
