"""The kinds of a schema's columns in one line: what a plan rests on, and what a user may want to change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from mapl.data.tables.column import KINDS
from mapl.data.tables.schema import Schema

PLURALS = {"category": "categories", "text": "texts"}
MOST_NAMED = 4


def describe_kinds(schema: Schema) -> str:
    """Count the columns of every kind, and name those of text.

    >>> from mapl.data.tables.column import Column
    >>> describe_kinds(Schema((Column("age", "number"), Column("icd", "category", ("E11",), rest=True))))
    '1 number, 1 category (1 with a rest group)'
    """
    counts = Counter(one.kind for one in schema.columns)
    parts = []
    for kind in (one for one in KINDS if counts[one]):
        part = f"{counts[kind]} {kind if counts[kind] == 1 else PLURALS.get(kind, kind + 's')}"
        n_rests = sum(one.rest for one in schema.columns)
        if kind == "category" and n_rests:
            part += f" ({n_rests} with a rest group)"
        if kind == "text":
            part += f": {_some([one.name for one in schema.columns if one.kind == kind])}"
        parts.append(part)
    dropped = f"; dropped: {_some(schema.dropped)}" if schema.dropped else ""
    return ", ".join(parts) + dropped


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:MOST_NAMED]) + (", ..." if len(names) > MOST_NAMED else "")
