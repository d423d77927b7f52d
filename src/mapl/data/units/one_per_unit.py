"""One unit, one record: which of a unit's records counts, decided by that unit's own records and id alone."""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from mapl.data.reading.entries import numbers
from mapl.data.tables.schema import Schema
from mapl.data.units.identities import AT_ONCE, Identities
from mapl.data.units.keyed_hash import KeyedHash
from mapl.data.units.shards import ShardKey
from mapl.errors import GuaranteeBroken, InvalidParameter
from mapl.types import Integers

KEYED, ONLY, LATEST = "keyed", "only", "latest:"
"""Which record of a unit counts: one drawn by lot, the only one, or the one with the largest value of a column.

Whoever declares that there is one each is believed: to refuse a table in which somebody has two would tell that. Of
two that differ one is drawn by lot.
"""


def latest_column(per_unit: str) -> str | None:
    """Return the column that says which record is the latest, None where another rule counts.

    >>> latest_column("latest:visit date")
    'visit date'
    """
    if per_unit in (KEYED, ONLY):
        return None
    if per_unit.startswith(LATEST) and per_unit != LATEST:
        return per_unit.removeprefix(LATEST)
    raise InvalidParameter(
        f"The record of a unit that counts is {per_unit!r}; choose {KEYED} (drawn by lot), {ONLY} (every unit has "
        f"one record), or {LATEST}COLUMN (the one with the largest number or date in that column)."
    )


def refuse_unordered(per_unit: str, schema: Schema) -> None:
    """Refuse, before a private row is read, a column that does not say which record is the latest."""
    name = latest_column(per_unit)
    ordered = [column.name for column in schema.columns if column.kind in ("number", "date")]
    if name is not None and name not in ordered:
        raise InvalidParameter(
            f"{name!r} is to say which record of a unit is the latest, and the schema declares no number or date "
            f"of that name; choose among {', '.join(ordered[:20]) or 'none: there is no such column'}."
        )


def one_per_unit(
    ids: Sequence[bytes], contents: Sequence[bytes], key: ShardKey, *, when: NDArray[Any] | None = None
) -> Integers:
    """Return the number of one row per unit, in the order of the table.

    Each row draws a lot, a keyed hash of its unit's id and of its own content, and a unit's lowest lot counts. No
    other unit has a say in it, and neither has the order of the rows: rows with equal lots have equal content.

    Parameters
    ----------
    ids, contents
        The identity of each row's unit, and what the row says, in the order of the rows.
    when
        The larger, the later: only the latest rows of a unit draw lots. A row that does not tell (NaN) is the
        earliest.
    """
    columns = {"id": Identities.of(ids).column, "lot": _lots(ids, contents, key)}
    keys = [("id", "ascending"), ("lot", "ascending")]
    if when is not None:
        columns["when"] = pa.array(np.where(np.isnan(when), -np.inf, when))
        keys.insert(1, ("when", "descending"))
    table = pa.table(columns)
    order = pc.sort_indices(table, sort_keys=keys)  # stable: of rows that are alike the first counts
    return np.sort(order.to_numpy()[~_like_the_row_before(table["id"].take(order))]).astype(np.int64)


def moments(column: Any) -> NDArray[np.float64]:
    """Return a column of numbers or dates as what `one_per_unit` goes by.

    Always as floats: whether whole numbers are kept as such may hang on an empty cell in a row of somebody else.
    """
    return np.asarray(numbers(column), np.float64)


def refuse_repeated(ids: Sequence[bytes], rows: Integers) -> None:
    """Check on identities that no unit has two of these rows."""
    kept = Identities(Identities.of(ids).column.take(pa.array(rows)))
    if kept.n_units != len(rows):
        raise GuaranteeBroken(
            "A privacy unit would be counted in two cells, so removing it could change two counts and the promise "
            "would be void. Nothing was released. Do not change a table or its ids while it is being counted."
        )


def _lots(ids: Sequence[bytes], contents: Sequence[bytes], key: ShardKey) -> Any:
    own = hmac.digest(key.secret, b"mapl one record per unit", "sha256")
    lots = KeyedHash(own).digests(one + b"\0" + what for one, what in zip(ids, contents, strict=True))
    return Identities.gathered(iter(lambda: list(islice(lots, AT_ONCE)), [])).column


def _like_the_row_before(column: Any) -> NDArray[np.bool_]:
    alike = np.zeros(len(column), dtype=np.bool_)
    alike[1:] = np.asarray(pc.equal(column.slice(0, max(0, len(column) - 1)), column.slice(1)), np.bool_)
    return alike
