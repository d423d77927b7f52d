"""How much few public rows scatter sums, where a model moves away from those that sums were told at.

A round of sums is exact, up to noise, at the model of its time. From there public rows lead to another model: n
times the mean of m of them stands for what n people would add. By as much as predictions move, that scatters n/m
times as much as the people themselves do. A model that comes to rest has no doubt left.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

Model = TypeVar("Model")

NEGLIGIBLE = 0.1
"""So little scatter by public rows, beside that by people, changes nothing."""


@dataclass(frozen=True, slots=True)
class PublicDoubt:
    """What public rows cannot tell of a model.

    Parameters
    ----------
    per_row
        How many units there are for a public row; rows that were made up of others do not count.
    scatter
        The mean square by which people's labels scatter about what is predicted of them.
    """

    per_row: float
    scatter: float

    def measure(self, moved: float) -> float:
        """Return how much public rows scatter sums, beside the scatter of people.

        Parameters
        ----------
        moved
            The mean square by which predictions moved away from those that sums were told at.
        """
        return self.per_row * moved / max(self.scatter, 1e-12)

    def settle(self, solve: Callable[[float], Model], moved: Callable[[Model], float]) -> Model:
        """Return the model that is solved for with about as much doubt as it leaves."""
        model = solve(0.0)
        most = self.measure(moved(model))
        if most <= NEGLIGIBLE:
            return model
        # A model that is drawn in moves less: where both agree lies between the two.
        return solve(math.sqrt(most * self.measure(moved(solve(most)))))
