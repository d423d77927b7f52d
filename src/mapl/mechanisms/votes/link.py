"""The link: answer every question, with a coin whose bias follows the lead of one class over the other."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Self

import numpy as np
from flint import arb, ctx

from mapl.accounting import ORDERS, Loss, capacity
from mapl.errors import CannotCalibrate, GuaranteeBroken, InvalidParameter
from mapl.mechanisms.mechanism import Parameters, PricedByLoss, Task
from mapl.mechanisms.tables.offset_table import LinkDesign, OffsetTable, two_sided
from mapl.noise import ONE, Coins
from mapl.types import Budget, Floats, Outcome, State, Tallies, positive_integer

GOAL = 0.01
"""Links are designed for the smallest lead at which they err with this probability."""
LAST_ERROR = 1e-7
MOST_OFFSETS = 8_000
LEAST_DIVERGENCE = 1e-10
"""Below this, floating point cannot place a table's entries; it is one part in a billion of a usual budget."""
SLACKS = (1e-9, 1e-7, 1e-5)
"""Tables are built for a divergence this much (relatively) below the claimed one, which pays for the rounding;
the smallest slack whose table passes the exact certificate is taken."""


@dataclass(frozen=True)
class Link(PricedByLoss):
    """Answer each two-class question by a coin whose bias is read from a table at the vote's lead.

    Parameters
    ----------
    table
        Chance of the less likely label by offset from the tie, exact numerators over 2**62. A tie is a
        fair coin.
    n_queries
        m: the run halts after the m-th answer.
    order, divergence
        The Renyi order a that the table was built for and what one answer costs there.

    Notes
    -----
    *Guarantee.* (epsilon, delta)-differential privacy for n_queries adaptively chosen questions.
    Adjacency: one teacher changes its votes arbitrarily; unit: one teacher, hence every record of its
    shard. Theorem 1 of docs/proofs/link.md.
    """

    table: OffsetTable
    n_queries: int
    order: float
    divergence: float

    name: ClassVar[str] = "link"

    @classmethod
    def for_task(cls, task: Task, *, order: float | None = None) -> Self:
        """Build and certify the table that needs the smallest lead for 1% errors within the budget."""
        if task.n_classes != 2:
            raise InvalidParameter(f"There are {task.n_classes} classes; this link answers two-class questions.")
        odd, longest = task.n_teachers % 2 == 1, longest_table(task.n_teachers)
        found = design(task.budget, task.n_queries, odd=odd, longest=longest, order=order)
        table = build_certified_table(found, odd=odd, longest=longest)
        if not affordable(task.budget, task.n_queries, found):
            raise GuaranteeBroken("The link's price failed its exact certificate; nothing was released.")
        return cls(table, task.n_queries, found.order, found.divergence)

    def certify(self, budget: Budget) -> bool:
        """Verify every hypothesis of Theorem 1 from the integers, in ball arithmetic."""
        claim = LinkDesign(self.order, self.divergence)
        return affordable(budget, self.n_queries, claim) and self.table.certified(claim)

    @property
    def parameters(self) -> Parameters:
        return {
            "n_queries": self.n_queries,
            "order": self.order,
            "divergence_per_answer": self.divergence,
            "offsets": len(self.table),
        }

    def start(self, coins: Coins) -> State:
        return State()

    def release(self, state: State, block: Tallies, coins: Coins) -> Outcome:
        left = 0 if state.halted else self.n_queries - state.answered
        asked = block.first(left)
        leads = self.table.leads(asked)
        loses = coins.flip(self.table.at(leads))
        labels = ((leads > 0) ^ loses).astype(np.int32)
        return Outcome(labels, state.after(len(asked), 0, halted=len(asked) >= left))

    def chances(self, block: Tallies, state: State) -> Floats:
        return two_sided(self.table, block)

    @cached_property
    def per_answer(self) -> Loss:
        """The loss of one answer, at the common orders and at the one the table was built for."""
        return Loss.of({**{a: self.table.worst(a) for a in ORDERS}, self.order: self.divergence})

    @property
    def total(self) -> Loss:
        return self.per_answer * self.n_queries

    def spent(self, state: State) -> Loss:
        return self.per_answer * state.answered

    def required_distance(self, probability: float) -> int | None:
        # A winner at distance d leads by at least 2d votes (even K) or 2d + 1 votes (odd K): entry d.
        return self.table.index_for(probability)

    def chance_if_unanimous(self, n_teachers: int, n_classes: int) -> float:
        return 1 - float(self.table.at(np.array([n_teachers]))[0]) / ONE


def longest_table(n_teachers: int) -> int:
    """Return how many offsets K teachers can reach; a table cut there holds its last value, which is sound."""
    return min(n_teachers // 2 + 1, MOST_OFFSETS)


def design(budget: Budget, n_queries: int, *, odd: bool, longest: int, order: float | None = None) -> LinkDesign:
    """Race candidate tables outwards; the first to err with probability 1% or less wins.

    Every candidate is a valid design, so the search can be coarse without being unsafe.
    """
    positive_integer(n_queries=n_queries)
    if budget.delta == 0:
        raise InvalidParameter("delta is 0; this mechanism needs a positive delta, for example 1e-6.")
    if order is not None:
        above_one(order)
        return _candidates(budget, n_queries, np.array([order]))[0]
    scale = math.log(1 / budget.delta) / budget.epsilon
    factors = np.geomspace(0.8, 8, 24)
    winner = _race(_candidates(budget, n_queries, 1 + scale * factors), odd, longest)
    nearby = 1 + (winner.order - 1) * np.geomspace(factors[0], factors[1], 9) / math.sqrt(factors[0] * factors[1])
    return _race(_candidates(budget, n_queries, nearby), odd, longest)


def above_one(order: float) -> None:
    """Refuse a Renyi order at which nothing is priced."""
    if not (math.isfinite(order) and order > 1):
        raise InvalidParameter(f"order is {order}; it must be a finite number above 1.")


def _candidates(budget: Budget, n_queries: int, orders: Floats) -> list[LinkDesign]:
    rooms = {float(a): capacity(budget.epsilon, budget.delta, float(a)) for a in orders}
    designs = [LinkDesign(a, room / (a - 1) / n_queries * (1 - 1e-12)) for a, room in rooms.items()]
    found = [d for d in designs if d.divergence >= LEAST_DIVERGENCE]
    if not found:
        raise CannotCalibrate(
            f"epsilon {budget.epsilon:g} and delta {budget.delta:g} cannot pay for {n_queries} answers at any "
            "order tried; ask fewer questions or raise the budget, and leave the order to mapl."
        )
    return found


def _race(candidates: list[LinkDesign], odd: bool, longest: int) -> LinkDesign:
    order, divergence = (np.array([getattr(d, f) for d in candidates]) for f in ("order", "divergence"))
    final = climb(order, divergence, first_error(order, divergence, odd=odd), longest, GOAL)[-1]
    return candidates[int(np.argmin(final))]


def affordable(budget: Budget, n_queries: int, claim: LinkDesign) -> bool:
    """Verify in ball arithmetic that the capacity of the budget pays for every answer."""
    with ctx.workprec(160):
        a, delta = arb(claim.order), arb(budget.delta)
        room = (a - 1) * arb(budget.epsilon) + delta.log() + a.log() - (a - 1) * (1 - 1 / a).log()
        return bool(n_queries * (a - 1) * arb(claim.divergence) <= room)


def build_certified_table(found: LinkDesign, *, odd: bool, longest: int) -> OffsetTable:
    """Build the greedy table and round its errors up to integers that pass the exact certificate."""
    for slack in SLACKS:
        table = build(LinkDesign(found.order, found.divergence * (1 - slack)), odd=odd, longest=longest)
        if table.certified(found):
            return table
    raise GuaranteeBroken("No rounding of this link passed its exact certificate; nothing was released.")


def build(found: LinkDesign, *, odd: bool, longest: int) -> OffsetTable:
    """Build one greedy table and round it up to integers."""
    order, divergence = np.array([found.order]), np.array([found.divergence])
    logs = climb(order, divergence, first_error(order, divergence, odd=odd), longest, LAST_ERROR)
    # Raising an error towards its neighbour's only brings the two laws closer.
    errors = (math.exp(max(float(x[0]), math.log(LAST_ERROR))) for x in logs)
    return OffsetTable(np.array([min(math.ceil(x * ONE), ONE // 2) for x in errors], dtype=np.int64), odd)


def first_error(order: Floats, divergence: Floats, *, odd: bool) -> Floats:
    """Return the log-error nearest to the tie: ln(1/2) at it, or the least that a lead of one vote allows."""
    high = np.full_like(order, math.log(0.5))
    if not odd:
        return high
    low = np.full_like(order, math.log(LAST_ERROR))
    for _ in range(60):
        middle = (low + high) / 2
        rest = np.log1p(-np.exp(middle))
        # The coin with error e against the same coin with its sides swapped; both orders are equal.
        near = np.logaddexp(order * rest + (1 - order) * middle, order * middle + (1 - order) * rest)
        private = near <= (order - 1) * divergence
        low, high = np.where(private, low, middle), np.where(private, middle, high)
    return high


def climb(order: Floats, divergence: Floats, first: Floats, longest: int, goal: float) -> list[Floats]:
    """Build candidate tables of log-errors side by side until one of them errs with probability `goal` or less."""
    errors = [first]
    guess = _arcsine_step(first, np.sqrt(divergence / (2 * order)))
    while errors[-1].min() > math.log(goal) and len(errors) < longest:
        errors.append(lowest_step(errors[-1], order, divergence, guess))
        guess = 2 * errors[-1] - errors[-2]
    return errors


def _arcsine_step(log_error: Floats, angle: Floats) -> Floats:
    """Move a log-error by the angle that is right in the limit of many questions: a first guess."""
    turned = np.arcsin(np.exp(log_error / 2)) - angle
    return np.where(turned > 0.01, 2 * np.log(np.sin(np.maximum(turned, 0.01))), log_error - 1)


def lowest_step(x: Floats, order: Floats, divergence: Floats, guess: Floats) -> Floats:
    """Return the smallest log-error z below x with ``D(x || z) <= divergence``, for many candidates at once.

    Newton's method on the square root of the divergence, which is almost a straight line in z. For
    errors below one half the other order is the smaller one; the certificate checks both.
    """
    error, rest = np.exp(x), np.log1p(-np.exp(x))
    z = guess
    for _ in range(60):
        other = np.exp(z)
        rise = np.minimum((order - 1) * (x - z), 700)
        fall = (order - 1) * (rest - np.log1p(-other))
        excess = error * np.expm1(rise) + (1 - error) * np.expm1(fall)
        now = np.log1p(excess) / (order - 1)
        slope = (1 - error) * np.exp(fall) * other / (1 - other) - error * np.exp(rise)
        step = np.clip(2 * (now - np.sqrt(divergence * now)) * (1 + excess) / slope, -2, 2)
        z = np.minimum(z - step, x - 1e-13)
        if (np.abs(step) <= 1e-6 * (x - z)).all():
            break
    return z
