"""One record of each unit of a private table, as a run declared which one that is."""

from __future__ import annotations

from mapl.data.identities import Identities
from mapl.data.one_per_unit import (
    ONLY,
    latest_column,
    moments,
    one_per_unit,
    refuse_differing,
    refuse_repeated,
)
from mapl.data.rows import column, digests, take
from mapl.data.shards import ShardKey, unit_bytes
from mapl.data.table import PrivateTable
from mapl.pipeline.request import Request


def one_each(table: PrivateTable, request: Request, key: ShardKey) -> PrivateTable:
    """Return a table with one record of each unit and no ids; without ids every record is a unit of its own.

    Which record it is depends on the unit's own records alone, and on no label where only labels are private.
    """
    if table.unit_ids is None:
        return table
    ids = unit_bytes(table.unit_ids)
    if request.per_unit == ONLY:
        refuse_differing(ids, Identities.gathered(digests(table.rows, table.labels)))
    contents = Identities.gathered(digests(table.rows, None if request.adjacency == "labels" else table.labels))
    latest = latest_column(request.per_unit)
    when = None if latest is None else moments(column(table.rows, latest))
    kept = one_per_unit(ids, contents, key, when=when)
    refuse_repeated(ids, kept)
    return PrivateTable(take(table.rows, kept), table.labels[kept])
