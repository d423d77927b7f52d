"""A model of how ladders stop: before the published outcomes' public prices exceed the capacity.

If every outcome o has a price k(o) with ``sum_o p_o^a q_o^(1-a) e^(-k(o)) <= 1`` for all neighbouring
pairs, then a run that always stops before the prices sum past B has log-moment at most B, whatever an
adaptive adversary asks. Proof: docs/proofs/accounting.md (Lemma 1).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import isfinite

from mapl.errors import InvalidParameter


@dataclass(frozen=True)
class PricedOutcomes:
    """Prices of outcomes in log-moment units at one order, and the capacity they are paid from.

    All sums are exact rationals of the given floats, so that a million tiny prices are never lost.

    Examples
    --------
    >>> filter = PricedOutcomes(order=8.0, capacity=1.0, prices={"answer": 0.0, "abstain": 0.4})
    >>> filter.affords({"answer": 10**9, "abstain": 2}), filter.affords({"abstain": 3})
    (True, False)
    """

    order: float
    capacity: float
    prices: Mapping[str, float]

    def __post_init__(self) -> None:
        for name, price in self.prices.items():
            if not (price >= 0 and isfinite(price)):
                raise InvalidParameter(
                    f"The price of outcome {name!r} is {price}; it must be finite and at least 0."
                )

    def total(self, counts: Mapping[str, int]) -> Fraction:
        """Return the exact sum of the prices of the counted outcomes."""
        return sum((Fraction(self.prices[name]) * n for name, n in counts.items()), Fraction(0))

    def affords(self, counts: Mapping[str, int]) -> bool:
        """Say whether the counted outcomes together stay within the capacity."""
        return isfinite(self.capacity) and self.total(counts) <= Fraction(self.capacity)

    def most(self, outcome: str) -> int | None:
        """Return how many times an outcome may occur alone, or None if it is free."""
        price = Fraction(self.prices[outcome])
        if not isfinite(self.capacity):
            return 0
        return None if price == 0 else max(0, int(Fraction(self.capacity) // price))
