"""Shares of a budget: what trying methods costs, what choosing among them, and what is left for the winner."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from mapl.types import Budget

TRYING, CHOOSING = 0.2, 0.03
"""The shares of epsilon for trying all methods and for choosing one; the winner has the rest.

By a few trials on train splits (docs/measured/learn.md). Every unit takes part in all three, because methods such
as cells need many records more than they need a large epsilon."""


@dataclass(frozen=True, slots=True)
class BudgetShares:
    """What each method may spend where it is tried, what the choice costs, and what the winner may spend.

    Whatever wins, these add up to no more than the whole budget, as exact fractions.
    """

    tried: tuple[Budget, ...]
    choice: float
    winner: Budget


def share_selection_budget(budget: Budget, weights: Sequence[int], takes_delta: Sequence[bool]) -> BudgetShares:
    """Share a budget among methods that are tried, a choice, and one winner.

    Parameters
    ----------
    weights
        How much of what trying costs each method gets, in proportion.
    takes_delta
        Which methods have a use for delta; these share it where they are tried.

    >>> shares = share_selection_budget(Budget(1.0, 1e-6), (1, 3), (True, False))
    >>> [round(one.epsilon, 6) for one in shares.tried], shares.choice, round(shares.winner.epsilon, 6)
    ([0.05, 0.15], 0.03, 0.77)
    """
    whole, trying = sum(weights), TRYING * budget.epsilon
    parts = [trying * weight / whole for weight in weights]
    choice = CHOOSING * budget.epsilon
    delta = TRYING * budget.delta / max(1, sum(takes_delta))
    deltas = [delta if takes else 0.0 for takes in takes_delta]
    return BudgetShares(
        tuple(map(Budget, parts, deltas)),
        choice,
        Budget(_rest(budget.epsilon, [*parts, choice]), _rest(budget.delta, deltas)),
    )


def _rest(whole: float, parts: Sequence[float]) -> float:
    """Return what parts leave of the whole, rounded down."""
    exact = Fraction(whole) - sum(map(Fraction, parts))
    rest = float(exact)
    return rest if Fraction(rest) <= exact else math.nextafter(rest, 0.0)
