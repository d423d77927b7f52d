"""The best of a few, by how many private units each is right about: one exact draw of the exponential mechanism."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from mapl.accounting import Loss
from mapl.errors import GuaranteeBroken, InvalidParameter
from mapl.mechanisms.mechanism import Parameters
from mapl.mechanisms.single.exponential_vote import LONGEST, falling_weights, steepest
from mapl.noise import ONE, Coins
from mapl.release.ledger.ledger import Ledger
from mapl.release.ledger.limits import Limit
from mapl.release.spend import RELEASED, Decision, first_entry, spend_once
from mapl.types import finite_positive, positive_integer

Scores = NDArray[np.int64]

STEEPEST = 15.0
"""The largest loss of one step behind the best; integer weights have no digits for more, and nobody needs it."""


@dataclass(frozen=True)
class BestOf:
    """Draw one of n candidates, each with a weight that falls with every unit by which its score is behind.

    A score is the number of units that a candidate is right about.

    Parameters
    ----------
    epsilon
        What the draw costs at most.
    n_candidates
        n, which is public.
    sensitivity
        By how much one unit changes how far a candidate is behind the best: 1 where it is added or removed, which
        changes all scores in the same direction, 2 where it may change.

    Notes
    -----
    *Guarantee.* Pure epsilon-differential privacy. Proof: docs/proofs/selection.md.
    """

    epsilon: float
    n_candidates: int
    sensitivity: int = 1

    name: ClassVar[str] = "best-of"

    def __post_init__(self) -> None:
        finite_positive(epsilon=self.epsilon)
        positive_integer(candidates=self.n_candidates, sensitivity=self.sensitivity)
        if self.n_candidates < 2:
            raise InvalidParameter("There is one candidate; a selection needs at least two.")

    @cached_property
    def weights(self) -> NDArray[np.int64]:
        """How likely a candidate is, by how far it is behind; the last weight is held beyond the end.

        Whole numbers, of which n add up to at most 2^62. `falling_weights` refuses those that fall faster than
        it was asked for, compared as exact fractions.
        """
        top = ONE >> (self.n_candidates - 1).bit_length()
        return falling_weights(2 * min(self.epsilon / self.sensitivity, STEEPEST), top, LONGEST)

    @property
    def parameters(self) -> Parameters:
        return {
            "epsilon": self.epsilon,
            "candidates": self.n_candidates,
            "sensitivity": self.sensitivity,
            "max_answers": 1,
            "max_abstentions": 0,
        }

    @property
    def total(self) -> Loss:
        return Loss.pure(self.epsilon)

    def release(self, scores: Scores, coins: Coins) -> int:
        """Return the number of the chosen candidate."""
        return int(coins.choose(self._weights_of(scores)[None])[0])

    def law(self, scores: Scores) -> list[Fraction]:
        """Return the exact chance of every candidate, read off the integers that `release` decides with."""
        weights = [int(weight) for weight in self._weights_of(scores)]
        return [Fraction(weight, sum(weights)) for weight in weights]

    def _weights_of(self, scores: Scores) -> NDArray[np.int64]:
        if scores.shape != (self.n_candidates,) or scores.dtype.kind not in "iu":
            raise GuaranteeBroken(
                f"A selection needs one whole number for each of {self.n_candidates} candidates; nothing was "
                "released."
            )
        if self.sensitivity * Fraction(steepest(self.weights)) > Fraction(self.epsilon):
            raise GuaranteeBroken(
                f"The weights of the selection fall too fast for epsilon {self.epsilon:g}; nothing was released."
            )
        behind = scores.max() - scores.astype(np.int64)
        return np.asarray(self.weights.take(behind, mode="clip"))


def select(
    best: BestOf, scores: Callable[[], Scores], coins: Coins, *, ledger: Ledger, stage: str = "selection"
) -> int:
    """Choose a candidate once: recorded before it is returned, and on a resumed run only read.

    Parameters
    ----------
    scores
        Counts the units that each candidate is right about; not called where the choice was made before.
    """
    start = first_entry(stage, best.name, best.parameters, coins, limit=Limit(1, 0))
    recorded = spend_once(ledger, start, lambda: Decision.of_value(best.release(scores(), coins)))
    return int(recorded.told()[RELEASED])
