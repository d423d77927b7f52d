"""What a budget pays for, estimated: ladders traced without certificate, noisy answers at their limiting cost."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from mapl.accounting import ORDERS, capacity
from mapl.errors import CannotCalibrate
from mapl.mechanisms.votes.ladder import usual_orders
from mapl.planning.choosing.quick_ladders import QuickLadders
from mapl.types import Budget


@dataclass(frozen=True, slots=True)
class EstimatedPrices:
    """What one budget pays for: traced ladders of several limits, and the zCDP of all noisy answers together."""

    ladders: QuickLadders
    with_fallback: QuickLadders
    rho: float

    @classmethod
    def of(cls, budget: Budget, limits: tuple[int, ...]) -> EstimatedPrices:
        """Price the given limits on abstentions. An abstention that is answered after all costs twice."""
        return _prices(float(budget.epsilon), float(budget.delta), limits)


@lru_cache(maxsize=256)
def _prices(epsilon: float, delta: float, limits: tuple[int, ...]) -> EstimatedPrices:
    budget = Budget(epsilon, delta)
    # Small budgets are best spent at higher orders than the common grid has.
    rho = max(capacity(epsilon, delta, a) / (a * (a - 1)) for a in (*ORDERS, *usual_orders(budget).tolist()))
    if rho <= 0:
        raise CannotCalibrate(f"epsilon {epsilon:g} at delta {delta:g} pays for no noisy answer; raise the budget.")
    return EstimatedPrices(QuickLadders.of(budget, limits), QuickLadders.of(budget, [2 * t for t in limits]), rho)


def affordable_prices(budget: Budget, limits: tuple[int, ...]) -> EstimatedPrices | None:
    """Return the prices of a budget, None where it can pay for nothing."""
    try:
        return EstimatedPrices.of(budget, limits)
    except CannotCalibrate:
        return None
