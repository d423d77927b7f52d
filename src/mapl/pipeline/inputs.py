"""Reading what a run is made of: public rows first, the private table last and by its declared schema alone."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from mapl.data.classes import Classes
from mapl.data.conform import conformed
from mapl.data.identities import Identities
from mapl.data.rows import Rows, column, digests, n_rows, names, take
from mapl.data.schema import Schema, classes_of, draft
from mapl.data.shards import ShardKey, unit_bytes
from mapl.data.table import PrivateTable, label_codes, private_table, read_table
from mapl.errors import InvalidData, InvalidParameter
from mapl.types import Labels

QUESTION_SHARE = 0.2
"""The share of the units whose features become questions where only labels are private."""


@dataclass(frozen=True, slots=True)
class Declared:
    """What a user declares about the tables: their columns, the label and its classes, the privacy unit."""

    schema: Schema
    label: str
    classes: Classes
    unit: str | None


@dataclass(frozen=True, slots=True)
class PublicRows:
    """Public rows without their labels; where they bring labels along, these only serve to tell accuracies.

    ``keys`` is a column to tell the rows apart by, where one was asked for.
    """

    rows: Rows
    truth: Labels | None
    keys: Any = None


def declared(
    public: Rows, *, label: str, classes: Classes | None, unit: str | None, schema: Schema | None
) -> Declared:
    """Put the declarations together; what was not declared is drafted from public rows, never from private ones."""
    drafted = draft(public, label=label, unit=unit) if schema is None else replace(schema, label=label)
    unit = unit if unit is not None or schema is None else schema.unit
    if classes is None and drafted.classes:
        classes = Classes(drafted.classes)
    if classes is None and label in (names(public) or ()):
        classes = Classes(classes_of(public, label))
    if classes is None:
        raise InvalidParameter(
            "The classes are not declared, and mapl never reads them off private rows: a rare class would give its "
            "holder away. Name them, for example with --classes no,yes, or in the schema (--schema)."
        )
    return Declared(replace(drafted, unit=unit, classes=classes.names), label, classes, unit)


def public_rows(table: Rows, given: Declared, what: str = "public rows") -> PublicRows:
    """Take public rows apart into features and, where they have a label column, the truth."""
    found = names(table) or ()
    given.schema.check_names(found, what)
    truth = None
    if given.label in found:
        truth = label_codes(column(table, given.label), given.classes, name=given.label, what=what)
    return PublicRows(conformed(table, given.schema, what), truth)


def labelled_rows(
    path: Path, schema: Schema, classes: Classes, *, label: str | None, what: str, key: str | None = None
) -> PublicRows:
    """Read rows to predict, and the truth where the file has the label column; it may have other columns too.

    Parameters
    ----------
    key
        A column to bring along as it is written, so that 007 does not become 7.
    """
    table = read_table(path, what=what, as_text=() if key is None else (key,))
    if key is not None and key not in table.column_names:
        raise InvalidParameter(f"{path} has no column {key!r}; name one of its columns as the key.")
    truth = None
    if label is not None and label in table.column_names:
        truth = label_codes(column(table, label), classes, name=label, what=what)
    missing = [name for name in schema.names if name not in table.column_names]
    if missing:
        raise InvalidData(
            f"{path} lacks the column {missing[0]!r}"
            + (f" and {len(missing) - 1} more" if len(missing) > 1 else "")
            + f" that the student needs; it learns from {', '.join(schema.names[:20])}."
        )
    rows = conformed(table.select(list(schema.names)), schema, what)
    return PublicRows(rows, truth, None if key is None else column(table, key))


def test_rows(path: Path, schema: Schema, classes: Classes, *, label: str) -> PublicRows:
    """Read public rows to test a student on, or refuse rows without labels."""
    rows = labelled_rows(path, schema, classes, label=label, what="test rows")
    if rows.truth is None:
        raise InvalidData(f"{path} has no column {label!r}; test rows need their labels.")
    return rows


def read_private(path: Path, given: Declared) -> PrivateTable:
    """Read the private table; its schema alone says what a cell may be."""
    table = read_table(path, what="private rows", schema=given.schema)
    return private_table(table, label=given.label, classes=given.classes, unit=given.unit, schema=given.schema)


def split_label_private(
    table: PrivateTable, key: ShardKey, share: float = QUESTION_SHARE
) -> tuple[PrivateTable, Rows]:
    """Split a table whose features are public: some units' features become questions, the others teach.

    The labels of the questions are set aside and used for nothing (BTT18, section 5). Which units are asked about
    is a matter of keyed hashes of their ids or features, so no label moves a row from one side to the other.
    """
    if table.unit_ids is not None:
        ids = unit_bytes(table.unit_ids)
    else:
        ids = Identities.gathered(digests(table.rows, None))
    hashes = (hmac.digest(key.secret, b"mapl questions" + one, "sha256") for one in ids)
    drawn = np.fromiter(hashes, dtype="S32", count=len(ids))
    units = np.unique(drawn)
    if len(units) < 2:
        raise InvalidData(
            "The table has too few rows to be split into teachers' rows and questions; give more rows, or public "
            "rows of their own with --public."
        )
    # The lowest hashes are asked about: features are public here, so the number may be exact, as few rows need it.
    n_asked = min(max(round(share * len(units)), 1), len(units) - 1)
    asked = drawn <= units[n_asked - 1]
    teaching, questions = np.flatnonzero(~asked), np.flatnonzero(asked)
    unit_ids = None if table.unit_ids is None else table.unit_ids.take(teaching)
    return PrivateTable(take(table.rows, teaching), table.labels[teaching], unit_ids), take(table.rows, questions)


def fingerprint(path: Path) -> str:
    """Return the SHA-256 of a private file. It is private too: it tells whether a guessed table is right."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def n_units(table: PrivateTable) -> int:
    """Return the number of units of a table whose rows or ids are public."""
    if table.unit_ids is not None:
        return unit_bytes(table.unit_ids).n_units
    return n_rows(table.rows)
