"""Reading what a run is made of: public rows first, the private table last and by its declared schema alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapl.data.drafts.draft_notices import notices_of
from mapl.data.drafts.draft_schema import change_schema, classes_of, draft_schema
from mapl.data.reading.conform import conform
from mapl.data.tables.classes import Classes
from mapl.data.tables.column_choices import NO_CHOICES, ColumnChoices
from mapl.data.tables.label_values import LabelValues, declare_values
from mapl.data.tables.number_range import NumberRange, advise_range, ends, public_numbers
from mapl.data.tables.rows import Rows, column, names
from mapl.data.tables.schema import Schema
from mapl.data.tables.table import (
    PrivateTable,
    leave_out_unlabelled,
    public_codes,
    read_table,
)
from mapl.data.units.id_columns import list_suspects
from mapl.data.units.keyed_hash import KeyedHash
from mapl.data.units.shards import ShardKey, unit_bytes
from mapl.errors import InvalidData, InvalidParameter
from mapl.parameters import spell
from mapl.pipeline.case import Declared, PublicRows

QUESTION_SHARE = 0.2
"""The share of the units whose features become questions where only labels are private."""


def declare(
    public: Rows,
    *,
    label: str,
    classes: Classes | None,
    unit: str | None,
    schema: Schema | None,
    no_unit: bool = False,
    choices: ColumnChoices = NO_CHOICES,
    label_values: LabelValues = (),
    number_range: NumberRange | None = None,
    further: tuple[str, ...] = (),
) -> Declared:
    """Put the declarations together; what was not declared is drafted from public rows, never from private ones.

    Parameters
    ----------
    choices
        What is said about single columns, whether the schema is drafted or given.
    label_values
        What labels mean that are no names of classes.
    number_range
        Where labels go from and to, if they are numbers, which have no classes.
    further
        The labels beside the first, where rows have several; all of them have the same classes.
    """
    notices: tuple[str, ...] = ()
    if schema is None:
        drafted = draft_schema(
            public, label=label, unit=unit, drop=choices.drop, categories=choices.categories, further=further
        )
        notices = notices_of(public, drafted)
    else:
        drafted = change_schema(replace(schema, label=label, further=further), public, choices)
    unit = unit if unit is not None or schema is None else schema.unit
    if number_range is not None:
        classes, drafted = ends(), refuse_classes(drafted, classes, label_values)
    if classes is None and drafted.classes:
        classes = Classes(drafted.classes)
    if classes is None and label in (names(public) or ()):
        classes = Classes(classes_of(public, label))
    if classes is None:
        raise InvalidParameter(
            "The classes are not declared, and mapl never reads them off private rows: a rare class would give its "
            f"holder away. Name them, for example with {spell('classes', 'no,yes')}, or in the schema "
            f"({spell('schema')}){advise_range()}."
        )
    classes = declare_values(classes, label_values)
    drafted = replace(drafted, unit=unit, classes=_listed(classes, number_range))
    suspects = list_suspects(public, drafted)
    return Declared(drafted, label, classes, unit, no_unit, suspects, notices, choices, number_range, further)


def declare_alone(
    schema: Schema,
    *,
    label: str,
    classes: Classes | None,
    unit: str | None,
    label_values: LabelValues = (),
    number_range: NumberRange | None = None,
) -> Declared:
    """Put the declarations together where there are no public rows to draft anything from."""
    if number_range is not None:
        classes, schema = ends(), refuse_classes(schema, classes, label_values)
    if classes is None and not schema.classes:
        raise InvalidParameter(
            f"The classes are not declared; name them, for example with {spell('classes', 'no,yes')}, or in the "
            f"schema{advise_range()}."
        )
    classes = declare_values(Classes(schema.classes) if classes is None else classes, label_values)
    unit = schema.unit if unit is None else unit
    known = replace(schema, label=label, unit=unit, classes=_listed(classes, number_range))
    return Declared(known, label, classes, unit, number_range=number_range)


def refuse_classes(schema: Schema, classes: Classes | None, label_values: LabelValues) -> Schema:
    """Refuse classes beside a range of numbers: a label is either of the two. Return the schema without any."""
    if classes is not None or label_values:
        said = spell("classes") if classes is not None else spell("label_values")
        raise InvalidParameter(
            f"{spell('regression')} says that the label is a number, and {said} that it names classes; give one of "
            "the two."
        )
    return replace(schema, classes=())


def _listed(classes: Classes, number_range: NumberRange | None) -> tuple[str, ...]:
    """Return the classes that a schema tells; a number has none."""
    return classes.names if number_range is None else ()


def take_public_rows(table: Rows, given: Declared, what: str = "public rows") -> PublicRows:
    """Take public rows apart into features and, where they have the label columns, the truth."""
    found = names(table) or ()
    given.schema.check_names(found, what)
    truth = None
    each = [
        public_labels(column(table, name), given.classes, given.number_range, name, what)
        for name in given.labels
        if name in found
    ]
    if len(each) == len(given.labels):
        truth = np.stack(each, axis=1) if given.further else each[0]
    return PublicRows(conform(table, given.schema, what, public=True), truth)


def public_labels(
    cells: Any, classes: Classes, number_range: NumberRange | None, name: str, what: str
) -> NDArray[Any]:
    """Read the labels of public rows: class numbers, or numbers as they are."""
    if number_range is not None:
        return public_numbers(cells, name=name, what=what)
    return public_codes(cells, classes, name=name, what=what)


def read_labelled_rows(
    path: Path,
    schema: Schema,
    classes: Classes,
    *,
    label: str | None,
    what: str,
    key: str | None = None,
    number_range: NumberRange | None = None,
) -> PublicRows:
    """Read rows to predict, and the truth where the file has the label column; it may have other columns too.

    Parameters
    ----------
    key
        A column to bring along as it is written, so that 007 does not become 7.
    """
    table = read_table(path, what=what, as_text=(*schema.written, *(() if key is None else (key,))))
    if key is not None and key not in table.column_names:
        raise InvalidParameter(f"{path} has no column {key!r}; name one of its columns as the key.")
    truth = None
    if label is not None and label in table.column_names:
        truth = public_labels(column(table, label), classes, number_range, label, what)
    missing = [name for name in schema.names if name not in table.column_names]
    if missing:
        raise InvalidData(
            f"{path} lacks the column {missing[0]!r}"
            + (f" and {len(missing) - 1} more" if len(missing) > 1 else "")
            + f" that the student needs; it learns from {', '.join(schema.names[:20])}."
        )
    rows = conform(table.select(list(schema.names)), schema, what, public=True)
    return PublicRows(rows, truth, None if key is None else column(table, key))


def read_test_rows(
    path: Path, schema: Schema, classes: Classes, *, label: str, number_range: NumberRange | None = None
) -> PublicRows:
    """Read public rows to test a student on, or refuse rows without labels."""
    rows = read_labelled_rows(path, schema, classes, label=label, what="test rows", number_range=number_range)
    if rows.truth is None:
        raise InvalidData(f"{path} has no column {label!r}; test rows need their labels.")
    return rows


def split_label_private(
    table: PrivateTable, key: ShardKey, share: float = QUESTION_SHARE
) -> tuple[PrivateTable, Rows]:
    """Split a table whose features are public: some units' features become questions, the others teach.

    The labels of the questions are set aside and used for nothing (BTT18, section 5). Which units are asked about
    is a matter of keyed hashes of their ids or features, so no label moves a row from one side to the other.
    Records without a declared class are left out only then, for the same reason.
    """
    ids = table.rows.contents() if table.unit_ids is None else unit_bytes(table.unit_ids)
    hashes = KeyedHash(key.secret).digests(b"mapl questions" + one for one in ids)
    drawn = np.fromiter(hashes, dtype="S32", count=len(ids))
    units = np.unique(drawn)
    if len(units) < 2:
        raise InvalidData(
            "The table has too few rows to be split into teachers' rows and questions, at most one sample; give "
            f"more rows, or public rows of their own with {spell('public')}."
        )
    # The lowest hashes are asked about: features are public here, so the number may be exact, as few rows need it.
    n_asked = min(max(round(share * len(units)), 1), len(units) - 1)
    asked = drawn <= units[n_asked - 1]
    teaching, questions = np.flatnonzero(~asked), np.flatnonzero(asked)
    return leave_out_unlabelled(table.take(teaching)), table.rows.take(questions).open()


def n_units(table: PrivateTable) -> int:
    """Return the number of units of a table whose rows or ids are public."""
    if table.unit_ids is not None:
        return unit_bytes(table.unit_ids).n_units + table.n_left_out
    return len(table.rows) + table.n_left_out
