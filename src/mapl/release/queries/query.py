"""What a stable query is, and two of them: the top category of a column, and the best of some models."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
import pyarrow as pa

from mapl.data.reading.entries import texts
from mapl.data.tables.row_by_row import row_by_row
from mapl.data.tables.rows import Rows, column
from mapl.data.units.shards import unit_bytes
from mapl.errors import InvalidData, InvalidParameter, MaplError
from mapl.planning.plan import canonical
from mapl.release.queries.leader import leader
from mapl.types import Adjacency

Data = TypeVar("Data", contravariant=True)

MOVES: dict[Adjacency, int] = {"add-remove": 1, "replace-one": 2, "labels": 2}
"""By how much one unit, counted once, moves the difference of two counts."""


class StableQuery(Protocol[Data]):
    """A question to private data that brings its value there and the value's distance to instability.

    Between neighbouring data sets the distance, a whole number of at least zero, moves by at most one, and where
    the values differ it is zero on both. Every promise rests on this; `mapl.audit.stable.contract` checks it on
    small data. The name says publicly what is asked: a name is answered once. A value is plain: text, a number, a
    flag, or a list of such.
    """

    @property
    def name(self) -> str: ...

    def __call__(self, data: Data) -> tuple[Any, int]: ...


@dataclass(frozen=True, slots=True)
class Named:
    """A function of data that returns a value and its distance, by a name."""

    name: str
    function: Callable[[Any], tuple[Any, int]]

    def __call__(self, data: Any) -> tuple[Any, int]:
        return self.function(data)


def name_of(query: Any) -> str:
    """Return what a query is called: its name, or that of a function."""
    name = getattr(query, "name", None) or getattr(query, "__name__", "<")
    if not callable(query) or not isinstance(name, str) or name.startswith("<"):
        raise InvalidParameter(
            "A stable query needs a name, which says publicly what is asked; give it one: Named(name, function)."
        )
    return name


def ask(query: StableQuery[Any], data: Any) -> tuple[Any, int]:
    """Put a query to the data, and refuse a reply that keeps no contract, unquoted."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value, distance = query(data)
    except MaplError:
        raise
    except Exception:  # its words, like those of a warning, could quote a private row
        raise InvalidData(
            f"The query {name_of(query)!r} failed on the data; it must return a value and a distance for whatever "
            "data there can be. Nothing was released."
        ) from None
    if isinstance(distance, bool) or not isinstance(distance, (int, np.integer)) or distance < 0:
        raise InvalidData(
            f"The query {name_of(query)!r} returned a distance to instability that is no whole number of at least "
            "zero; nothing was released."
        )
    try:
        return json.loads(canonical(value)), int(distance)
    except (TypeError, ValueError):
        raise InvalidData(
            f"The query {name_of(query)!r} returned a value that cannot be recorded; it must be text, a number, a "
            "flag, or a list of these. Nothing was released."
        ) from None


@dataclass(frozen=True, slots=True)
class TopCategory:
    """The most frequent value of a column; which values there are need not be declared.

    Every unit counts once: with the value that most of its own rows have, the first as text among equals. Empty
    cells count for nothing.

    Parameters
    ----------
    column
        The column, of a table or frame.
    unit
        The column of the units' ids; None where every row is a unit of its own.
    """

    column: str
    unit: str | None = None
    adjacency: Adjacency = "add-remove"

    @property
    def name(self) -> str:
        return f"top category of {self.column}"

    def __call__(self, table: Rows) -> tuple[Any, int]:
        values = texts(column(table, self.column))
        if isinstance(values, pa.ChunkedArray):
            values = values.combine_chunks()
        if self.unit is not None:
            values = _one_per_unit(values, unit_bytes(column(table, self.unit)).column)
        counted = values.drop_null().value_counts()
        scores = {one["values"]: one["counts"] for one in counted.to_pylist()}
        return leader(scores, moves=MOVES[self.adjacency])


@dataclass(frozen=True, slots=True)
class MostRight:
    """The model that is right about most private records, of a few that were made without them.

    The data are features and labels, of which each record is a unit. A model maps rows to one label per row, each
    row by itself, whatever stands beside it. It is asked again and again about the same number of rows, since
    rounding would depend on that number.
    """

    name: str
    models: Mapping[str, Callable[[Rows], Any]]
    adjacency: Adjacency = "add-remove"

    def __call__(self, data: tuple[Rows, Any]) -> tuple[Any, int]:
        rows, labels = data
        right = {
            name: int(np.count_nonzero(row_by_row(model, rows) == np.asarray(labels)))
            for name, model in self.models.items()
        }
        return leader(right, moves=MOVES[self.adjacency])


def _one_per_unit(values: Any, ids: Any) -> Any:
    """Return the value that each unit stands for, a function of its own rows."""
    table = pa.table({"id": ids, "value": values}).filter(values.is_valid())
    counted = table.group_by(["id", "value"]).aggregate([([], "count_all")])
    order = counted.sort_by([("id", "ascending"), ("count_all", "descending"), ("value", "ascending")])
    rows = order.column("id").combine_chunks()
    first = np.ones(len(rows), dtype=np.bool_)
    if len(rows) > 1:
        first[1:] = np.asarray(pa.compute.not_equal(rows.slice(1), rows.slice(0, len(rows) - 1)))
    kept = order.column("value").filter(pa.array(first))
    return kept.combine_chunks() if isinstance(kept, pa.ChunkedArray) else kept
