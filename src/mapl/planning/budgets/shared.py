"""Several mechanisms about the same people within one budget, priced together and not one by one."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from operator import add

from mapl.errors import InvalidParameter, MaplError
from mapl.mechanisms import AnyMechanism
from mapl.types import Budget, State

TRIES = 6
CLOSE_ENOUGH = 0.99
"""The search ends when all mechanisms together cost at least this share of the budget."""


@dataclass(frozen=True, slots=True)
class Shared:
    """Mechanisms that are all carried out, and what each of them would cost if it were alone.

    Priced by the sum of all losses where they are ``composed``, else by the sum of what each costs alone. Both are
    sound.
    """

    mechanisms: tuple[AnyMechanism, ...]
    alone: tuple[Budget, ...]
    composed: bool

    def epsilon(self, states: Sequence[State] | None, delta: float) -> float:
        """Return epsilon at `delta` of what was published so far, or of everything if None."""
        ends = [None] * len(self.mechanisms) if states is None else list(states)
        each = list(zip(self.mechanisms, ends, self.alone, strict=True))
        if self.composed:
            losses = [one.total if end is None else one.spent(end) for one, end, _ in each]
            return reduce(add, losses).epsilon(delta)
        if sum(Fraction(own.delta) for own in self.alone) > Fraction(delta):
            return math.inf
        return math.fsum(one.epsilon(end, own.delta) for one, end, own in each) * (1 + 1e-15)


def share_budget(budget: Budget, weights: Sequence[float], make: Callable[[int, Budget], AnyMechanism]) -> Shared:
    """Calibrate mechanisms so that all of them together cost the budget, in the proportions of the weights.

    Privacy losses of n equal releases add up like the square root of n as long as they are small. So each mechanism
    may cost more than its share of epsilon; how much more is searched for, and what is found is priced exactly.

    Parameters
    ----------
    weights
        How the epsilons of the mechanisms, each alone, relate to one another. Public.
    make
        Calibrates the mechanism of a number for what it may cost alone.
    """
    parts = proportions(weights)
    delta = budget.delta / len(parts)
    while len(parts) * Fraction(delta) > Fraction(budget.delta):
        delta = math.nextafter(delta, 0)

    def at(factor: float, *, composed: bool) -> Shared:
        alone = tuple(Budget(min(1.0, part * factor) * budget.epsilon, delta) for part in parts)
        # Mechanisms of the same budget are alike, and calibrating one takes a while.
        found = {own: make(j, own) for own, j in {own: j for j, own in enumerate(alone)}.items()}
        return Shared(tuple(found[own] for own in alone), alone, composed)

    best, most = None, 0.0
    factor = 1 / math.sqrt(math.fsum(part * part for part in parts)) if len(parts) > 1 else 0.0
    for _ in range(TRIES if factor > 1 else 0):
        try:
            shared = at(factor, composed=True)
        except MaplError:  # a design that no table holds; with less there may be one
            factor *= 0.8
            continue
        used = shared.epsilon(None, budget.delta) / budget.epsilon
        if most < used <= 1:
            best, most = shared, used
        if CLOSE_ENOUGH <= used <= 1 or not math.isfinite(used):
            break
        # What all cost together is about proportional to what each costs.
        factor = min(factor * (1 + CLOSE_ENOUGH) / 2 / used, 1 / min(parts))
    return at(1 - 1e-12, composed=False) if best is None else best


def proportions(weights: Sequence[float]) -> tuple[float, ...]:
    """Return positive weights as shares that add up to one."""
    if not weights or not all(math.isfinite(one) and one > 0 for one in weights):
        raise InvalidParameter("weights must be finite numbers above zero, one for each release.")
    total = math.fsum(weights)
    return tuple(one / total for one in weights)
