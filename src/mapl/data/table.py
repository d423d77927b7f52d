"""A private table: its features, its labels and whose each row is."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mapl.data.classes import UNKNOWN, Classes
from mapl.data.conform import conformed
from mapl.data.entries import TRUTH, Entries, decoded, is_text, legible, numbers, texts
from mapl.data.rows import Rows, checked, column, is_matrix, n_rows, names
from mapl.data.schema import Schema
from mapl.data.table_file import read_table
from mapl.errors import InvalidData, InvalidParameter
from mapl.types import Labels

__all__ = ["PrivateTable", "label_codes", "private_table", "read_table", "unit_column"]


@dataclass(frozen=True, slots=True, repr=False)
class PrivateTable:
    """Features, labels and privacy units of private rows: silent about all of them.

    Parameters
    ----------
    rows
        The features only.
    labels
        The class number of every row.
    unit_ids
        Whose each row is, or None where every record stands for itself.
    """

    rows: Rows
    labels: Labels
    unit_ids: Any = None

    def __post_init__(self) -> None:
        if n_rows(self.rows) != len(self.labels):
            raise InvalidData("Private rows and labels differ in number; there must be one label per row.")
        if self.unit_ids is not None and len(self.unit_ids) != len(self.labels):
            raise InvalidData("Private rows and unit ids differ in number; there must be one id per row.")

    def __repr__(self) -> str:
        return "PrivateTable(private)"


def private_table(
    table: Rows, *, label: str, classes: Classes, unit: str | None = None, schema: Schema
) -> PrivateTable:
    """Take a private table apart into features, labels and unit ids, and refuse what does not fit the declarations.

    Parameters
    ----------
    table
        A pyarrow Table or a DataFrame; its features are not copied where they have the declared form.
    label, unit
        The columns of the labels, and of the ids of the privacy units (None: every record is one).
    """
    what = "private rows"
    table = checked(table, what)
    if is_matrix(table):
        raise InvalidParameter(
            "The private rows are a matrix, which has no label column; give a table, or features and labels apart."
        )
    declared = replace(schema, label=label, unit=unit)
    declared.check_asides(names(table) or (), what)
    rows = conformed(table, declared, what)
    labels = label_codes(column(table, label), classes, name=label)
    return PrivateTable(rows, labels, None if unit is None else unit_column(column(table, unit), name=unit))


def label_codes(cells: Any, classes: Classes, *, name: str = "label", what: str = "private rows") -> Labels:
    """Return the class number of every label, or refuse labels outside the declared classes."""
    with legible(name, "category", what):
        labels = _as_cells(cells)
        kind = labels.type
        lower = tuple(one.lower() for one in classes.names)
        if set(lower) == set(TRUTH) and (pa.types.is_boolean(kind) or is_text(kind)):
            codes = Classes(lower).codes_of_text(pc.utf8_lower(texts(labels)))  # True, TRUE and true are one class
        elif pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind):
            codes = classes.codes(numbers(labels))
        else:
            codes = classes.codes_of_text(texts(labels))
    if (codes == UNKNOWN).any():
        raise InvalidData(
            f"Column {name!r} of the {what} has empty cells, or labels that are none of the {len(classes)} "
            f"declared classes ({', '.join(classes.names[:20])}{', ...' if len(classes) > 20 else ''}). Declare "
            "every class, for example with --classes no,yes or in the schema, and leave out rows without a label."
        )
    return codes.astype(np.int32)


def unit_column(cells: Any, *, name: str = "unit", what: str = "private rows") -> Any:
    """Return the ids of the privacy units, or refuse empty ones: every row must be somebody's."""
    with legible(name, "text", what):
        ids = _as_cells(cells)
        some_empty = bool(texts(ids).null_count)
    if some_empty:
        raise InvalidData(
            f"Column {name!r} of the {what} has empty cells, and it says whose each row is; fill them in, or leave "
            "those rows out."
        )
    return ids


def _as_cells(given: Any) -> Entries:
    """Return a column of labels or ids as one pyarrow array."""
    if isinstance(given, np.ndarray) and given.dtype.kind == "S":
        given = np.char.decode(given, "utf-8")
    array = given if isinstance(given, (pa.Array, pa.ChunkedArray)) else pa.array(given, from_pandas=True)
    array = decoded(array)
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
