"""The plain plurality: no privacy at all, for comparison."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from mapl.accounting import Loss
from mapl.mechanisms.mechanism import Parameters, PricedByLoss, Task, by_label
from mapl.noise import Coins
from mapl.types import Floats, Outcome, Stable, State, Tallies


@dataclass(frozen=True)
class Majority(PricedByLoss):
    """Publish the exact winner of every question, ties to the lowest index.

    Notes
    -----
    *Guarantee.* None: epsilon is infinite from the first answer on. Adjacency: one teacher changes its votes
    arbitrarily; unit: one teacher. docs/proofs/single-predictions.md says why nothing better can be claimed.
    """

    name: ClassVar[str] = "majority"

    @classmethod
    def for_task(cls, task: Task) -> Self:
        """Accept any task; no budget is kept."""
        return cls()

    @property
    def parameters(self) -> Parameters:
        return {"private": False}

    def start(self, coins: Coins) -> State:
        return State()

    def release(self, state: State, block: Stable, coins: Coins) -> Outcome:
        return Outcome(block.values, state.after(len(block), 0, halted=False))

    def chances(self, block: Tallies, state: State) -> Floats:
        return by_label(block.values, np.ones(len(block)), block.n_classes)

    @property
    def total(self) -> Loss:
        return Loss.everything()

    def spent(self, state: State) -> Loss:
        return Loss.everything() if state.answered else Loss.nothing()

    def required_distance(self, probability: float) -> int | None:
        return 0

    def chance_if_unanimous(self, n_teachers: int, n_classes: int) -> float:
        return 1.0
