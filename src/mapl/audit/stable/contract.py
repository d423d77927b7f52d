"""The contract of a stable query, on every small table and all its neighbours, and what breaking it gives away."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any, Literal

from mapl.audit.counts.tables import below_exp
from mapl.audit.finding import Finding, Verdict
from mapl.errors import InvalidParameter
from mapl.mechanisms import Task
from mapl.mechanisms.papers.stable_once import StableOnce
from mapl.noise import ONE
from mapl.planning.plan import canonical
from mapl.release.statement.promise import promise_of
from mapl.types import Budget

TinyTable = tuple[tuple[str, Any], ...]
"""Units and what each of them says, in the order of their names."""
Query = Callable[[TinyTable], tuple[Any, int]]

MOST_TABLES = 20_000
NEGLIGIBLE = Fraction(1, 2**120)
"""How much less than e^epsilon is taken for it."""


@dataclass(frozen=True, slots=True)
class SmallTables:
    """Some units, of which any may be absent, and all that one of them can say."""

    units: tuple[str, ...] = ("ann", "bob", "cai", "dee", "eva", "fay")
    contents: tuple[Any, ...] = (0, 1)

    def tables(self) -> Iterator[TinyTable]:
        """Return every table."""
        absent = object()
        number = (len(self.contents) + 1) ** len(self.units)
        if number > MOST_TABLES:
            raise InvalidParameter(
                f"There are {number:,} tables; an exhaustive audit takes {MOST_TABLES:,} at most."
            )
        for said in product((absent, *self.contents), repeat=len(self.units)):
            yield tuple((unit, one) for unit, one in zip(self.units, said, strict=True) if one is not absent)

    def neighbours(self, adjacency: Literal["add-remove", "replace-one"]) -> Iterator[tuple[TinyTable, TinyTable]]:
        """Return every pair of tables that differ in one unit, once."""
        for table in self.tables():
            for i, (unit, _) in enumerate(table):
                others = (*table[:i], *table[i + 1 :])
                if adjacency == "add-remove":
                    yield table, others
                else:
                    for said in self.contents[self.contents.index(table[i][1]) + 1 :]:
                        yield table, (*table[:i], (unit, said), *table[i + 1 :])


def stable_contract(
    query: Query,
    *,
    adjacency: Literal["add-remove", "replace-one"] = "add-remove",
    crowd: SmallTables | None = None,
    budget: Budget | None = None,
) -> Finding:
    """Check that a query's distance moves by at most one between neighbours, and is zero where its values differ.

    Beside it stands what one answer of `stable-once` would give away, in exact fractions: an adversary's delta at
    the claimed epsilon. A query that breaks the contract without exceeding the budget here is still refused.
    """
    crowd, budget = SmallTables() if crowd is None else crowd, Budget(1.0, 0.01) if budget is None else budget
    mechanism = StableOnce.for_task(Task(budget, 10_000, 2, 1))
    excess = _excess(mechanism, budget.epsilon)
    replies = {table: query(table) for table in crowd.tables()}
    breaches: dict[str, tuple[TinyTable, TinyTable]] = {}
    worst, n_pairs = Fraction(0), 0
    for one, other in crowd.neighbours(adjacency):
        n_pairs += 1
        (value, distance), (elsewhere, its_distance) = replies[one], replies[other]
        if abs(distance - its_distance) > 1:
            breaches.setdefault("the distance moves by more than one", (one, other))
        same = canonical(value) == canonical(elsewhere)
        if not same and (distance or its_distance):
            breaches.setdefault("the values differ at a distance above zero", (one, other))
        worst = max(worst, excess(same, distance, its_distance), excess(same, its_distance, distance))
    exceeded = worst > Fraction(budget.delta) + NEGLIGIBLE
    promise = promise_of(adjacency, "person")
    return Finding(
        mechanism=mechanism.name,
        epsilon=budget.epsilon,
        delta=budget.delta,
        found_delta_lower=float(worst),
        found_delta_upper=float(worst),
        renyi_order=None,
        renyi_claimed=None,
        renyi_found=None,
        certified=not breaches,
        verdict=Verdict.violated if breaches or exceeded else Verdict.within,
        questions=1,
        details={
            "exceeded": [*breaches, *(["delta"] if exceeded else [])],
            "tables": len(replies),
            "changes": n_pairs,
            "farthest": max(distance for _, distance in replies.values()),
            "witness": {why: [list(map(list, table)) for table in pair] for why, pair in breaches.items()},
        },
        adjacency=promise.adjacency,
        unit=promise.unit,
    )


def _excess(mechanism: StableOnce, epsilon: float) -> Callable[[bool, int, int], Fraction]:
    """Return what an adversary gains at epsilon from one answer, read off the integers that decide."""
    numerators, factor = mechanism.rungs.numerators, below_exp(epsilon)

    @cache
    def excess(same: bool, distance: int, its_distance: int) -> Fraction:
        p, q = (Fraction(int(numerators[min(d, len(numerators) - 1)]), ONE) for d in (distance, its_distance))
        answered = p - factor * q if same else p
        return max(Fraction(0), answered) + max(Fraction(0), (1 - p) - factor * (1 - q))

    return excess
