"""A privacy loss as a value: Renyi divergences at several orders, plus a delta."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Self

from mapl.accounting.conversion import epsilon_of_moment
from mapl.errors import InvalidParameter

ORDERS: tuple[float, ...] = (
    *(1.25, 1.5, 1.75, 2.0, 2.25, 2.5, 2.75, 3.0, 3.5, 4.0, 4.5, 5.0, 5.5, 6.0, 6.5, 7.0, 7.5, 8.0),
    *(9.0, 10.0, 11.0, 12.0, 13.0, 14.0, 16.0, 18.0, 20.0, 24.0, 28.0, 32.0, 40.0, 48.0, 64.0, 96.0, 128.0),
)
"""The common grid; a mechanism adds the order it was designed for."""


@dataclass(frozen=True)
class Loss:
    """Renyi divergence bounds ``order -> R(order)`` and a delta, for one neighbouring relation.

    A loss says nothing about orders it does not name. Adding two losses keeps the orders both name;
    an order of infinity bounds the largest log-ratio (pure differential privacy).

    Examples
    --------
    >>> (Loss.pure(0.1) * 3).epsilon(0.0) < 0.3000001
    True
    """

    divergences: tuple[tuple[float, float], ...]
    delta: float = 0.0

    def __post_init__(self) -> None:
        if not self.delta >= 0:
            raise InvalidParameter(f"A loss has a delta of at least 0; got {self.delta}.")
        for order, value in self.divergences:
            if not (order > 1 and value >= 0):
                raise InvalidParameter(
                    f"A loss names orders above 1 and divergences of at least 0; got {order}, {value}."
                )

    @classmethod
    def of(cls, divergences: Mapping[float, float], delta: float = 0.0) -> Self:
        """Make a loss of the finite entries of a mapping from order to divergence."""
        return cls(tuple(sorted((a, r) for a, r in divergences.items() if math.isfinite(r))), delta)

    @classmethod
    def curve(
        cls, divergence: Callable[[float], float], orders: Iterable[float] = ORDERS, delta: float = 0.0
    ) -> Self:
        """Make a loss by evaluating a divergence on a grid of orders."""
        return cls.of({a: divergence(a) for a in orders}, delta)

    @classmethod
    def nothing(cls, orders: Iterable[float] = (*ORDERS, math.inf)) -> Self:
        """Return the loss of releasing nothing, at the given orders; a sum keeps only those."""
        return cls.of(dict.fromkeys(orders, 0.0))

    @classmethod
    def everything(cls) -> Self:
        """Return the loss of releasing the data: no order bounds it."""
        return cls((), 1.0)

    @classmethod
    def pure(cls, epsilon: float, orders: Iterable[float] = ORDERS) -> Self:
        """Return the loss of any epsilon-DP release: no worse than randomised response with that epsilon."""
        return cls.of({**{a: _randomised_response(epsilon, a) for a in orders}, math.inf: epsilon})

    @classmethod
    def zcdp(cls, rho: float, orders: Iterable[float] = ORDERS) -> Self:
        """Return the loss of a rho-zCDP release: R(a) <= rho a."""
        return cls.curve(lambda a: rho * a, orders)

    @cached_property
    def _by_order(self) -> dict[float, float]:
        return dict(self.divergences)

    def at(self, order: float) -> float:
        """Return the divergence bound at an order, or infinity where there is none."""
        return self._by_order.get(order, math.inf)

    def __add__(self, other: Loss) -> Loss:
        mine, theirs = self._by_order, other._by_order
        # One part in 10^15 covers the rounding of the sum itself.
        total = {a: (mine[a] + theirs[a]) * (1 + 1e-15) for a in mine if a in theirs}
        return Loss.of(total, (self.delta + other.delta) * (1 + 1e-15))

    def __mul__(self, times: int) -> Loss:
        if isinstance(times, bool) or times != int(times) or times < 0:
            raise InvalidParameter(f"A loss repeats a whole number of times, at least 0; got {times}.")
        return Loss.of(
            {a: r * int(times) * (1 + 1e-15) for a, r in self.divergences}, self.delta * int(times) * (1 + 1e-15)
        )

    __rmul__ = __mul__

    def epsilon(self, delta: float) -> float:
        """Return the smallest epsilon that some order guarantees at `delta`; infinity if none does."""
        if not self.divergences or self.delta > delta:
            return math.inf
        if not any(r > 0 for _, r in self.divergences):
            return 0.0
        rest = delta - self.delta
        return min(r if math.isinf(a) else epsilon_of_moment((a - 1) * r, rest, a) for a, r in self.divergences)

    def best_order(self, delta: float) -> float:
        """Return the order whose conversion `epsilon` reports."""
        if not self.divergences:
            raise InvalidParameter("A loss that no order bounds has no best order.")
        return min(self.divergences, key=lambda entry: Loss((entry,), self.delta).epsilon(delta))[0]


def _randomised_response(epsilon: float, order: float) -> float:
    """Renyi divergence between the two answers' laws of epsilon-DP randomised response."""
    if epsilon * order > 500:
        return epsilon
    # (e^(a eps) + e^((1-a) eps)) / (1 + e^eps), written so that small epsilon keeps its digits.
    excess = (math.expm1(order * epsilon) + math.expm1((1 - order) * epsilon) - math.expm1(epsilon)) / (
        1 + math.exp(epsilon)
    )
    return min(epsilon, math.log1p(max(excess, 0.0)) / (order - 1) * (1 + 1e-12) + 1e-18)
