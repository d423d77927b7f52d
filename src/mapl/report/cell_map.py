"""What the noisy counts of a run say: which class leads where, and how records spread over the cells."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mapl.data.tables.classes import Classes
from mapl.errors import InvalidData
from mapl.pipeline.runs.cells_file import COUNT
from mapl.release.ledger.chain import HALTED, Answers
from mapl.report.counting import Counting
from mapl.types import Integers

MOST_MARKS = 3000
"""More marks hide each other; of more cells, this many are drawn, at even steps of their numbers."""

MOST_BINS = 24
TAIL = 0.995
"""Bins reach up to this share of the cells; the last one takes whatever lies beyond."""

INDISTINCT = 2.0
"""A total within this many standard deviations of zero cannot be told from that of an empty cell."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A cell on the map of the public rows: its leading class, None where none leads, and its noisy total."""

    x: float
    y: float
    leader: int | None
    total: int


@dataclass(frozen=True, slots=True)
class ClassMass:
    """One class by noisy counts: in how many cells it leads, how many records it has, and their share of all."""

    name: str
    leads: int
    records: int
    share: float


@dataclass(frozen=True, slots=True)
class Far:
    """The noisy number of records far from all public rows, by the cell for them, and the round of that cell."""

    records: int
    share: float
    round: int


@dataclass(frozen=True, slots=True)
class CountBin:
    """How many cells have a noisy total between two numbers, both included; without an end, from the first on."""

    first: int
    last: int | None
    cells: int


@dataclass(frozen=True, slots=True)
class CellMap:
    """The noisy counts of the last round. Everything is computed from the public table of cells alone."""

    round: int
    cells: int
    """Cells that public rows lie in; the one for everything far away is not among them."""
    records: int
    marks: tuple[Mark, ...]
    per_class: tuple[ClassMass, ...]
    no_leader: int
    far: Far | None
    bins: tuple[CountBin, ...]
    quartiles: tuple[int, int, int]
    indistinct: int
    """Cells whose noisy total cannot be told from that of an empty cell."""

    @classmethod
    def of(cls, table: pa.Table, classes: Classes, counting: Counting) -> Self:
        """Read the table of cells that a run published, and refuse one of another run."""
        rounds = _rounds(table, classes)
        last = rounds[-1]
        if len(rounds) != counting.rounds or last.num_rows != counting.cells:
            raise InvalidData(
                f"The statement speaks of {counting.rounds} rounds and {counting.cells} cells in the last one, and "
                f"the table of cells has {len(rounds)} and {last.num_rows}; give the public files of one run."
            )
        counts, places = _counts(last, classes), _places(last)
        placed = np.isfinite(places).all(axis=1)
        leaders, totals = find_leaders(counts[placed]), counts[placed].sum(axis=1)
        everything = int(np.maximum(counts.sum(axis=0), 0).sum())
        return cls(
            round=len(rounds),
            cells=int(placed.sum()),
            records=int(counts.sum()),
            marks=_marks(places[placed], leaders, totals),
            per_class=tuple(
                ClassMass(name, int((leaders == code).sum()), records, max(0, records) / max(1, everything))
                for code, (name, records) in enumerate(
                    zip(classes.names, map(int, counts.sum(axis=0)), strict=True)
                )
            ),
            no_leader=int((leaders < 0).sum()),
            far=_far(rounds, classes),
            bins=_bins(totals),
            quartiles=_quartiles(totals),
            indistinct=int((np.abs(totals) <= INDISTINCT * counting.deviation_of_a_cell).sum()),
        )

    @property
    def sampled(self) -> bool:
        """Whether there are more cells than the map shows."""
        return len(self.marks) < self.cells


def find_leaders(counts: Integers) -> Integers:
    """Return the class whose noisy count is above zero and above all others of its cell, -1 where there is none."""
    ranked = np.sort(counts, axis=1)
    return np.where(ranked[:, -1] > np.maximum(ranked[:, -2], 0), counts.argmax(axis=1), -1)


def refuse_other_counts(table: pa.Table, classes: Classes, ledger: Sequence[Mapping[str, Any]]) -> None:
    """Refuse counts that are not those whose digests the ledger recorded when they were released."""
    recorded = [str(entry["answers"]) for entry in ledger if entry["kind"] == HALTED]
    found = []
    for one in _rounds(table, classes):
        released = _counts(one, classes).astype(np.int32).ravel()
        found.append(Answers(released, None, len(released)).digest)
    if found != recorded:
        raise InvalidData(
            "The noisy counts are not those that the ledger recorded; give the public files of one and the same "
            "run."
        )


def _rounds(table: pa.Table, classes: Classes) -> list[pa.Table]:
    expected = ["round", "x", "y", *(f"{COUNT}{name}" for name in classes.names)]
    for name in expected:
        if table.column_names.count(name) != 1:
            raise InvalidData(f"The table of cells has no column {name!r}; give the cells.parquet that mapl wrote.")
    numbers = table["round"].to_numpy()
    if not len(numbers):
        raise InvalidData("The table of cells is empty; give the cells.parquet that mapl wrote.")
    return [table.filter(pa.array(numbers == number)) for number in np.unique(numbers)]


def _counts(table: pa.Table, classes: Classes) -> Integers:
    return np.column_stack([table[f"{COUNT}{name}"].to_numpy() for name in classes.names]).astype(np.int64)


def _places(table: pa.Table) -> NDArray[np.float64]:
    return np.column_stack([table[axis].cast(pa.float64()).to_numpy() for axis in ("x", "y")])


def _marks(places: NDArray[np.float64], leaders: Integers, totals: Integers) -> tuple[Mark, ...]:
    """Take all cells, or as many as a map can show; which ones depends on their number alone."""
    taken = np.unique(np.linspace(0, len(places) - 1, min(len(places), MOST_MARKS)).astype(np.int64))
    return tuple(
        Mark(float(x), float(y), int(leader) if leader >= 0 else None, int(total))
        for (x, y), leader, total in zip(places[taken], leaders[taken], totals[taken], strict=True)
    )


def _far(rounds: Sequence[pa.Table], classes: Classes) -> Far | None:
    """Find the newest round with a cell for what is far away; leaves of trees reach everywhere and have none."""
    for number, one in reversed(list(enumerate(rounds, start=1))):
        counts, away = _counts(one, classes), ~np.isfinite(_places(one)).all(axis=1)
        if away.any():
            records = int(counts[away].sum())
            return Far(records, max(0, records) / max(1, int(counts.sum()), records), number)
    return None


def _bins(totals: Integers) -> tuple[CountBin, ...]:
    """Sort totals into bins of equal whole width, one of which begins at zero, where the noise is marked."""
    if not len(totals):
        return ()
    low, high = min(0, int(totals.min())), max(0, int(np.quantile(totals, TAIL)))
    width = max(1, math.ceil((high - low + 1) / MOST_BINS))
    first, beyond = low // width, high // width + 1
    cells = np.bincount(np.minimum(totals // width, beyond) - first, minlength=1 - first)
    starts = [width * (first + number) for number in range(len(cells))]
    ends = [None if start // width == beyond else start + width - 1 for start in starts]
    return tuple(CountBin(start, end, int(n)) for start, end, n in zip(starts, ends, cells, strict=True))


def _quartiles(totals: Integers) -> tuple[int, int, int]:
    if not len(totals):
        return 0, 0, 0
    low, middle, high = np.quantile(totals, (0.25, 0.5, 0.75), method="lower")
    return int(low), int(middle), int(high)
