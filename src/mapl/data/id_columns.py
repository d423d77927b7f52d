"""Columns that look like ids, judged on names and PUBLIC rows: they say whose a row is, and teach nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mapl.data.column import WORDS_OF_FREE_TEXT, Column
from mapl.data.entries import numbers, texts
from mapl.data.rows import Rows, column
from mapl.data.schema import Schema

LAST_WORDS = ("id", "uuid", "guid", "ssn", "mrn")
WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")

FEWEST_VALUES = 50
"""Fewer values may all differ by chance."""

NEARLY_ALL = 0.95
FIRST_TEXTS = 1000
"""So many texts tell whether they are free."""


def id_warning(public: Rows, schema: Schema) -> str | None:
    """Warn of columns that look like ids where no unit is declared; never give private rows here."""
    if schema.unit is not None:
        return None
    found = [f"{name!r} ({why})" for name, why in _suspects(public, schema)]
    if not found:
        return None
    listed = ", ".join(found[:8]) + (f" and {len(found) - 8} more" if len(found) > 8 else "")
    return (
        f"{'Columns' if len(found) > 1 else 'Column'} {listed} may hold ids, and no unit is declared: ids would be "
        "learned from like any other column, and several rows of one person protected separately, each as if it "
        "were a person. If a column says whose a row is, name it with --unit; if it only numbers rows, remove it "
        "from the tables and from the schema."
    )


def _suspects(public: Rows, schema: Schema) -> Iterator[tuple[str, str]]:
    """Yield the names of columns that look like ids, and why they do."""
    for declared in schema.columns:
        if declared.kind in ("image", "date"):
            continue
        if _named_like_ids(declared.name):
            yield declared.name, "by its name"
        elif _nearly_all_differ(declared, column(public, declared.name)):
            yield declared.name, "nearly all of its public values differ"


def _named_like_ids(name: str) -> bool:
    words = WORD.findall(name)
    return bool(words) and words[-1].lower() in LAST_WORDS


def _nearly_all_differ(declared: Column, cells: Any) -> bool:
    """Say whether hardly any whole number or short text occurs twice; fractions and free text do so anyway."""
    if pa.types.is_integer(cells.type):  # not as numbers: long ids differ in digits that those do not have
        given = cells.drop_null()
        n_values, n_different, plain = len(given), len(pc.unique(given)), True
    elif declared.kind == "number":
        values = numbers(cells)
        values = values[np.isfinite(values)]
        n_values, n_different = len(values), len(np.unique(values))
        plain = bool((values == np.trunc(values)).all())
    else:
        written = texts(cells).drop_null()
        different = pc.unique(written)
        n_values, n_different = len(written), len(different)
        some = different[:FIRST_TEXTS].to_pylist()
        plain = sum(len(text.split()) for text in some) < WORDS_OF_FREE_TEXT * len(some)
    return plain and n_values >= FEWEST_VALUES and n_different >= NEARLY_ALL * n_values
