"""A private table: its features, its labels and whose each row is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from mapl.data.reading.conform import conform
from mapl.data.reading.entries import TRUTH, Entries, decode, texts
from mapl.data.reading.python_cells import arrow_column
from mapl.data.reading.table_file import read_table
from mapl.data.tables.classes import UNKNOWN, Classes
from mapl.data.tables.label_values import codes_by_value
from mapl.data.tables.number_range import NumberRange, label_numbers
from mapl.data.tables.private_rows import PrivateRows
from mapl.data.tables.rows import Rows, check_rows, column, is_matrix, names
from mapl.data.tables.schema import Schema
from mapl.data.units.unit_names import unit_bytes, unit_names
from mapl.errors import InvalidData, InvalidParameter
from mapl.parameters import spell, takes
from mapl.types import Flags, Integers, Labels, Silent

__all__ = [
    "PrivateTable",
    "fill_labels",
    "label_codes",
    "leave_out_unlabelled",
    "private_table",
    "public_codes",
    "read_table",
]


@dataclass(frozen=True, slots=True, repr=False)
class PrivateTable(Silent):
    """Features, labels and privacy units of private rows: silent about all of them.

    Parameters
    ----------
    rows
        The features only.
    labels
        The class number of every row, UNKNOWN where it has none, in a column for each label if there are several;
        where labels are numbers, where in their range it lies, from -1 to 1, and NaN where it is no number.
    unit_ids
        Whose each row is, or None where every record stands for itself.
    n_left_out
        How many units have records without a label only, and hence no row here; they count where who is in the
        table is public.
    """

    rows: PrivateRows
    labels: NDArray[Any]
    unit_ids: Any = None
    n_left_out: int = 0

    def __post_init__(self) -> None:
        if len(self.rows) != len(self.labels):
            raise InvalidData("Private rows and labels differ in number; there must be one label per row.")
        if self.unit_ids is not None and len(self.unit_ids) != len(self.labels):
            raise InvalidData("Private rows and unit ids differ in number; there must be one id per row.")

    def take(self, where: Integers) -> PrivateTable:
        """Return a table of some records, with whose they are."""
        ids = None if self.unit_ids is None else self.unit_ids.take(pa.array(where))
        return PrivateTable(self.rows.take(where), self.labels[where], ids)


def private_table(
    table: Rows,
    *,
    label: str,
    classes: Classes,
    unit: str | None = None,
    schema: Schema,
    number_range: NumberRange | None = None,
    further: Sequence[str] = (),
    with_unowned: bool = False,
) -> PrivateTable:
    """Take a private table apart into features, labels and unit ids, and refuse columns that were not declared.

    No cell is refused, since a refusal would tell of it. A record that names no unit is left out; one that names no
    declared class stays, with the label UNKNOWN; `leave_out_unlabelled` leaves it out, `fill_labels` fills it in.

    Parameters
    ----------
    table
        A pyarrow Table or a DataFrame; its features are not copied where they have the declared form.
    label, unit
        The columns of the labels, and of the ids of the privacy units (None: every record is one).
    number_range
        Where labels go from and to, if they are numbers.
    further
        The columns of the other labels, where a row has several; labels then have a column for each.
    with_unowned
        Whether records that name no unit stay, for a caller that leaves them out itself.
    """
    what = "private rows"
    table = check_rows(table, what, may_be_none=True)
    if is_matrix(table):
        raise InvalidParameter(
            "The private rows are a matrix, which has no label column; give a table, or features and labels apart."
        )
    declared = replace(schema, label=label, unit=unit, further=tuple(further))
    declared.check_asides(names(table) or (), what)
    rows = conform(table, declared, what)
    each = [private_labels(column(table, name), classes, number_range) for name in declared.labels]
    labels = np.stack(each, axis=1) if further else each[0]
    ids = None if unit is None else unit_names(column(table, unit))
    read = PrivateTable(PrivateRows(rows), labels, ids)
    return read if with_unowned else leave_out_unowned(read)


def leave_out_unowned(table: PrivateTable) -> PrivateTable:
    """Leave out the records that name no unit: nobody can be protected who is not named."""
    if table.unit_ids is None or not table.unit_ids.null_count:
        return table
    return table.take(_places(np.asarray(table.unit_ids.is_valid(), dtype=np.bool_)))


def leave_out_unlabelled(table: PrivateTable) -> PrivateTable:
    """Leave out the records without a declared class, or without a number: each by its own label alone."""
    known = is_known(table.labels)
    if known.all():
        return table
    kept = table.take(_places(known))
    if table.unit_ids is None:
        return replace(kept, n_left_out=len(known) - len(kept.labels))
    return replace(kept, n_left_out=unit_bytes(table.unit_ids).n_units - unit_bytes(kept.unit_ids).n_units)


def fill_labels(table: PrivateTable) -> PrivateTable:
    """Give records without a declared class the first one: where their number is public, none may vanish."""
    return replace(table, labels=np.maximum(table.labels, 0))


def private_labels(cells: Any, classes: Classes, number_range: NumberRange | None) -> NDArray[Any]:
    """Read labels as class numbers, or as scaled numbers where they are declared to be such."""
    return label_codes(cells, classes) if number_range is None else label_numbers(cells, number_range)


def is_known(labels: NDArray[Any]) -> Flags:
    """Say which rows name a declared class, or a number; of several labels, in each of them."""
    known: Flags = ~np.isnan(labels) if labels.dtype.kind == "f" else labels != UNKNOWN
    return known if known.ndim == 1 else np.asarray(known.all(axis=1))


def label_codes(cells: Any, classes: Classes) -> Labels:
    """Return the class number of every label, UNKNOWN where one is empty or names no declared class.

    A label names a class by its text, or by its value where the class is a number; true and false in any case; or
    else it means what was declared of it.
    """
    labels = texts(decode(arrow_column(cells)))
    found = _codes_by_name(labels, classes)
    if classes.values:
        found = np.where(found == UNKNOWN, codes_by_value(labels, classes), found)
    return found.astype(np.int32)


def _codes_by_name(labels: Entries, classes: Classes) -> NDArray[np.int64]:
    lower = tuple(one.lower() for one in classes.names)
    if set(lower) == set(TRUTH):
        return Classes(lower).codes_of_text(pc.utf8_lower(labels))  # True, TRUE and true are one class
    return classes.codes_of_text(labels)


def public_codes(cells: Any, classes: Classes, *, name: str = "label", what: str = "public rows") -> Labels:
    """Return the class number of every label of PUBLIC rows, or refuse labels outside the declared classes."""
    codes = label_codes(cells, classes)
    if (codes == UNKNOWN).any():
        raise InvalidData(
            f"Column {name!r} of the {what} has empty cells, or labels that are none of the {len(classes)} "
            f"declared classes ({', '.join(classes.names[:20])}{', ...' if len(classes) > 20 else ''}). Declare "
            "every class, for example with "
            f"{spell('classes', 'no,yes')}{' or in the schema' if takes('schema') else ''}, say what other "
            f"labels mean with {spell('label_values', '0=no,1=yes')}, and leave out rows without a label."
        )
    return codes


def _places(kept: Flags) -> Integers:
    return np.flatnonzero(kept).astype(np.int64)
