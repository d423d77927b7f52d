"""The random subset that shapes the candidates: of a fixed size, or every record by a coin of its own."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from mapl.errors import InvalidParameter
from mapl.noise import ONE, Coins
from mapl.types import Integers, RecordAdjacency, positive_integer


@dataclass(frozen=True, slots=True)
class FixedSize:
    """A uniformly random subset of a fixed size, for replaced records: their number n is public.

    It comes in random order. Sorted, one record exchanged for another would shift those between them, and what
    looks at places, such as shards, would see many records change.
    """

    size: int
    n: int

    adjacency: RecordAdjacency = "replace-one"

    def __post_init__(self) -> None:
        positive_integer(size=self.size, n=self.n)
        if self.size > self.n:
            raise InvalidParameter(f"The subset's size is {self.size}; it must be at most the {self.n} records.")

    @property
    def share(self) -> Fraction:
        """The chance eta that one given record is in it."""
        return Fraction(self.size, self.n)

    def share_of(self, k: int) -> Fraction:
        """Return the chance that any of k given records is in it."""
        missed = Fraction(1)
        for j in range(min(k, self.n)):
            missed *= Fraction(max(self.n - self.size - j, 0), self.n - j)
        return 1 - missed

    def draw(self, n: int, coins: Coins) -> Integers:
        if n != self.n:
            raise InvalidParameter(
                "The number of records is not the one that the subset was made for; make it anew."
            )
        order = np.arange(n)
        # The first places of a Fisher-Yates shuffle.
        swaps = np.arange(self.size) + coins.below(n - np.arange(self.size, dtype=np.int64))
        for place, other in enumerate(swaps):
            order[[place, other]] = order[[other, place]]
        return order[: self.size]


@dataclass(frozen=True, slots=True)
class EachByCoin:
    """Every record with chance numerator / 2**62, independently, for added or removed ones."""

    numerator: int

    adjacency: RecordAdjacency = "add-remove"

    def __post_init__(self) -> None:
        if not 0 < self.numerator < ONE:
            raise InvalidParameter("The chance of a record to be in the subset must lie strictly between 0 and 1.")

    @classmethod
    def with_share(cls, eta: float) -> EachByCoin:
        """Take the numerator next below."""
        if not 0 < eta < 1:
            raise InvalidParameter(
                f"eta is {eta}; the chance of a record to be in the subset lies between 0 and 1."
            )
        return cls(max(1, int(eta * ONE)))

    @property
    def share(self) -> Fraction:
        """The chance eta that one given record is in it."""
        return Fraction(self.numerator, ONE)

    def share_of(self, k: int) -> Fraction:
        """Return the chance that any of k given records is in it, rounded up."""
        missed = 1.0 - self.numerator / ONE
        return min(Fraction(1), Fraction(1 - missed**k) + Fraction(k + 8, 2**50))

    def draw(self, n: int, coins: Coins) -> Integers:
        return np.flatnonzero(coins.flip(np.full(n, self.numerator, dtype=np.int64)))


Subset = FixedSize | EachByCoin
