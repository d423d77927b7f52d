"""A schema drafted from public rows, and the classes that occur in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from mapl.data.drafts.draft import draft_column
from mapl.data.drafts.draft_numbers import draft_matrix_columns
from mapl.data.reading.entries import texts
from mapl.data.reading.numerals import parse_numerals
from mapl.data.tables.column_choices import ColumnChoices
from mapl.data.tables.number_range import advise_range
from mapl.data.tables.rows import Rows, check_rows, column, is_matrix, names, without
from mapl.data.tables.schema import Schema
from mapl.errors import InvalidData
from mapl.parameters import spell

MOST_CLASSES = 1000
MOST_WHOLE, MOST_FRACTIONS = 100, 20
"""More different numbers, whole ones or others, are not taken for classes unless these are declared."""


def draft_schema(
    rows: Rows,
    *,
    label: str | None = None,
    classes: Sequence[str] = (),
    unit: str | None = None,
    drop: Sequence[str] = (),
    categories: Sequence[str] = (),
    further: Sequence[str] = (),
) -> Schema:
    """Draft a schema from PUBLIC rows: what each column seems to be, with its public statistics.

    Text that is long and hardly ever repeats is text, and all other text a category, with a rest where it has more
    than 100 different values; but texts that are numbers or dates, up to a few words such as unknown, are these.
    Equally long lists of numbers are images. The label's and the unit's columns are left out where they are there.

    Parameters
    ----------
    drop
        Columns to leave out; tables may have them all the same.
    categories
        Columns that are categories, whatever they look like.
    further
        The labels beside the first, where rows have several.
    """
    rows = check_rows(rows, "public rows")
    choices = ColumnChoices(tuple(drop), tuple(categories))
    if is_matrix(rows):
        choices.refuse_matrix()
        return Schema(draft_matrix_columns(rows), label, tuple(classes), unit)
    asides = [name for name in (label, *further, unit) if name is not None]
    found = names(without(rows, asides)) or ()
    choices.refuse_unknown(found, asides)
    columns = tuple(
        draft_column(name, column(rows, name), as_category=name in categories) for name in found if name not in drop
    )
    return Schema(columns, label, tuple(classes), unit, tuple(drop), tuple(further))


def change_schema(schema: Schema, rows: Rows, choices: ColumnChoices) -> Schema:
    """Return a schema with some columns dropped, and others drafted anew from PUBLIC rows, as categories."""
    if not choices:
        return schema
    if is_matrix(rows):
        choices.refuse_matrix()
    choices.refuse_unknown((*schema.names, *schema.dropped), schema.asides)
    columns = tuple(
        draft_column(one.name, column(rows, one.name), as_category=True) if one.name in choices.categories else one
        for one in schema.columns
        if one.name not in choices.drop
    )
    return replace(schema, columns=columns, dropped=tuple(dict.fromkeys((*schema.dropped, *choices.drop))))


def classes_of(rows: Rows, label: str) -> tuple[str, ...]:
    """Return the classes that occur in the label column of PUBLIC rows, in order."""
    found = pc.unique(texts(column(rows, label))).drop_null().to_pylist()
    if not 2 <= len(found) <= MOST_CLASSES:
        raise InvalidData(
            f"The public column {label!r} has {len(found)} different values; expected 2 to {MOST_CLASSES} classes. "
            f"Name another column with {spell('label')}, or declare the classes with {spell('classes')}"
            f"{advise_range()}."
        )
    whole = all(name.removeprefix("-").isdecimal() for name in found)
    if len(found) > (MOST_WHOLE if whole else MOST_FRACTIONS) and not parse_numerals(pa.array(found)).null_count:
        raise InvalidData(
            f"The public column {label!r} holds {len(found)} different numbers, which are hardly classes. Where "
            f"they are, list them with {spell('classes')}{advise_range()}."
        )
    return tuple(sorted(found, key=int) if whole else sorted(found))
