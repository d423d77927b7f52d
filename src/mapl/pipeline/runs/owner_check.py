"""What a table's owner may want to see before a run: how its rows are read, and which say nothing.

A run refuses no private cell and leaves out records without a word, since both would tell of them. So a wrong
declaration, such as classes that no label names, shows here, and to nobody else.
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
from mapl.data.sources.source import Address, source_of
from mapl.data.tables.classes import UNKNOWN
from mapl.data.tables.number_range import NumberRange
from mapl.data.tables.table import label_codes
from mapl.data.units.identities import Identities
from mapl.data.units.unit_names import unit_names
from mapl.pipeline.case import Declared

PLACES = ("below the range", "within the range", "above the range")
"""Where labels may lie that are numbers; those beyond the range count as its ends."""


@dataclass(frozen=True, slots=True, repr=False)
class OwnerCheck:
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

    def __repr__(self) -> str:
        return "OwnerCheck(private)"


@dataclass(frozen=True, slots=True, repr=False)
class _Block:
    named: NDArray[np.bool_]
    spoken: NDArray[np.bool_]
    codes: NDArray[np.int32]
    units: pa.Array | None
    gaps: list[Gaps]


def owner_check(address: Address, given: Declared) -> OwnerCheck:
    """Look at a private table by the declarations of a run. Nothing is released, and nothing is spent."""
    torn = TornLines()
    blocks = [_looked_at(block, given) for block in source_of(address).blocks(given.schema, torn)]
    named, spoken = (np.concatenate([getattr(one, name) for one in blocks]) for name in ("named", "spoken"))
    codes = np.concatenate([one.codes for one in blocks])
    known = (codes != UNKNOWN).all(axis=1)
    used = named & known
    n_units = int(np.count_nonzero(used))
    if given.unit is not None:
        ids = pa.chunked_array([one.units for one in blocks], pa.large_binary())
        n_units = Identities(ids.filter(pa.array(used))).n_units
    names = given.classes.names if given.number_range is None else PLACES
    by_class = {
        f"{label}: {name}" if given.further else name: n
        for label, column in zip(given.labels, codes[used].T, strict=True)
        for name, n in zip(names, np.bincount(column, minlength=len(names)).tolist(), strict=True)
    }
    gaps = {
        declared.name: Gaps(*(sum(getattr(one.gaps[j], what) for one in blocks) for what in Gaps.__slots__))
        for j, declared in enumerate(given.schema.columns)
    }
    return OwnerCheck(
        n_rows=len(codes),
        n_used=int(np.count_nonzero(used)),
        n_units=n_units,
        n_torn=torn.n,
        n_of_nobody=int(np.count_nonzero(~named)),
        n_without_label=int(np.count_nonzero(named & ~spoken)),
        n_of_other_class=int(np.count_nonzero(named & spoken & ~known)),
        by_class=by_class,
        columns=gaps,
    )


def _looked_at(block: pa.Table, given: Declared) -> _Block:
    labels = [block.column(name) for name in given.labels]
    units = None if given.unit is None else unit_names(block.column(given.unit))
    return _Block(
        named=np.ones(len(block), dtype=np.bool_) if units is None else np.asarray(units.is_valid(), np.bool_),
        spoken=np.all([texts(label).is_valid() for label in labels], axis=0),
        codes=np.stack([_codes(label, given) for label in labels], axis=1),
        units=units,
        gaps=[gaps_of(one, block.column(one.name)) for one in given.schema.columns],
    )


def _codes(label: Any, given: Declared) -> NDArray[np.int32]:
    return label_codes(label, given.classes) if given.number_range is None else _places(label, given.number_range)


def _places(label: Any, known: NumberRange) -> NDArray[np.int32]:
    """Return where labels lie that are numbers, as places among `PLACES`; UNKNOWN where one is no number."""
    numbers = as_floats(reals(arrow_column(label)))
    places = 1 + (numbers > known.high).astype(np.int32) - (numbers < known.low).astype(np.int32)
    return np.where(np.isnan(numbers), UNKNOWN, places).astype(np.int32)
