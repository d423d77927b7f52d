"""A teacher of a class: a hypothesis drawn so steeply by its errors that it is all but surely a best one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from mapl.noise import Coins
from mapl.prediction.hypotheses import Errors, Hypothesis, HypothesisClass

STEEP = 64.0
"""An error costs a factor e^-64: a worse hypothesis is drawn with chance |patterns| e^-64 at most."""


@dataclass(frozen=True, slots=True)
class Consistent:
    """Learns one hypothesis of the class from a shard, never listing what the class need not list."""

    hypotheses: HypothesisClass

    def errors(self, X: NDArray[Any], y: NDArray[Any]) -> Errors:
        return self.hypotheses.patterns(X).errors(X, y)

    def learn(self, X: NDArray[Any], y: NDArray[Any], coins: Coins) -> Hypothesis:
        return self.errors(X, y).draw(STEEP, coins)
