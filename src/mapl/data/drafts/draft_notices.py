"""What a user should know about a draft: columns of which PUBLIC cells left a doubt, and how it was decided."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mapl.data.reading.entries import is_text, moments, texts
from mapl.data.reading.moments import DAY_FIRST, MONTH_FIRST
from mapl.data.tables.column import Column
from mapl.data.tables.rows import Rows, column, is_matrix
from mapl.data.tables.schema import Schema
from mapl.parameters import spell, takes

MOST_QUOTED = 4


def notices_of(public: Rows, drafted: Schema) -> tuple[str, ...]:
    """Say what was doubtful in a schema that was drafted from these PUBLIC rows."""
    if is_matrix(public):
        return ()
    return tuple(
        words for one in drafted.columns for words in (*_about_blanks(one, public), *_about_order(one, public))
    )


def _about_blanks(declared: Column, public: Rows) -> Iterator[str]:
    if not declared.blanks:
        return
    said = pc.is_in(texts(column(public, declared.name)), value_set=pa.array(declared.blanks, pa.large_string()))
    listed = ", ".join(map(repr, declared.blanks[:MOST_QUOTED]))
    listed += ", ..." if len(declared.blanks) > MOST_QUOTED else ""
    yield (
        f"Column {declared.name!r} was drafted as a {declared.kind}, though {pc.sum(said).as_py()} of its public "
        f"cells say {listed}: these, and private cells that are no {declared.kind}, count as missing."
    ) + _advice(
        f"If that is meant, nothing has to be done; if it is a category, say so with {spell('categories')}."
    )


def _about_order(declared: Column, public: Rows) -> Iterator[str]:
    if declared.order == MONTH_FIRST:
        yield (
            f"Column {declared.name!r} was drafted as dates with the month first, as some public cells must be "
            "read so; private cells are read alike."
        ) + _advice(f"If that is wrong, {_written(DAY_FIRST)}.")
    elif declared.order and _is_ambiguous(column(public, declared.name)):
        yield (
            f"Column {declared.name!r} was drafted as dates with the day first, so that 03/04/2024 is in April: no "
            "public cell tells day and month apart. Private cells are read alike."
        ) + _advice(f"If the month comes first, {_written(MONTH_FIRST)}.")


def _advice(words: str) -> str:
    return f" {words}" if takes("categories") else ""


def _written(order: str) -> str:
    return f'write "order": "{order}" into the schema (mapl schema makes one, {spell("schema")} takes it)'


def _is_ambiguous(cells: Any) -> bool:
    """Say whether dates may be read in both ways; with points the day comes first wherever they are written so."""
    if not is_text(cells.type):
        return False
    known = pc.unique(texts(cells)).drop_null()
    days, months = (moments(known, order) for order in (DAY_FIRST, MONTH_FIRST))
    if days.null_count != months.null_count or days.equals(months):
        return False
    both = np.asarray(pc.fill_null(pc.not_equal(days, months), False), dtype=np.bool_)
    return not all("." in text[:5] for text, differs in zip(known.to_pylist(), both, strict=True) if differs)
