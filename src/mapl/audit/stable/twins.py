"""Stable queries in small, from the real code, and broken twins of them: one well-known mistake each."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from mapl.audit.finding import Finding
from mapl.audit.stable.contract import Query, SmallTables, TinyTable, stable_contract
from mapl.data.tables.private_rows import PrivateRows
from mapl.data.tables.rows import n_rows
from mapl.data.units.bags import Bagged, Bags, Partitions, Subsamples
from mapl.data.units.identities import Identities
from mapl.data.units.shards import ShardKey
from mapl.errors import InvalidParameter
from mapl.release.queries.leader import leader
from mapl.release.queries.subsample import Aggregated, values_of
from mapl.types import Adjacency, Budget

KEY = ShardKey(bytes(range(32)))
N_BAGS, OCCURRENCES = 12, 2
SUBSAMPLES = Subsamples(KEY, 12, 0.15, 3)
"""A unit is in 1.8 bags on average; the cap of 3 binds for some."""


def anybody(rows: Any) -> bool:
    """Tell whether anybody in a bag says 1: a function that one unit can turn over."""
    return bool((rows == 1).any())


def put_in_bags(table: TinyTable, bags: Bags) -> Bagged:
    """Put a small table into bags."""
    rows = np.array([[said] for _, said in table], dtype=np.int64).reshape(-1, 1)
    return Bagged((PrivateRows(rows),), Identities.gathered([[unit.encode() for unit, _ in table]]), bags)


def shards_query(table: TinyTable) -> tuple[Any, int]:
    """Aggregate over disjoint shards."""
    return Aggregated("anybody", anybody)(put_in_bags(table, Partitions(KEY, 6)))


def bags_query(table: TinyTable) -> tuple[Any, int]:
    """Aggregate over bags of which every unit is in two."""
    return Aggregated("anybody", anybody)(put_in_bags(table, Partitions(KEY, N_BAGS, OCCURRENCES)))


def subsamples_query(table: TinyTable) -> tuple[Any, int]:
    """Aggregate over random subsamples, with a cap on how many of them a unit is in."""
    return Aggregated("anybody", anybody)(put_in_bags(table, SUBSAMPLES))


def counts_query(moves: int) -> Query:
    """Ask what most units say."""
    return lambda table: leader(Counter(said for _, said in table), moves=moves)


HONEST: dict[str, Query] = {
    "shards": shards_query,
    "bags": bags_query,
    "subsamples": subsamples_query,
    "counts": counts_query(1),
}


def _counts(table: TinyTable, bags: Bags) -> Counter[bool]:
    return Counter(values_of(anybody, put_in_bags(table, bags)))


def gap_minus_one(table: TinyTable) -> tuple[Any, int]:
    """Take max(0, gap - 1), as BTT18's Algorithm 2 is printed."""
    return leader(_counts(table, Partitions(KEY, 8)), moves=1)


def without_occurrences(table: TinyTable) -> tuple[Any, int]:
    """Forget that a unit is in s bags."""
    return leader(_counts(table, Partitions(KEY, N_BAGS, OCCURRENCES)), moves=2)


def round_distance_up(table: TinyTable) -> tuple[Any, int]:
    """Take ceil(gap / 2s) without the minus one."""
    counts, moves = _counts(table, Partitions(KEY, N_BAGS, OCCURRENCES)), 2 * OCCURRENCES
    top, second = (*sorted(counts.values(), reverse=True), 0)[:2]
    return leader(counts, moves=moves)[0], -(-(top - second) // moves)


def by_position(table: TinyTable) -> tuple[Any, int]:
    """Cut the table into four pieces of nearly the same size: without the first row all others move up."""
    pieces = np.array_split([said for _, said in table], 4)
    return leader(Counter(len(set(piece.tolist())) == 1 for piece in pieces), moves=2)


def leave_cap_away(table: TinyTable) -> tuple[Any, int]:
    """Pay for as many subsamples as a unit is in on average, and leave the cap away."""
    whole = Subsamples(KEY, SUBSAMPLES.n_bags, SUBSAMPLES.share, SUBSAMPLES.n_bags)
    return leader(_counts(table, whole), moves=2 * 2)


def leave_failing_bags_out(table: TinyTable) -> tuple[Any, int]:
    """Leave bags out on which the function fails, and divide by how many are left."""
    bags = put_in_bags(table, Partitions(KEY, 8))
    said = [anybody(*bags.bag(k)) for k in range(8) if n_rows(bags.bag(k)[0])]
    winner, distance = leader(Counter(said), moves=2)
    return winner, distance * 8 // max(1, len(said))


def count_replaced_as_removed(table: TinyTable) -> tuple[Any, int]:
    """Count units as if one could only come or go, where one may be replaced."""
    return counts_query(1)(table)


@dataclass(frozen=True, slots=True)
class StableMistake:
    """A broken query, and for which neighbours it is broken."""

    summary: str
    query: Query
    adjacency: Literal["add-remove", "replace-one"] = "add-remove"
    crowd: SmallTables = field(default_factory=SmallTables)


TWINS: dict[str, StableMistake] = {
    "gap-minus-one": StableMistake("distance gap - 1 where a vote moves the gap by two", gap_minus_one),
    "without-occurrences": StableMistake("distance over 2 where a unit is in s bags", without_occurrences),
    "rounded-up": StableMistake(
        "distance ceil(gap / 2s), which is not zero where values change", round_distance_up
    ),
    "by-position": StableMistake("bags by the number of a row", by_position, crowd=SmallTables(tuple("abcdefgh"))),
    "uncapped": StableMistake("subsamples at the price of the average number of a unit's bags", leave_cap_away),
    "failing-left-out": StableMistake("bags without a value left out", leave_failing_bags_out),
    "replaced-as-removed": StableMistake(
        "a replaced unit at the price of a removed one", count_replaced_as_removed, "replace-one"
    ),
}


def honest(adjacency: Adjacency) -> dict[str, Query]:
    """Return the honest queries for these neighbours; a replaced unit moves counts by two."""
    return HONEST if adjacency == "add-remove" else {**HONEST, "counts": counts_query(2)}


def examine_stable_queries(budget: Budget, *, adjacency: Adjacency, twin: str | None = None) -> Finding:
    """Audit all honest stable queries, or a broken one, on every table of a small crowd; return the worst."""
    if adjacency == "labels":
        raise InvalidParameter("Stable queries are about whole units; choose add-remove or replace-one.")
    if budget.delta == 0:
        raise InvalidParameter("delta is 0; a stable answer needs a positive delta, for example 1e-6.")
    if twin is None:
        found = {
            name: stable_contract(query, adjacency=adjacency, budget=budget)
            for name, query in honest(adjacency).items()
        }
    else:
        wrong = TWINS[twin]
        # A mistake shows for the neighbours that it is a mistake about.
        found = {twin: stable_contract(wrong.query, adjacency=wrong.adjacency, crowd=wrong.crowd, budget=budget)}
    name, worst = max(found.items(), key=lambda one: (one[1].violated, one[1].found_delta_lower))
    return replace(
        worst, mechanism="stable-query", details={**worst.details, "queries": list(found), "worst": name}
    )
