"""Digests of rows: what stands for a record that has no id, made from its own content alone."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from mapl.data.reading.entries import is_date, is_list, is_number, is_text, numbers, pixels, texts
from mapl.data.tables.rows import CELLS_AT_ONCE, Rows, as_arrow, block_of, is_matrix, is_sparse, n_rows, native
from mapl.types import Words

NAN_WORD = int(np.float32("nan").view(np.uint32))
ENTRY = np.dtype([("place", "<u4"), ("word", "<u8")])


def digests(rows: Rows, labels: NDArray[np.int32] | None, block: int = 65536) -> Iterator[list[bytes]]:
    """Yield 16 bytes per row, made from the content of that row (and its label) alone.

    Equal rows have equal digests however they are stored: numbers count as 32-bit floats, text without its
    surrounding blanks, NaN and empty cells as missing, columns in the order of their names. Rows that differ by
    less than that may share a digest. This is harmless: they are then one privacy unit.
    """
    step = rows_at_once(rows, block)
    for start in range(0, n_rows(rows), step):
        part = block_of(rows, start, min(start + step, n_rows(rows)))
        entries, bounds = _entries_of_csr(part) if is_sparse(part) else _entries(words_of_cells(part))
        content, ends = memoryview(entries.tobytes()), (bounds * ENTRY.itemsize).tolist()
        if labels is None:
            tails = [b""] * n_rows(part)
        else:
            codes = np.asarray(labels[start : start + step], dtype="<i4").tobytes()
            tails = [codes[i : i + 4] for i in range(0, len(codes), 4)]
        yield [
            blake2b(bytes(content[begin:end]) + tail, digest_size=16).digest()
            for (begin, end), tail in zip(pairwise(ends), tails, strict=True)
        ]


def rows_at_once(rows: Rows, most: int) -> int:
    """Return how many rows of such a width are looked at together; of a sparse matrix so many as are allowed."""
    width = max(1, rows.shape[1] if not isinstance(rows, pa.Table) else _width(rows.schema.types))
    return max(1, most if is_sparse(rows) else min(most, CELLS_AT_ONCE // width))


def _width(kinds: list[Any]) -> int:
    images = [int(kind.list_size) for kind in kinds if pa.types.is_fixed_size_list(kind)]
    return len(kinds) * max(images, default=1)


def words_of_cells(rows: Rows) -> Words:
    """Return one 64-bit word per cell, columns in the order of their names.

    Of images the first pixels of all columns come first, then the second ones, and so on: what stands beside an
    image keeps its place however large it is, and where nobody has one, when some frames no longer know that the
    column holds images.
    """
    if is_matrix(rows):
        return number_words(native(rows))
    table = as_arrow(rows)
    by_column = [_column_words(table.column(name)) for name in sorted(table.column_names)]
    if all(words.ndim == 1 for words in by_column):
        return np.stack(by_column, axis=1)
    width = max(words.shape[1] for words in by_column if words.ndim == 2)
    every = np.zeros((len(by_column[0]), max(1, width), len(by_column)), dtype=np.uint64)
    for place, words in enumerate(by_column):
        every[:, : words.shape[1] if words.ndim == 2 else 1, place] = words if words.ndim == 2 else words[:, None]
    return every.reshape(len(every), -1)


def _column_words(cells: Any) -> Words:
    kind = cells.type.value_type if pa.types.is_dictionary(cells.type) else cells.type
    if is_list(kind):
        return _image_words(cells)
    if is_text(kind) or pa.types.is_boolean(kind):
        return _text_words(texts(cells))
    return number_words(numbers(cells)) if is_date(kind) or is_number(kind) else _text_words(texts(cells))


def _image_words(cells: Any) -> Words:
    """Return a word per pixel, zero beyond the image's own; a missing image has none."""
    lengths = np.asarray(pc.fill_null(pc.list_value_length(cells), 0).to_numpy(zero_copy_only=False))
    words = np.zeros((len(cells), int(lengths.max(initial=0))), dtype=np.uint64)
    for length in map(int, np.unique(lengths[lengths > 0])):
        alike = lengths == length
        words[alike, :length] = number_words(pixels(cells.filter(pa.array(alike)), length))
    return words


def number_words(values: NDArray[Any]) -> Words:
    if values.dtype.kind in "biu":  # as where somebody's empty entry makes them fractional
        values = values.astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        short = values.astype(np.float32) + np.float32(0)  # no negative zero
    words = short.view(np.uint32).astype(np.uint64)
    words[np.isnan(short)] = NAN_WORD
    return words


def _text_words(cells: Any) -> Words:
    """Hash every different text once; a missing one is zero."""
    coded = cells.dictionary_encode()
    coded = coded.combine_chunks() if isinstance(coded, pa.ChunkedArray) else coded
    hashed = [blake2b(text.encode(), digest_size=8).digest() for text in coded.dictionary.to_pylist()]
    words = np.append(np.frombuffer(b"".join(hashed), dtype="<u8"), np.uint64(0))
    place = coded.indices.fill_null(len(hashed)).to_numpy(zero_copy_only=False)
    return np.asarray(words[place], dtype=np.uint64)


def _entries(words: Words) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Write each row as its cells other than zero, like a sparse matrix does."""
    row, place = np.nonzero(words)
    bounds = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=len(words)))])
    return _packed(place, words[row, place]), bounds


def _entries_of_csr(rows: Rows) -> tuple[NDArray[Any], NDArray[np.int64]]:
    own = native(rows).copy()
    own.sum_duplicates()
    words = number_words(own.data)
    kept = words != 0
    bounds = np.concatenate([[0], np.cumsum(kept)])[own.indptr]
    return _packed(own.indices[kept], words[kept]), bounds


def _packed(place: NDArray[Any], words: Words) -> NDArray[Any]:
    entries = np.empty(len(words), dtype=ENTRY)
    entries["place"], entries["word"] = place, words
    return entries
