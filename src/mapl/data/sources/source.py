"""What a private table may be named by: a file, a folder or pattern of files, an object store, a database."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import pyarrow as pa

from mapl.data.reading.csv_rows import TornLines
from mapl.data.sources.databases import DatabaseSource, is_database
from mapl.data.sources.stores import StoreSource
from mapl.data.sources.table_files import FileSource
from mapl.data.tables.schema import Schema

Address = str | Path
"""The path of a file or folder, a pattern such as ``visits/*.parquet``, or something with ``://`` in it."""


class Source(Protocol):
    """A table that may be larger than the memory, and that is read by its schema alone."""

    def blocks(self, schema: Schema, torn: TornLines | None = None) -> Iterator[pa.Table]:
        """Yield all rows in blocks, in the same order every time, as they are stored.

        There is one block at least. The columns of all of them are the declared ones, label and unit included; how
        a column is stored may differ from block to block, and means nothing.
        """


def source_of(address: Address) -> Source:
    """Return what an address names; whether there is anything shows when it is read."""
    text = str(address)
    if is_database(text):
        return DatabaseSource.of(text)
    if "://" in text:
        return StoreSource.of(text)
    return FileSource.of(Path(address))
