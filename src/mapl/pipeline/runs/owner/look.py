"""What a table's owner may want to see: how its rows are read, and which say nothing.

A run refuses no private cell and leaves out records without a word, since both would tell of them. So a wrong
declaration, such as classes that no label names, shows here, and to nobody else. Blocks are counted while they are
read for a run, so that no table is read twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mapl.data.reading.csv_rows import TornLines
from mapl.data.reading.entries import reals, texts
from mapl.data.reading.gaps import Gaps, gaps_of
from mapl.data.reading.numerals import as_floats
from mapl.data.reading.python_cells import arrow_column
from mapl.data.tables.number_range import NumberRange
from mapl.data.tables.rows import column
from mapl.data.tables.table import PrivateTable, is_known
from mapl.data.units.identities import Identities
from mapl.pipeline.case import Declared
from mapl.types import Flags, Silent

PLACES = ("below the range", "within the range", "above the range")
"""Where labels may lie that are numbers; those beyond the range count as its ends."""


@dataclass(frozen=True, slots=True, repr=False)
class OwnerCheck(Silent):
    """How the rows of a private table are read. Private: nothing here is protected.

    Parameters
    ----------
    n_rows, n_used
        The rows of the file, and those that count: they name a unit, where one is declared, and a declared class.
    n_units
        How many units have rows that count.
    n_torn
        Lines of a CSV file with more or fewer cells than there are columns; they are no rows.
    n_of_nobody, n_without_label, n_of_other_class
        The rows that do not count, and why: the first reason that applies.
    by_class
        How many rows that count each class has, for each label where there are several; of numbers, how many lie
        below, within and above the range.
    columns
        For each column the cells that are empty, and those that are not what the schema declares.
    """

    n_rows: int
    n_used: int
    n_units: int
    n_torn: int
    n_of_nobody: int
    n_without_label: int
    n_of_other_class: int
    by_class: Mapping[str, int]
    columns: Mapping[str, Gaps]


class OwnerLook(Silent):
    """Counts of the blocks that went by, while somebody read a table. Private."""

    def __init__(self) -> None:
        self._given: Declared | None = None
        self._failure: Exception | None = None

    @property
    def was_there(self) -> bool:
        """Whether a table was read."""
        return self._given is not None

    def begin(self, given: Declared) -> TornLines:
        """Begin a table, and return where its torn lines are counted."""
        self._given, self._failure, self._torn = given, None, TornLines()
        self._n_rows = self._n_used = self._n_of_nobody = self._n_without_label = 0
        self._n_units: int | None = None
        self._by_class = np.zeros((len(given.labels), len(_names(given))), dtype=np.int64)
        self._gaps = np.zeros((len(given.schema.columns), 2), dtype=np.int64)
        return self._torn

    def glance(self, block: pa.Table, read: PrivateTable) -> None:
        """Count a block as `add` does; what fails shows in `found`, and stops nobody who reads for a run."""
        if self._failure is None:
            try:
                self.add(block, read)
            except Exception as failure:
                self._failure = failure

    def add(self, block: pa.Table, read: PrivateTable) -> Flags:
        """Count a block as it is stored and as it was read, and return which of its rows count."""
        given = self._given
        assert given is not None
        known = is_known(read.labels)
        named = np.ones(len(known), np.bool_) if read.unit_ids is None else np.asarray(read.unit_ids.is_valid())
        used, other = named & known, named & ~known
        self._n_rows += len(known)
        self._n_used += int(np.count_nonzero(used))
        self._n_of_nobody += int(np.count_nonzero(~named))
        labels = [block.column(name) for name in given.labels]
        if other.any():
            spoken = np.all([texts(label.filter(pa.array(other))).is_valid() for label in labels], axis=0)
            self._n_without_label += int(np.count_nonzero(~spoken))
        for j, codes in enumerate(_codes(labels, read, given)):
            self._by_class[j] += np.bincount(codes[used], minlength=self._by_class.shape[1])
        rows = read.rows.open()
        for j, one in enumerate(given.schema.columns):
            gaps = gaps_of(one, block.column(one.name), column(rows, one.name))
            self._gaps[j] += gaps.empty, gaps.illegible
        return used

    def end(self, units: pa.Array) -> None:
        """Count the units that rows name which count."""
        self._n_units = Identities(units).n_units

    def found(self) -> OwnerCheck:
        """Return what was found, or fail as a block did."""
        given = self._given
        assert given is not None
        if self._failure is not None:
            raise self._failure
        by_class = {
            f"{label}: {name}" if given.further else name: n
            for label, counts in zip(given.labels, self._by_class.tolist(), strict=True)
            for name, n in zip(_names(given), counts, strict=True)
        }
        gaps = zip(given.schema.columns, self._gaps.tolist(), strict=True)
        return OwnerCheck(
            n_rows=self._n_rows,
            n_used=self._n_used,
            n_units=self._n_used if self._n_units is None else self._n_units,
            n_torn=self._torn.n,
            n_of_nobody=self._n_of_nobody,
            n_without_label=self._n_without_label,
            n_of_other_class=self._n_rows - self._n_used - self._n_of_nobody - self._n_without_label,
            by_class=by_class,
            columns={declared.name: Gaps(*counts) for declared, counts in gaps},
        )


def _names(given: Declared) -> tuple[str, ...]:
    return given.classes.names if given.number_range is None else PLACES


def _codes(labels: list[Any], read: PrivateTable, given: Declared) -> list[NDArray[Any]]:
    if given.number_range is not None:
        return [_places(label, given.number_range) for label in labels]
    return list(read.labels.T) if given.further else [read.labels]


def _places(label: Any, known: NumberRange) -> NDArray[np.int32]:
    """Return where labels lie that are numbers, as places among `PLACES`; no number is within."""
    numbers = as_floats(reals(arrow_column(label)))
    return 1 + (numbers > known.high).astype(np.int32) - (numbers < known.low).astype(np.int32)
