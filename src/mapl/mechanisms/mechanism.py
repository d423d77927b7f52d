"""What every mechanism is: a frozen value with a price, and one pure function from votes and coins to labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np

from mapl.accounting import Loss
from mapl.errors import InvalidParameter
from mapl.noise import Coins
from mapl.types import ABSTAIN, Budget, Flags, Floats, Labels, Outcome, State, positive_integer

MOST_QUERIES = 10**12
Parameters = Mapping[str, int | float | str | bool]
Block = TypeVar("Block", contravariant=True)


@dataclass(frozen=True, slots=True)
class Task:
    """The public facts that a mechanism is calibrated for. Nothing here is read off the votes' contents."""

    budget: Budget
    n_teachers: int
    n_classes: int
    n_queries: int

    def __post_init__(self) -> None:
        positive_integer(n_teachers=self.n_teachers, n_queries=self.n_queries)
        if self.n_queries > MOST_QUERIES:
            raise InvalidParameter(
                f"There are {self.n_queries} questions; plans are made for at most {MOST_QUERIES:,}."
            )
        if self.n_classes < 2:
            raise InvalidParameter(f"There are {self.n_classes} classes; at least 2 are needed.")


class Mechanism(Protocol[Block]):
    """A release mechanism. Batch and online are the same calls; online hands over blocks of one question."""

    name: ClassVar[str]

    @property
    def parameters(self) -> Parameters:
        """Everything that fixes the mechanism's law; public."""

    @property
    def total(self) -> Loss:
        """The loss of a whole run, up to the mechanism's limits."""

    def start(self, coins: Coins) -> State:
        """Return the state before the first question, drawing secrets if there are any."""

    def release(self, state: State, block: Block, coins: Coins) -> Outcome:
        """Publish an outcome for each question of the block, until the limits halt the run."""

    def spent(self, state: State) -> Loss:
        """Return the loss priced by the outcomes published so far."""

    def epsilon(self, loss_of: State | None, delta: float) -> float:
        """Return epsilon at `delta` of a state, or of the whole run if None, by the best sound accounting."""

    def chances(self, block: Block, state: State) -> Floats:
        """Return the exact law of each question's outcome as the next one asked in this state.

        One row per question; the columns are the C labels and abstaining, followed, for a mechanism with
        a second stage, by the C labels given as fallback. Computed from the tables that `release` uses.
        """

    def required_distance(self, probability: float) -> int | None:
        """Return the distance to instability that yields the winner with this probability, if that is defined."""

    def chance_if_unanimous(self, n_teachers: int, n_classes: int) -> float:
        """Return the probability that a unanimous vote is answered, and with its own label."""


class PricedByLoss:
    """The accounting of every mechanism whose best bound is its own Renyi curve."""

    def epsilon(self: Any, loss_of: State | None, delta: float) -> float:
        loss: Loss = self.total if loss_of is None else self.spent(loss_of)
        return loss.epsilon(delta)


AnyMechanism = Mechanism[Any]


def until_nth(flags: Flags, n: int) -> int:
    """Return the length of the shortest prefix that holds n flags, or of everything if there are fewer."""
    where = np.flatnonzero(flags)
    return int(where[n - 1]) + 1 if len(where) >= n else len(flags)


def publish_passes(state: State, values: Labels, passes: Flags, max_abstentions: int) -> Outcome:
    """Publish the values that pass and abstain on the others, up to and including the last allowed abstention."""
    left = max_abstentions - state.abstained
    asked = until_nth(~passes, left) if left > 0 and not state.halted else 0
    passes = passes[:asked]
    labels = np.where(passes, values[:asked], np.int32(ABSTAIN))
    answered = int(np.count_nonzero(passes))
    abstained = asked - answered
    return Outcome(labels, state.after(answered, abstained, halted=abstained >= left, secret=state.secret))


def by_label(values: Labels, chance: Floats, n_classes: int) -> Floats:
    """Lay out the law of a mechanism that publishes `values` with a chance and abstains otherwise."""
    laid_out = np.zeros((len(values), n_classes + 1))
    laid_out[np.arange(len(values)), values] = chance
    laid_out[:, n_classes] = 1 - chance
    return laid_out
