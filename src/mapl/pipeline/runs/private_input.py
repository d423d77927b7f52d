"""The private table of a run: read once, block by block, by its declared schema alone.

Every block becomes a small private table of its own, by functions that see each cell alone; what is gathered is the
same however the blocks were cut.
"""

from __future__ import annotations

import os

import numpy as np
import pyarrow as pa

from mapl.data.sources.source import Address, source_of
from mapl.data.sources.spool import Spool
from mapl.data.tables.private_rows import MOST_ROOM, PrivateRows
from mapl.data.tables.rows import Rows, column
from mapl.data.tables.table import PrivateTable, fill_labels, is_known, leave_out_unowned, private_table
from mapl.data.units.identities import Identities
from mapl.pipeline.case import Declared
from mapl.pipeline.runs.owner.look import OwnerLook

SHARE_KEPT = 0.25
"""How much of the memory allowed a table may take before it goes to scratch files, and what is kept beside it while
it does not; work needs the rest."""


def room_beside(memory: int) -> int:
    """Return how many bytes a run that may use so many keeps beside a table in memory."""
    return min(int(memory * SHARE_KEPT), MOST_ROOM)


def read_private(
    address: Address,
    given: Declared,
    *,
    all_count: bool = False,
    memory: int | None = None,
    look: OwnerLook | None = None,
) -> PrivateTable:
    """Read the private table; its schema alone says what a cell may be.

    Parameters
    ----------
    all_count
        Whether the number of records is public and relied on: a record without a declared class then gets the
        first one, where it is left out otherwise.
    memory
        How many bytes may be used; half of what the machine has if None. Larger tables wait in scratch files.
    look
        What counts for the table's owner how every block is read.
    """
    memory = machine_memory() // 2 if memory is None else memory
    names, nobody = given.schema.names, 0
    unheard: list[pa.Array] = []
    with Spool(int(memory * SHARE_KEPT)) as spool:
        torn = None if look is None else look.begin(given)
        for block in source_of(address).blocks(given.schema, torn):
            part = table_as_declared(block, given, with_unowned=True)
            if look is not None:
                look.glance(block, part)
            part = leave_out_unowned(part)
            known = is_known(part.labels)
            if all_count:
                part = fill_labels(part)
            elif not known.all():
                nobody += int(np.count_nonzero(~known))
                unheard += [] if part.unit_ids is None else [part.unit_ids.filter(pa.array(~known))]
                part = part.take(np.flatnonzero(known).astype(np.int64))
            ids = () if part.unit_ids is None else (part.unit_ids,)
            labels = [pa.array(one) for one in (part.labels.T if given.further else (part.labels,))]
            spool.add([*(column(part.rows.open(), name) for name in names), *labels, *ids])
        columns = spool.columns()
    rows = PrivateRows(
        pa.table(columns[: len(names)], names=list(names)),
        spool.let_go if spool.is_stored else None,
        room_beside(memory),
    )
    each = [one.to_numpy() for one in columns[len(names) : len(names) + len(given.labels)]]
    codes = np.stack(each, axis=1) if given.further else each[0]
    if given.unit is None:
        return PrivateTable(rows, codes, n_left_out=nobody)
    ids = columns[-1]
    if look is not None:
        look.end(ids)
    return PrivateTable(rows, codes, ids, _units_left_out(ids, unheard))


def table_as_declared(table: Rows, given: Declared, *, with_unowned: bool = False) -> PrivateTable:
    """Take a private table apart by what is declared."""
    return private_table(
        table,
        label=given.label,
        classes=given.classes,
        unit=given.unit,
        schema=given.schema,
        number_range=given.number_range,
        further=given.further,
        with_unowned=with_unowned,
    )


def _units_left_out(kept: pa.Array, unheard: list[pa.Array]) -> int:
    """Return how many units have records without a label only."""
    if not unheard:
        return 0
    every = pa.concat_arrays([kept, *unheard])
    return Identities(every).n_units - Identities(kept).n_units


def machine_memory() -> int:
    """Return how many bytes of memory this machine has."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
