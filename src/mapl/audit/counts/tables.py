"""The whole path from records to noisy counts of cells, on every small table and all its neighbours, exactly."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import chain, permutations, product
from typing import Any, Protocol, TypeVar

from numpy.typing import NDArray

from mapl.audit.examine import MOST_EPSILON
from mapl.audit.finding import Finding, Verdict
from mapl.errors import InvalidParameter
from mapl.release.cell_counts import CellCounts
from mapl.release.statement.promise import promise_of
from mapl.types import Adjacency

CountedRecord = tuple[str, float, int]
"""The id of a unit, a point, a label."""
Table = tuple[CountedRecord, ...]
Tabulate = Callable[[Table], tuple[Hashable, NDArray[Any]]]
"""From records to what is told openly about the cells, and the counts that noise is added to."""

MOST_TABLES = 50_000
REMAINDER = 2**-140
"""What is left of e^epsilon's series, at most; a decay is exact to 2^-62."""


class Noise(Protocol):
    """The law of the noise of one count; each has its own."""

    def chance(self, noise: int) -> Fraction: ...


@dataclass(frozen=True, slots=True)
class CellWorld:
    """All that a private record can be, and how many of them a table holds at most."""

    units: tuple[str, ...] = ("ann", "bob")
    points: tuple[float, ...] = (0, 1, 3)
    labels: tuple[int, ...] = (0, 1)
    most: int = 3

    def tables(self) -> Iterator[Table]:
        """Return every table, the order of its rows included."""
        records = list(product(self.units, self.points, self.labels))
        number = sum(len(records) ** n for n in range(self.most + 1))
        if number > MOST_TABLES:
            raise InvalidParameter(
                f"There are {number:,} tables of up to {self.most} records of {len(self.labels)} classes; an "
                f"exhaustive audit takes at most {MOST_TABLES:,}. Audit fewer classes."
            )
        return chain.from_iterable(product(records, repeat=n) for n in range(self.most + 1))


@dataclass(frozen=True, slots=True)
class ToldCounts:
    """What a table turns into before noise is drawn."""

    openly: Hashable
    counts: tuple[int, ...]

    @classmethod
    def of(cls, tabulate: Tabulate, table: Table) -> ToldCounts:
        """Carry the path out; the shape of the counts is as public as what is told openly."""
        openly, counts = tabulate(table)
        return cls((openly, counts.shape), tuple(counts.ravel().tolist()))


@dataclass(frozen=True, slots=True)
class Gap:
    """How far two neighbouring tables are apart: the L1 distance of their counts, and the largest ratio of chances.

    `delta` is what an adversary reaches at the claimed epsilon by betting on all outcomes of that ratio.
    """

    moved: int
    ratio: Fraction | float
    delta: float

    @classmethod
    def told_apart(cls) -> Gap:
        """Return the gap of two tables of which an outcome of one is impossible for the other."""
        return cls(0, math.inf, 1.0)


def audit_cells(
    tabulate: Tabulate,
    claims: CellCounts,
    *,
    adjacency: Adjacency = "add-remove",
    unit: str | None = "person",
    noise: Noise | None = None,
    world: CellWorld | None = None,
) -> Finding:
    """Compare what the noisy counts claim with the exact chances of all outcomes on all neighbouring tables.

    Parameters
    ----------
    tabulate
        What happens to the records before noise is drawn.
    claims
        Whose epsilon and sensitivity are examined.
    unit
        None if every record is a unit of its own, whatever ids it carries.
    noise
        The law that actually runs, if it is not the one of `claims`.
    world
        Which tables are tried.
    """
    if claims.epsilon > MOST_EPSILON:
        raise InvalidParameter(
            f"The claimed epsilon is {claims.epsilon:g}; an audit takes at most {MOST_EPSILON:g}, beyond which "
            "nothing is promised that is worth auditing."
        )
    promise = promise_of(adjacency, unit)
    world = world or CellWorld()
    told = {table: ToldCounts.of(tabulate, table) for table in world.tables()}
    bound = below_exp(claims.epsilon)
    measure = _measure(noise or claims, bound, world.most)
    worst, farthest, n_changes = Gap(0, Fraction(1), 0.0), 0, 0
    witness: tuple[Table, Table] | None = None
    for changes, some in neighbours(told, adjacency, per_record=unit is None):
        n_changes += changes
        for (one, table), (other, neighbour) in some:
            gap = measure(one, other)
            farthest = max(farthest, gap.moved)
            if gap.ratio > worst.ratio:
                worst, witness = gap, (table, neighbour)
    exceeded = {
        "what is told openly differs": math.isinf(worst.ratio),
        "sensitivity": farthest > claims.sensitivity,
        "ratio of chances": worst.ratio > bound,
    }
    broken = [part for part, is_exceeded in exceeded.items() if is_exceeded]
    return Finding(
        mechanism=claims.name,
        epsilon=claims.epsilon,
        delta=0.0,
        found_delta_lower=worst.delta,
        found_delta_upper=None if broken and worst.delta < 1 else worst.delta,
        renyi_order=math.inf,
        renyi_claimed=claims.epsilon,
        renyi_found=_log(worst.ratio),
        certified=not broken,
        verdict=Verdict.violated if broken else Verdict.within,
        questions=1,
        details={
            "exceeded": broken,
            "tables": len(told),
            "changes": n_changes,
            "sensitivity_claimed": claims.sensitivity,
            "sensitivity_found": farthest,
            "witness": [list(map(list, table)) for table in witness] if broken and witness else None,
        },
        adjacency=promise.adjacency,
        unit=promise.unit,
    )


Told = TypeVar("Told")
"""What a table turns into before noise is drawn, and can be looked up by."""
TableFamily = tuple[str | None, tuple[Any, ...]]
"""Who the unit is, and what stays the same whatever becomes of it."""


def neighbours(
    told: dict[Table, Told], adjacency: Adjacency, *, per_record: bool = False
) -> Iterator[tuple[int, Iterator[tuple[tuple[Told, Table], tuple[Told, Table]]]]]:
    """Yield families of neighbouring tables: how many pairs they have, and those that are told apart, both ways.

    A family has in common all that one unit does not own. If the unit may only come or go, every member is a
    neighbour of the table without it; if it may change, any two members are neighbours.
    """
    families: dict[TableFamily, list[Table]] = defaultdict(list)
    for table in told:
        for mine in _owned(table, per_record=per_record):
            families[_family(table, mine, adjacency, per_record=per_record)].append(table)
    for (_, rest), members in families.items():
        # The smallest table is the best example, and those come first.
        seen = {told[table]: table for table in reversed(members)}
        if adjacency == "add-remove":
            without = told[rest], rest
            both = [((one, without), (without, one)) for one in seen.items()]
            yield len(members), chain.from_iterable(both)
        else:
            yield math.comb(len(members), 2), permutations(seen.items(), 2)


def _owned(table: Table, *, per_record: bool) -> list[frozenset[int]]:
    """Return the row numbers of every unit."""
    if per_record:
        return [frozenset([row]) for row in range(len(table))]
    units = dict.fromkeys(record[0] for record in table)
    return [frozenset(row for row, record in enumerate(table) if record[0] == unit) for unit in units]


def _family(table: Table, mine: frozenset[int], adjacency: Adjacency, *, per_record: bool) -> TableFamily:
    who = None if per_record else table[min(mine)][0]
    if adjacency == "labels":
        return who, tuple((*record[:2], None if row in mine else record[2]) for row, record in enumerate(table))
    return who, tuple(record for row, record in enumerate(table) if row not in mine)


def _measure(noise: Noise, bound: Fraction, most: int) -> Callable[[ToldCounts, ToldCounts], Gap]:
    """Return a function from two tables to their gap.

    Counts have independent noise, so the largest ratio is a product over counts. That of one count, by how much it
    differs: the ratio stays the same beyond both counts if the noise is geometric, so outcomes around them are all.
    """
    around = range(-2 * most - 2, 2 * most + 3)
    half = (1 + noise.chance(0)) / 2  # the chance that a count does not move towards the other one

    @cache
    def largest(step: int) -> Fraction:
        return max(noise.chance(k) / noise.chance(k + step) for k in around)

    def measure(one: ToldCounts, other: ToldCounts) -> Gap:
        if one.openly != other.openly:
            return Gap.told_apart()
        steps = [a - b for a, b in zip(one.counts, other.counts, strict=True) if a != b]
        ratio = math.prod((largest(step) for step in steps), start=Fraction(1))
        delta = float(half ** len(steps) * (1 - bound / ratio)) if ratio > bound else 0.0
        return Gap(sum(map(abs, steps)), ratio, delta)

    return measure


def below_exp(epsilon: float) -> Fraction:
    """Return a fraction that is at most e^epsilon, and hardly less: a partial sum of the exponential series."""
    x, term, total, n = Fraction(epsilon), Fraction(1), Fraction(1), 1
    # Once the terms halve, what is left out is less than the last one.
    while n < 2 * x or term > REMAINDER:
        term *= x / n
        total += term
        n += 1
    return total


def _log(ratio: Fraction | float) -> float:
    if isinstance(ratio, float):
        return ratio
    return math.log(ratio.numerator) - math.log(ratio.denominator)
