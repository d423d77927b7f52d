"""A law that is another law but for one detail: what broken twins are made of."""

from __future__ import annotations

from dataclasses import dataclass

from mapl.audit.votes.histograms import Law
from mapl.noise import Coins
from mapl.types import Floats, Outcome, State, Tallies


@dataclass(frozen=True)
class Altered:
    """Do what the inner law does; subclasses change one thing."""

    inner: Law

    def start(self, coins: Coins) -> State:
        return self.inner.start(coins)

    def release(self, state: State, block: Tallies, coins: Coins) -> Outcome:
        return self.inner.release(state, block, coins)

    def chances(self, block: Tallies, state: State) -> Floats:
        return self.inner.chances(block, state)
