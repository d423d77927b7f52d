"""Ridge classifiers: one small linear system per shard."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mapl.teachers.together.family import Solved, Stack, transpose
from mapl.teachers.together.positive_systems import solve_positive
from mapl.types import Floats


@dataclass(frozen=True, slots=True)
class Ridge:
    """scikit-learn's RidgeClassifier: regresses on -1 and 1 for every class, of two classes on the second alone.

    Parameters
    ----------
    balanced
        Whether every class of a shard has the same weight, however many rows it has there.
    """

    alpha: float
    intercept: bool = True
    balanced: bool = False
    scalable: ClassVar[bool] = True
    narrows: ClassVar[bool] = False

    def features(self, rows: Any) -> Any:
        return rows

    def solve(self, stack: Stack) -> Solved:
        members = stack.members()
        targets = transpose(2 * members - 1)
        targets = np.ascontiguousarray(targets[:, :, 1:] if stack.n_classes == 2 else targets)
        rows = stack.rows
        weights = np.ones(stack.places.shape) if not self.balanced else balanced_weights(members, stack.places)
        middle, centre = np.zeros((len(rows), 1, rows.shape[2])), np.zeros((len(rows), 1, targets.shape[2]))
        if self.intercept:
            whole = weights[:, None, :]
            total = whole @ np.ones((rows.shape[1], 1))
            middle, centre = (whole @ rows) / total, (whole @ targets) / total
        root = np.sqrt(weights)[:, :, None]
        rows, targets = (rows - middle) * root, (targets - centre) * root
        coef, settled = self._regressed(rows, targets)
        intercept = centre - middle @ coef
        return Solved(np.ascontiguousarray(transpose(coef)), intercept[:, 0, :], settled)

    def _regressed(self, rows: Floats, targets: Floats) -> tuple[Floats, np.ndarray[Any, np.dtype[np.bool_]]]:
        """Solve for the weights, or where a shard has fewer rows than columns for what its rows add to them."""
        n, width = rows.shape[1:]
        if width <= n:
            products = transpose(rows) @ rows
            products[:, np.arange(width), np.arange(width)] += self.alpha
            return solve_positive(products, transpose(rows) @ targets)
        products = rows @ transpose(rows)
        products[:, np.arange(n), np.arange(n)] += self.alpha
        shares, sure = solve_positive(products, targets)
        return transpose(rows) @ shares, sure


def balanced_weights(members: Floats, places: np.ndarray[Any, np.dtype[np.int64]]) -> Floats:
    """Return a weight per row, such that all classes of a shard weigh the same and rows weigh 1 on average."""
    counts = members @ np.ones((members.shape[2], 1))
    per_class = members.shape[2] / (members.shape[1] * counts[:, :, 0])
    return np.take_along_axis(per_class, places, axis=1)
