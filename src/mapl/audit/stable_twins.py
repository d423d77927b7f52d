"""Stable queries in small, from the real code, and broken twins of them: one well-known mistake each."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from mapl.audit.stable_contract import Crowd, Query, Table
from mapl.data.bags import Bagged, Bags, Partitions, Subsamples
from mapl.data.identities import Identities
from mapl.data.shards import ShardKey
from mapl.release.leader import leader
from mapl.release.subsample import Aggregated, values_of

KEY = ShardKey(bytes(range(32)))
N_BAGS, OCCURRENCES = 12, 2
SUBSAMPLES = Subsamples(KEY, 12, 0.15, 3)
"""A unit is in 1.8 bags on average; the cap of 3 binds for some."""


def anybody(rows: Any) -> bool:
    """Tell whether anybody in a bag says 1: a function that one unit can turn over."""
    return bool((rows == 1).any())


def bagged(table: Table, bags: Bags) -> Bagged:
    """Put a small table into bags."""
    rows = np.array([[said] for _, said in table], dtype=np.int64).reshape(-1, 1)
    return Bagged((rows,), Identities.gathered([[unit.encode() for unit, _ in table]]), bags)


def shards_query(table: Table) -> tuple[Any, int]:
    """Aggregate over disjoint shards."""
    return Aggregated("anybody", anybody)(bagged(table, Partitions(KEY, 6)))


def bags_query(table: Table) -> tuple[Any, int]:
    """Aggregate over bags of which every unit is in two."""
    return Aggregated("anybody", anybody)(bagged(table, Partitions(KEY, N_BAGS, OCCURRENCES)))


def subsamples_query(table: Table) -> tuple[Any, int]:
    """Aggregate over random subsamples, with a cap on how many of them a unit is in."""
    return Aggregated("anybody", anybody)(bagged(table, SUBSAMPLES))


def counts_query(moves: int) -> Query:
    """Ask what most units say."""
    return lambda table: leader(Counter(said for _, said in table), moves=moves)


HONEST: dict[str, Query] = {
    "shards": shards_query,
    "bags": bags_query,
    "subsamples": subsamples_query,
    "counts": counts_query(1),
}


def _counts(table: Table, bags: Bags) -> Counter[bool]:
    return Counter(values_of(anybody, bagged(table, bags)))


def gap_minus_one(table: Table) -> tuple[Any, int]:
    """Take max(0, gap - 1), as BTT18's Algorithm 2 is printed."""
    return leader(_counts(table, Partitions(KEY, 8)), moves=1)


def without_occurrences(table: Table) -> tuple[Any, int]:
    """Forget that a unit is in s bags."""
    return leader(_counts(table, Partitions(KEY, N_BAGS, OCCURRENCES)), moves=2)


def rounded_up(table: Table) -> tuple[Any, int]:
    """Take ceil(gap / 2s) without the minus one."""
    counts, moves = _counts(table, Partitions(KEY, N_BAGS, OCCURRENCES)), 2 * OCCURRENCES
    top, second = (*sorted(counts.values(), reverse=True), 0)[:2]
    return leader(counts, moves=moves)[0], -(-(top - second) // moves)


def by_position(table: Table) -> tuple[Any, int]:
    """Cut the table into four pieces of nearly the same size: without the first row all others move up."""
    pieces = np.array_split([said for _, said in table], 4)
    return leader(Counter(len(set(piece.tolist())) == 1 for piece in pieces), moves=2)


def uncapped(table: Table) -> tuple[Any, int]:
    """Pay for as many subsamples as a unit is in on average, and leave the cap away."""
    whole = Subsamples(KEY, SUBSAMPLES.n_bags, SUBSAMPLES.share, SUBSAMPLES.n_bags)
    return leader(_counts(table, whole), moves=2 * 2)


def failing_bags_left_out(table: Table) -> tuple[Any, int]:
    """Leave bags out on which the function fails, and divide by how many are left."""
    bags = bagged(table, Partitions(KEY, 8))
    said = [anybody(*bags.bag(k)) for k in range(8) if len(bags.bag(k)[0])]
    winner, distance = leader(Counter(said), moves=2)
    return winner, distance * 8 // max(1, len(said))


def replaced_as_removed(table: Table) -> tuple[Any, int]:
    """Count units as if one could only come or go, where one may be replaced."""
    return counts_query(1)(table)


@dataclass(frozen=True, slots=True)
class Mistake:
    """A broken query, and for which neighbours it is broken."""

    summary: str
    query: Query
    adjacency: Literal["add-remove", "replace-one"] = "add-remove"
    crowd: Crowd = field(default_factory=Crowd)


TWINS: dict[str, Mistake] = {
    "gap-minus-one": Mistake("distance gap - 1 where a vote moves the gap by two", gap_minus_one),
    "without-occurrences": Mistake("distance over 2 where a unit is in s bags", without_occurrences),
    "rounded-up": Mistake("distance ceil(gap / 2s), which is not zero where values change", rounded_up),
    "by-position": Mistake("bags by the number of a row", by_position, crowd=Crowd(tuple("abcdefgh"))),
    "uncapped": Mistake("subsamples at the price of the average number of a unit's bags", uncapped),
    "failing-left-out": Mistake("bags without a value left out", failing_bags_left_out),
    "replaced-as-removed": Mistake(
        "a replaced unit at the price of a removed one", replaced_as_removed, "replace-one"
    ),
}
