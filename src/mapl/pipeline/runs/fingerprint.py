"""The fingerprint of tables as they were read, by which a killed run knows them again.

It is made from memory. A file that is read a second time may have changed in between, and then the fingerprint
would not be that of the rows that were used.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mapl.data.tables.rows import as_arrow, is_matrix

ROWS_AT_ONCE = 1 << 16
ROWS_KEPT = 1 << 20


def fingerprint(*parts: Any, let_go: Callable[[], None] | None = None) -> str:
    """Return a SHA-256 of rows, columns and arrays in their order; None stands for what is not there.

    Of private rows it is private, too: it tells whether a guessed table is right. How a file cuts its rows into
    chunks changes nothing.

    Parameters
    ----------
    let_go
        What gives back the memory of rows behind the place that it is at.
    """
    seal = hashlib.sha256()
    for part in parts:
        for name, column in _columns(part):
            seal.update(f"{name!r} {len(column)} {column.type}".encode())
            for start in range(0, len(column), ROWS_AT_ONCE):
                for content in _contents(column.slice(start, ROWS_AT_ONCE)):
                    seal.update(memoryview(content).nbytes.to_bytes(8, "big"))
                    seal.update(content)
                if let_go is not None and not start % ROWS_KEPT:
                    let_go()
        seal.update(b"end")
    return seal.hexdigest()


def _columns(part: Any) -> Iterator[tuple[str, Any]]:
    if part is None:
        return
    if isinstance(part, (pa.Array, pa.ChunkedArray)):
        yield "", part
    elif is_matrix(part):
        values = np.asarray(part)
        yield str(values.shape), pa.array(np.ascontiguousarray(values).ravel())
    else:
        table = as_arrow(part)
        yield from zip(table.column_names, table.columns, strict=True)


def _contents(cells: Any) -> Iterator[Any]:
    """Yield which cells are empty, and the bytes of the others; what lies under an empty cell may be anything."""
    array = cells
    if isinstance(cells, pa.ChunkedArray):
        array = cells.chunk(0) if cells.num_chunks == 1 else pa.concat_arrays(cells.chunks)
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    present, kind = array, array.type
    if array.null_count:
        yield np.packbits(pc.is_null(array).to_numpy(zero_copy_only=False)).tobytes()
        present = array.drop_null()
    else:
        yield bytes(-(-len(array) // 8))  # as above, without a look at every cell
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        yield pc.list_value_length(present).to_numpy(zero_copy_only=False).tobytes()
        yield from _contents(present.flatten())
    elif pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind):
        yield np.ascontiguousarray(present.to_numpy(zero_copy_only=False)).view(np.uint8)
    elif pa.types.is_temporal(kind):
        yield from _contents(present.cast(pa.int32() if kind.bit_width == 32 else pa.int64()))
    else:
        is_bytes = any(like(kind) for like in (pa.types.is_binary, pa.types.is_large_binary))
        yield from _texts(present if is_bytes else present.cast(pa.large_string()))


def _texts(present: Any) -> Iterator[Any]:
    """Yield the length of every text, and all of them in one piece."""
    long = present.cast(pa.large_binary())
    yield pc.binary_length(long).to_numpy(zero_copy_only=False).tobytes()
    _, ends, content = long.buffers()
    if content is not None and len(long):
        bounds = np.frombuffer(ends, dtype=np.int64)[long.offset : long.offset + len(long) + 1]
        yield content.slice(int(bounds[0]), int(bounds[-1] - bounds[0]))
