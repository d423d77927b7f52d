"""One record of each unit of a private table, as a run declared which one that is."""

from __future__ import annotations

from mapl.data.tables.rows import column
from mapl.data.tables.table import PrivateTable
from mapl.data.units.one_per_unit import latest_column, moments, one_per_unit, refuse_repeated
from mapl.data.units.shards import ShardKey, unit_bytes
from mapl.pipeline.request import Request


def keep_one_record(table: PrivateTable, request: Request, key: ShardKey) -> PrivateTable:
    """Return a table with one record of each unit and no ids; without ids every record is a unit of its own.

    Which record it is depends on the unit's own records alone, and on no label where only labels are private.
    """
    if table.unit_ids is None:
        return table
    ids = unit_bytes(table.unit_ids)
    contents = table.rows.contents(None if request.adjacency == "labels" else table.labels)
    latest = latest_column(request.per_unit)
    when = None if latest is None else moments(column(table.rows.open(), latest))
    kept = one_per_unit(ids, contents, key, when=when)
    refuse_repeated(ids, kept)
    return PrivateTable(table.rows.take(kept), table.labels[kept])
