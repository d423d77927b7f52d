"""What every predictor is: a hidden sample, one bit per question with fresh coins, and a promise about each bit."""

from __future__ import annotations

from typing import Any, Protocol

from numpy.typing import NDArray

from mapl.accounting import Loss
from mapl.noise import Coins
from mapl.release.statement.plain_words import at_most
from mapl.types import RecordAdjacency

NEIGHBOURS: dict[RecordAdjacency, str] = {
    "add-remove": "one record is added or removed",
    "replace-one": "one record is replaced, their number is public",
}
ONE_RECORD = "one record"
"""The unit of every predictor."""

RECORDS = {adjacency: f"{compared}; unit: {ONE_RECORD}" for adjacency, compared in NEIGHBOURS.items()}
"""What every printed epsilon of a predictor names."""


class Predictor(Protocol):
    """Answers single questions about a hidden sample. It holds private rows, so its repr is silent about them.

    Nothing but the answers may leave: not the object, not chances, not how long an answer took.
    """

    @property
    def name(self) -> str: ...

    @property
    def adjacency(self) -> RecordAdjacency: ...

    @property
    def epsilon(self) -> float | None:
        """Pure epsilon (delta = 0) of one answer, rounded up; None where only stability is promised."""

    @property
    def stability(self) -> float:
        """Gamma: a neighbouring sample moves the chance of any answer by no more, rounded up."""

    @property
    def per_answer(self) -> Loss:
        """The loss of one answer; answers with fresh coins compose by adding it up."""

    @property
    def promise(self) -> str:
        """What is promised of one answer, in words, with the adjacency and the unit."""

    def answer(self, x: NDArray[Any], coins: Coins) -> int:
        """Answer the one question x, given as its features, with 0 or 1."""


def in_words(*, epsilon: float | None, stability: float, adjacency: RecordAdjacency) -> str:
    """Say what is promised of one answer.

    >>> in_words(epsilon=None, stability=0.1, adjacency="add-remove")
    'Stability: the chance of an answer moves by at most 0.1 if one record is added or removed; unit: one record.'
    """
    if epsilon is None:
        return f"Stability: the chance of an answer moves by at most {at_most(stability)} if {RECORDS[adjacency]}."
    return (
        f"Each answer has pure epsilon {at_most(epsilon)}, delta 0, if {RECORDS[adjacency]}. "
        f"Its chance moves by at most {at_most(stability)}. Epsilons of several answers add up."
    )
