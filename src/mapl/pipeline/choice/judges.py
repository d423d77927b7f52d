"""Units that judge students: one record of each, predicted so that no other unit matters."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np

from mapl.data.tables.private_rows import PrivateRows
from mapl.data.tables.table import PrivateTable
from mapl.data.units.shards import ShardKey, Shards, split
from mapl.pipeline.choice.judgement import Judgement
from mapl.pipeline.counts.one_record import keep_one_record
from mapl.pipeline.request import Request
from mapl.pipeline.votes.labelling import identify_units
from mapl.students.student import Student
from mapl.types import Integers, Labels, Silent

MOST_JUDGES = 20_000
"""About so many units judge: more would tell hardly more, and predicting takes its time."""

PURPOSE = "selection"


def share_of_judges(n_units: int | None) -> float:
    """Return the chance of a unit to judge, by how many there are as declared; all of them where nothing was.

    >>> share_of_judges(80_000), share_of_judges(500)
    (0.25, 1.0)
    """
    return 1.0 if n_units is None else min(1.0, MOST_JUDGES / n_units)


PLACES = 256
"""How many rows a student is always handed at once, whatever the number of units."""


@dataclass(frozen=True, slots=True, repr=False)
class Judges(Silent):
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
        """Take one record of each unit that judges; where there are no ids every record is a unit of its own.

        Who judges is a keyed coin of each unit's own identity.
        """
        coins = split(identify_units(table, request.adjacency), key, share_of_judges(request.n_rows), PURPOSE)
        records = keep_one_record(table.take(np.flatnonzero(coins)), request, key)
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
