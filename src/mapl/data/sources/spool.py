"""Columns that grow block by block: in memory while they are small, then in scratch files without a name.

A file without a name (unlinked as soon as it is opened) can be opened by nobody else, and is gone when the process
ends, however it ends. Its content is mapped, so that the operating system may drop what nobody looks at.
"""

from __future__ import annotations

import mmap
import os
import tempfile
from collections.abc import Sequence
from typing import IO, Any, Self

import numpy as np
import pyarrow as pa

from mapl.data.reading.conform import whole
from mapl.errors import InvalidData
from mapl.types import Silent

BITS = 8
"""Blocks are stored in multiples of so many rows: bitmaps of what is missing can be cut nowhere else."""


class Spool(Silent):
    """What a table is gathered in.

    Parameters
    ----------
    most
        How many bytes are kept in memory; a larger table goes to files.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._blocks: list[list[pa.Array]] = []
        self._held = 0
        self._stored: list[StoredColumn] | None = None
        self._rest: list[pa.Array] = []

    @property
    def is_stored(self) -> bool:
        """Whether the columns are in files."""
        return self._stored is not None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Let go of the files; columns that were returned stay, and need them no more."""
        for column in self._stored or ():
            column.close()

    def add(self, columns: Sequence[Any]) -> None:
        """Add a block: as many columns of the same types each time."""
        block = [whole(cells) for cells in columns]
        block = [cells.chunk(0) if isinstance(cells, pa.ChunkedArray) else cells for cells in block]
        if self._stored is not None:
            self._store(block)
            return
        self._blocks.append(block)
        self._held += sum(cells.nbytes for cells in block)
        if self._held > self._most:
            self._stored = [StoredColumn(cells.type) for cells in block]
            while self._blocks:
                self._store(self._blocks.pop(0))

    def columns(self) -> list[pa.Array]:
        """Return every column in one piece; nothing can be added any more."""
        if self._stored is None:
            return [pa.concat_arrays(list(parts)) for parts in zip(*self._blocks, strict=True)]
        for column, cells in zip(self._stored, self._rest, strict=True) if self._rest else ():
            column.append(cells)
        return [column.mapped() for column in self._stored]

    def let_go(self) -> None:
        """Give back the memory that mapped columns take; whoever looks at a row again has it again."""
        for column in self._stored or ():
            column.let_go()

    def _store(self, block: list[pa.Array]) -> None:
        assert self._stored is not None
        if self._rest:
            block = [pa.concat_arrays([before, cells]) for before, cells in zip(self._rest, block, strict=True)]
        full = len(block[0]) // BITS * BITS
        for column, cells in zip(self._stored, block, strict=True):
            column.append(cells.slice(0, full))
        self._rest = [cells.slice(full) for cells in block] if full < len(block[0]) else []


class StoredColumn:
    """One column in files of its own: what is missing, values, and for texts where each begins."""

    def __init__(self, kind: pa.DataType) -> None:
        self._kind = kind
        self._n = self._n_missing = self._n_bytes = 0
        self._present, self._values, self._starts = ScratchFile(), ScratchFile(), ScratchFile()
        self._levels: pa.Array | None = None
        self._inner: StoredColumn | None = None
        if pa.types.is_dictionary(kind):
            self._inner = StoredColumn(kind.index_type)
        elif pa.types.is_fixed_size_list(kind):
            self._inner = StoredColumn(kind.value_type)

    @property
    def _is_long(self) -> bool:
        return any(like(self._kind) for like in _LONG)

    def append(self, cells: pa.Array) -> None:
        """Add cells; all calls but the last bring a multiple of eight."""
        self._n += len(cells)
        if pa.types.is_dictionary(self._kind):
            assert self._inner is not None
            self._levels = cells.dictionary  # the declared ones, the same in every block
            self._inner.append(cells.indices)
            return
        if cells.null_count and not self._n_missing:  # nobody asks what is missing as long as nothing is
            self._present.write(b"\xff" * ((self._n - len(cells)) // BITS))
        self._n_missing += cells.null_count
        if self._n_missing:
            present = cells.is_valid().to_numpy(zero_copy_only=False)
            self._present.write(np.packbits(present, bitorder="little").tobytes())
        if pa.types.is_fixed_size_list(self._kind):
            assert self._inner is not None
            width = self._kind.list_size
            self._inner.append(cells.values.slice(cells.offset * width, len(cells) * width))
        elif self._is_long:
            self._append_long(cells.cast(pa.large_binary()))
        else:
            width = self._kind.bit_width // 8
            self._values.write(_part(cells.buffers()[1], cells.offset * width, len(cells) * width))

    def mapped(self) -> pa.Array:
        """Return the whole column, mapped from its files."""
        if pa.types.is_dictionary(self._kind):
            assert self._inner is not None
            return pa.DictionaryArray.from_arrays(self._inner.mapped(), self._levels)
        present = self._present.mapped() if self._n_missing else None
        if pa.types.is_fixed_size_list(self._kind):
            assert self._inner is not None
            return pa.Array.from_buffers(self._kind, self._n, [present], children=[self._inner.mapped()])
        if not self._is_long:
            return pa.Array.from_buffers(self._kind, self._n, [present, self._values.mapped()])
        if not self._n:
            return pa.array([], _LONG_KINDS[self._kind])
        self._starts.write(np.int64(self._n_bytes).tobytes())
        parts = [present, self._starts.mapped(), self._values.mapped()]
        return pa.Array.from_buffers(_LONG_KINDS[self._kind], self._n, parts)

    def let_go(self) -> None:
        """Give back the memory of what is mapped."""
        for file in (self._present, self._values, self._starts):
            file.let_go()
        if self._inner is not None:
            self._inner.let_go()

    def close(self) -> None:
        """Let go of the files."""
        for file in (self._present, self._values, self._starts):
            file.close()
        if self._inner is not None:
            self._inner.close()

    def _append_long(self, cells: pa.Array) -> None:
        if not len(cells):
            return
        _, ends, content = cells.buffers()
        bounds = np.frombuffer(ends, dtype=np.int64)[cells.offset : cells.offset + len(cells) + 1]
        self._starts.write((bounds[:-1] - bounds[0] + self._n_bytes).tobytes())
        n_bytes = int(bounds[-1] - bounds[0])
        self._n_bytes += n_bytes
        if n_bytes:
            self._values.write(_part(content, int(bounds[0]), n_bytes))


class ScratchFile(Silent):
    """A file without a name, which only grows."""

    def __init__(self) -> None:
        self._file: IO[bytes] | None = None
        self._mapping: mmap.mmap | None = None

    def write(self, content: Any) -> None:
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile(prefix="mapl-", buffering=0)  # noqa: SIM115 – it grows on
            left = memoryview(content).cast("B")
            while left:
                left = left[self._file.write(left) :]
        except OSError as failure:
            raise InvalidData(
                f"The table does not fit into {tempfile.gettempdir()} ({os.strerror(failure.errno or 0)}), where "
                "it goes when it is larger than the memory allowed. Make room there, or name another folder in the "
                "environment variable TMPDIR, and run the same command again. Nothing was spent."
            ) from None

    def mapped(self) -> pa.Buffer:
        """Return the content, of which only what is looked at is in memory."""
        if self._file is None or not os.fstat(self._file.fileno()).st_size:
            return pa.py_buffer(b"")
        self._mapping = mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)
        return pa.py_buffer(self._mapping)

    def let_go(self) -> None:
        """Give back the memory of what is mapped: it is shared and read only, so the file still has all of it.

        Windows takes no such advice, and drops what nobody looks at by itself.
        """
        if self._mapping is not None and hasattr(mmap, "MADV_DONTNEED"):
            self._mapping.madvise(mmap.MADV_DONTNEED)

    def close(self) -> None:
        """Let go of the file; what is mapped stays."""
        if self._file is not None:
            self._file.close()


def _part(content: Any, start: int, size: int) -> Any:
    return memoryview(content)[start : start + size] if size else b""


_LONG = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary)
_LONG_KINDS = {
    pa.string(): pa.large_string(),
    pa.large_string(): pa.large_string(),
    pa.binary(): pa.large_binary(),
    pa.large_binary(): pa.large_binary(),
}
