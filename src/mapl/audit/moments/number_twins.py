"""The path of a run by moments whose labels are numbers, in small, and broken twins of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from mapl.audit.counts.tables import Table
from mapl.audit.moments.tables import SumUp, ToldSums
from mapl.data.moments.contributions import Clip
from mapl.release.moment_sums import MomentSums
from mapl.types import Floats

if TYPE_CHECKING:
    from mapl.data.moments.row_map import RowMap

NUMBER_MODELS = (((0.0,), (0.0,)), ((-0.5,), (0.25,)))
BOUNDS, LEVEL = (1.0, 0.25), 0.0
"""What earlier rounds led to, and where they let residuals be cut off."""

LARGER = 8
"""How many times as long as declared a contribution may get where it is not cut."""

Measure = Callable[[Table, "RowMap", Floats, float], Any]
Added = tuple[int, ...]
Adder = Callable[[Table, Any, Clip], Added]


def numbers_of(table: Table) -> Floats:
    """Take the two labels of the small world for the ends of a range."""
    return np.array([2.0 * label - 1.0 for _, _, label in table])


def public_bound(table: Table, drawn: RowMap, weights: Floats, bound: float) -> Any:
    """Measure residuals as a real run does."""
    from mapl.data.moments.number_residuals import NumberResiduals

    return NumberResiduals(drawn, weights, LEVEL, bound)


def path_of_numbers(claims: MomentSums, drawn: RowMap, add: Adder, *, measure: Measure = public_bound) -> SumUp:
    """Return the way from records to sums; honest unless a step is replaced."""
    from mapl.data.moments.number_residuals import LONGEST
    from mapl.data.moments.residuals import on_grid

    def sum_up(table: Table) -> ToldSums:
        rounds = []
        for model, bound, reach in zip(NUMBER_MODELS, BOUNDS, claims.reaches, strict=True):
            measured = measure(table, drawn, on_grid(np.array(model)), bound)
            rounds.append(add(table, measured, Clip(reach, LONGEST)))
        return ToldSums(None, tuple(rounds))

    return sum_up


# Mistakes


def bound_from_labels(table: Table, drawn: RowMap, weights: Floats, bound: float) -> Any:
    """Cut residuals off where the farthest private label lies."""
    from mapl.data.moments.feature_map import UNIT

    points = np.array([point for _, point, _ in table], dtype=np.float64).reshape(-1, 1)
    gaps = numbers_of(table) - LEVEL - (drawn(points) @ weights)[:, 0] / UNIT if len(table) else np.zeros(0)
    return public_bound(table, drawn, weights, float(np.abs(gaps).max(initial=0.0)) or bound)


def without_a_cut(table: Table, drawn: RowMap, weights: Floats, bound: float) -> Any:
    """Leave residuals as long as they are."""
    from mapl.data.moments.feature_map import UNIT
    from mapl.data.moments.number_residuals import SQUARES, NumberResiduals

    class Uncut(NumberResiduals):
        def measure(self, rows: Any, labels: Any) -> tuple[Floats, Floats]:
            found = self.vectors(rows)
            gaps = (labels - self.level - (found @ self.weights)[:, 0] / UNIT) / self.bound
            return found, np.stack([gaps, SQUARES * np.abs(gaps)], axis=1)

    return Uncut(drawn, weights, LEVEL, bound)


def uncut(add: Adder) -> Adder:
    """Let contributions be as long as they get, on the same scale."""
    return lambda table, measured, clip: add(table, measured, Clip(clip.reach * LARGER, clip.bound * LARGER))


def squares_beside(add: Adder) -> Adder:
    """Let residuals have all of the reach, and their squares stand beside them."""
    return lambda table, measured, clip: add(table, measured, Clip(int(clip.reach * clip.bound), clip.bound))
