"""What became of the public rows: overall, per class, and per public group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mapl.data.tables.classes import Classes
from mapl.errors import InvalidData, InvalidParameter
from mapl.release.files.labels import STATUSES

MOST_GROUPS = 20
"""More values of one column do not fit a page; the smallest groups are counted together."""

MISSING = "(missing)"


@dataclass(frozen=True, slots=True)
class Tally:
    """How many public rows of one kind were answered, abstained on and not asked."""

    name: str
    answered: int
    fallback: int
    abstained: int
    not_asked: int

    @property
    def rows(self) -> int:
        return self.asked + self.not_asked

    @property
    def asked(self) -> int:
        """The rows that were questions."""
        return self.labelled + self.abstained

    @property
    def labelled(self) -> int:
        return self.answered + self.fallback

    @property
    def coverage(self) -> float:
        """The share of rows that got a label."""
        return self.labelled / self.rows if self.rows else 0.0

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            self.name,
            self.answered + other.answered,
            self.fallback + other.fallback,
            self.abstained + other.abstained,
            self.not_asked + other.not_asked,
        )


@dataclass(frozen=True, slots=True)
class ClassCount:
    """How often one class was released, and its share of all released labels."""

    name: str
    labels: int
    share: float


@dataclass(frozen=True, slots=True)
class Grouping:
    """The coverage of each value of one public column."""

    column: str
    groups: tuple[Tally, ...]

    @property
    def lowest(self) -> Tally:
        return min(self.groups, key=lambda group: group.coverage)

    @property
    def highest(self) -> Tally:
        return max(self.groups, key=lambda group: group.coverage)


@dataclass(frozen=True, slots=True)
class Coverage:
    """The outcome of a run in counts of public rows and released labels."""

    overall: Tally
    per_class: tuple[ClassCount, ...]
    groupings: tuple[Grouping, ...]

    @classmethod
    def of(cls, labels: pa.Table, classes: Classes, groups: Sequence[str] = ()) -> Self:
        """Count the rows of a table of released labels (question, label, status and public columns)."""
        for name in ("question", "label", "status"):
            if name not in labels.column_names:
                raise InvalidData(
                    f"The labels have no column {name!r}; expected question, label and status, as mapl writes them."
                )
        for name in groups:
            if labels.column_names.count(name) != 1:
                raise InvalidParameter(
                    f"There is no public column {name!r} beside the labels to group by; give one of the public "
                    "table's columns."
                )
        statuses = _statuses(labels)
        return cls(
            overall=_tally("all rows", np.bincount(statuses, minlength=len(STATUSES))),
            per_class=_per_class(labels["label"], classes),
            groupings=tuple(Grouping(name, _groups(labels[name], statuses)) for name in groups),
        )


def _statuses(labels: pa.Table) -> Any:
    codes = pc.index_in(labels["status"].cast(pa.string()), value_set=pa.array(STATUSES, pa.string()))
    if codes.null_count:
        raise InvalidData(f"The labels have a status that is none of {', '.join(STATUSES)}.")
    return codes.to_numpy()


def _tally(name: str, counts: Any) -> Tally:
    return Tally(name, *map(int, counts))


def _per_class(column: Any, classes: Classes) -> tuple[ClassCount, ...]:
    given = column.drop_null().cast(pa.string()).combine_chunks()
    codes = classes.codes_of_text(given)
    if (codes < 0).any():
        raise InvalidData(
            "The labels hold names that are none of the declared classes; give the classes of this very run."
        )
    counts = np.bincount(codes, minlength=len(classes))
    return tuple(
        ClassCount(name, int(n), float(n / max(1, len(codes))))
        for name, n in zip(classes.names, counts, strict=True)
    )


def _groups(column: Any, statuses: Any) -> tuple[Tally, ...]:
    """Tally each value of a column: categories in their order, everything else sorted, what is missing last."""
    try:
        values, codes = _coded(column)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):
        raise InvalidParameter("Groups must be a column of text, numbers, dates or categories.") from None
    width = len(STATUSES)
    counts = np.bincount(codes * width + statuses, minlength=len(values) * width).reshape(-1, width)
    tallies = [_tally(name, row) for name, row in zip(values, counts, strict=True) if row.any()]
    if len(tallies) <= MOST_GROUPS:
        return tuple(tallies)
    by_size = sorted(tallies, key=lambda tally: -tally.rows)
    shown, rest = by_size[: MOST_GROUPS - 1], by_size[MOST_GROUPS - 1 :]
    other = sum(rest[1:], start=rest[0])
    kept = [tally for tally in tallies if tally in shown]
    return (*kept, _tally(f"{len(rest):,} smaller groups", _counts(other)))


def _counts(tally: Tally) -> tuple[int, int, int, int]:
    return tally.answered, tally.fallback, tally.abstained, tally.not_asked


def _coded(column: Any) -> tuple[list[str], Any]:
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if not pa.types.is_dictionary(whole.type):
        # Sorting the values before they become text keeps 2 before 10.
        values = pc.unique(whole.drop_null())
        values = values.take(pc.sort_indices(values))
        codes = pc.index_in(whole, value_set=values)
    else:
        values, codes = whole.dictionary, whole.indices
    names = [*values.cast(pa.string()).to_pylist(), MISSING]
    found = pc.fill_null(codes.cast(pa.int64()), len(values)).to_numpy(zero_copy_only=False)
    return names, np.asarray(found, dtype=np.int64)
