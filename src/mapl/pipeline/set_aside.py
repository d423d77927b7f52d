"""Units that no method learns from: how many of them a student is right about says how good it is."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from mapl.data.classes import UNKNOWN
from mapl.data.identities import Identities
from mapl.data.rows import Rows, digests, take
from mapl.data.shards import ShardKey, Shards, split
from mapl.data.table import PrivateTable
from mapl.errors import GuaranteeBroken
from mapl.pipeline.label import identities
from mapl.pipeline.one_each import one_each
from mapl.pipeline.request import Adjacency, Request
from mapl.students.student import Student
from mapl.types import Labels

SHARE = 0.2
"""The share of the units that are set aside."""

PURPOSE = "selection"

PLACES = 256
"""How many rows a student is always handed at once, whatever the number of units."""

Numbers = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, repr=False)
class SetAside:
    """One record of each unit that was set aside, and its place among the rows that a student is handed at once.

    Matrix products round a row otherwise in another place or among another number of rows, and a prediction on the
    border would change with them. So the number is fixed, and the place is a keyed hash of the record itself: what
    is predicted for a unit does not depend on any other unit.
    """

    rows: Rows
    labels: Labels
    places: Numbers

    @classmethod
    def of(cls, table: PrivateTable, request: Request, key: ShardKey) -> Self:
        """Take one record of each unit of a table; where there are no ids every record is a unit of its own."""
        records = one_each(table, request, key)
        # A record is as good as an id here: it depends on its unit alone, and two units may share a place.
        places = Shards(key, PLACES).of(Identities.gathered(digests(records.rows, None)))
        return cls(records.rows, records.labels, places)

    def right(self, student: Student | None) -> int:
        """Count the units whose label a student predicts; without a student that is none. Private."""
        if student is None:
            return 0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a warning could quote a private row
            return sum(self._right(student, members) for members in self._batches())

    def _batches(self) -> Iterator[Numbers]:
        """Yield units, at most one for each place, until all had their turn."""
        order = np.argsort(self.places, kind="stable")
        sizes = np.bincount(self.places, minlength=PLACES)
        turn = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        for number in range(int(sizes.max())):
            yield order[turn == number]

    def _right(self, student: Student, members: Numbers) -> int:
        handed = np.full(PLACES, members[0])  # whose row fills the places left over does not matter
        handed[self.places[members]] = members
        try:
            codes = student.predict_codes(take(self.rows, handed))[self.places[members]]
        except Exception:
            # Whoever makes a student fail must not make it fail for others, and no message may quote a row.
            if len(members) > 1:
                return sum(self._right(student, members[i : i + 1]) for i in range(len(members)))
            codes = np.array([UNKNOWN])
        return int(np.count_nonzero(codes == self.labels[members]))

    def __repr__(self) -> str:
        return "SetAside(private)"


def parted(table: PrivateTable, key: ShardKey, adjacency: Adjacency) -> tuple[PrivateTable, PrivateTable]:
    """Return the rows of the units that methods learn from, and those of the units set aside."""
    ids = identities(table, adjacency)
    aside = split(ids, key, SHARE, PURPOSE)
    refuse_shared(ids, aside)
    return _some(table, np.flatnonzero(~aside)), _some(table, np.flatnonzero(aside))


def refuse_shared(ids: Identities, aside: Flags) -> None:
    """Check on identities that no unit is both learned from and set aside."""
    order, same_unit = ids.grouped()
    if (same_unit & (np.diff(aside[order].astype(np.int8)) != 0)).any():
        raise GuaranteeBroken(
            "The rows of one privacy unit would be learned from and set aside, so it would be paid for twice and "
            "the promise would be void. Nothing was released. Do not change a table or its ids while it is used."
        )


def _some(table: PrivateTable, where: Numbers) -> PrivateTable:
    ids = None if table.unit_ids is None else table.unit_ids.take(where)
    return PrivateTable(take(table.rows, where), table.labels[where], ids)
