"""Three parts of the units: one on which methods are tried, one that judges their students, and all others."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from mapl.data.tables.private_rows import PrivateRows
from mapl.data.tables.table import PrivateTable
from mapl.data.units.identities import Identities
from mapl.data.units.shards import ShardKey, Shards, divide
from mapl.errors import GuaranteeBroken
from mapl.pipeline.choice.judgement import Judgement
from mapl.pipeline.counts.one_record import keep_one_record
from mapl.pipeline.request import Request
from mapl.pipeline.votes.labelling import identify_units
from mapl.students.student import Student
from mapl.types import Adjacency, Integers, Labels

PILOT, JUDGES = 0.2, 0.05
"""The shares of the units on which methods are tried, and of those who choose; the others are the winner's.

By a few trials on train splits (docs/learn.md): a pilot of a tenth ranks cells too low, which need many records,
and every unit that tries or chooses is one that the winner lacks."""

PURPOSE = "selection"


def share_of(n_units: int | None, share: float) -> int | None:
    """Return about how many of a declared number of units a part has, None where none was declared.

    >>> share_of(1000, PILOT)
    200
    """
    return None if n_units is None else max(1, round(share * n_units))


PLACES = 256
"""How many rows a student is always handed at once, whatever the number of units."""


@dataclass(frozen=True, slots=True, repr=False)
class SetAside:
    """One record of each unit that judges, and its place among the rows that a student is handed at once.

    Matrix products round a row otherwise in another place or among another number of rows, and a prediction on the
    border would change with them. So the number is fixed, and the place is a keyed hash of the record itself: what
    is predicted for a unit does not depend on any other unit.
    """

    rows: PrivateRows
    labels: Labels
    places: Integers

    @classmethod
    def of(cls, table: PrivateTable, request: Request, key: ShardKey) -> Self:
        """Take one record of each unit of a table; where there are no ids every record is a unit of its own."""
        records = keep_one_record(table, request, key)
        # A record is as good as an id here: it depends on its unit alone, and two units may share a place.
        places = Shards(key, PLACES).of(records.rows.contents())
        return cls(records.rows, records.labels, places)

    def right(self, student: Student | None, judgement: Judgement | None = None) -> int:
        """Count the units whose label a student predicts, or their points; without a student none. Private."""
        if student is None:
            return 0
        judgement = Judgement() if judgement is None else judgement
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a warning could quote a private row
            return sum(self._right(student, members, judgement) for members in self._batches())

    def _batches(self) -> Iterator[Integers]:
        """Yield units, at most one for each place, until all had their turn."""
        order = np.argsort(self.places, kind="stable")
        sizes = np.bincount(self.places, minlength=PLACES)
        turn = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        for number in range(int(sizes.max())):
            yield order[turn == number]

    def _right(self, student: Student, members: Integers, judgement: Judgement) -> int:
        handed = np.full(PLACES, members[0])  # whose row fills the places left over does not matter
        handed[self.places[members]] = members
        try:
            points = judgement.points(student, self.rows.take(handed).open(), self.labels[handed])
        except Exception:
            # Whoever makes a student fail must not make it fail for others, and no message may quote a row.
            if len(members) > 1:
                return sum(self._right(student, members[i : i + 1], judgement) for i in range(len(members)))
            return 0
        return int(points[self.places[members]].sum())

    def __repr__(self) -> str:
        return "SetAside(private)"


class ThreeParts(NamedTuple):
    """The rows of three disjoint parts of the units. Private."""

    pilot: PrivateTable
    judges: PrivateTable
    others: PrivateTable


def part_units(table: PrivateTable, key: ShardKey, adjacency: Adjacency) -> ThreeParts:
    """Return the rows of the units on which methods are tried, of those who judge, and of all others."""
    ids = identify_units(table, adjacency)
    parts = divide(ids, key, (PILOT, JUDGES), PURPOSE)
    refuse_shared(ids, parts)
    return ThreeParts(*(table.take(np.flatnonzero(parts == number)) for number in range(3)))


def refuse_shared(ids: Identities, parts: NDArray[np.int8]) -> None:
    """Check on identities that no unit is in two parts."""
    order, same_unit = ids.grouped()
    if (same_unit & (np.diff(parts[order]) != 0)).any():
        raise GuaranteeBroken(
            "The rows of one privacy unit would be in two parts of the units, so it would be paid for twice and "
            "the promise would be void. Nothing was released. Do not change a table or its ids while it is used."
        )
