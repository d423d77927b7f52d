"""Where in an encoded row each column goes, and what is written there: the part of `Encoder` that computes.

Without scikit-learn, which takes seconds to import, so that a student of moments can predict without it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from mapl.data.drafts.draft_numbers import WIDEST_DENSE
from mapl.data.encoding.encoded_rows import WIDE, BlankRows, EncodedRows
from mapl.data.reading.entries import legible, numbers, pixels, places
from mapl.data.tables.column import Column
from mapl.data.tables.rows import Rows, as_arrow, block_of, is_matrix, is_sparse, n_rows, names, native, select
from mapl.errors import InvalidData

Matrix = NDArray[np.float32]

CLIP = 10.0
"""How many spreads from its centre a number may lie before it counts as lying there."""

TEXT_WIDTH = 1 << 14
MOST_COMPARED = 32
"""So many cuts are compared with all numbers, which is quicker than to search each number's place among them."""

CELLS_AT_ONCE = 1 << 18
"""So many numbers of 64 bits are encoded at a time, few enough to stay in the processor's cache on the way."""


@dataclass(frozen=True, slots=True)
class RowLayout:
    """Where in the result each column goes: numbers first, then indicators, categories, bins, images, text."""

    columns: tuple[Column, ...]
    bins: bool

    @classmethod
    def of(cls, columns: Sequence[dict[str, Any]], *, bins: bool) -> Self:
        """Lay out columns that are given as plain dictionaries (`Column.to_dict`)."""
        return cls(tuple(Column.from_dict(plain) for plain in columns), bins)

    def _of(self, *kinds: str) -> tuple[Column, ...]:
        return tuple(declared for declared in self.columns if declared.kind in kinds)

    @property
    def numbers(self) -> tuple[Column, ...]:
        return self._of("number", "date")

    @property
    def texts(self) -> tuple[Column, ...]:
        return self._of("text")

    @property
    def input_width(self) -> int:
        return sum(declared.width for declared in self.columns)

    @property
    def width(self) -> int:
        return self._n_first + sum(self._groups()) + sum(declared.width for declared in self._of("image"))

    @property
    def _n_first(self) -> int:
        """How many columns stand before the first group: numbers, and whether they are missing."""
        return len(self.numbers) + sum(bool(declared.missing) for declared in self.numbers)

    def _groups(self) -> Iterator[int]:
        """Yield how many columns each category and the bins of each number have, a single one among them."""
        yield from (len(declared.values) for declared in self._of("category"))
        yield from (len(declared.cuts) + 1 for declared in self.numbers if self.bins and declared.cuts)

    @property
    def groups(self) -> tuple[slice, ...]:
        """Where the columns of each category stand, and the bins of each number: of these a row has at most one."""
        ends = accumulate(self._groups(), initial=self._n_first)
        return tuple(slice(start, stop) for start, stop in pairwise(ends))

    @property
    def _n_wide(self) -> int:
        return sum(width >= WIDE for width in self._groups())

    def _full_columns(self) -> NDArray[np.int64]:
        """Return which columns are in no wide group."""
        full = np.full(self.width, True)
        for group in self.groups:
            full[group] = group.stop - group.start < WIDE
        return np.flatnonzero(full)

    @property
    def keeps_zeros(self) -> bool:
        """Whether zeros are encoded as zeros, so that a wide sparse matrix may stay sparse."""
        return len(self.columns) > WIDEST_DENSE and all(
            declared.kind == "number"
            and declared.centre == 0
            and not declared.missing
            and not (self.bins and declared.cuts)
            for declared in self.columns
        )

    def names(self) -> Iterator[str]:
        yield from self._dense_names()
        for declared in self.texts:
            yield from (f"{declared.name}#{j}" for j in range(TEXT_WIDTH))

    def _dense_names(self) -> Iterator[str]:
        yield from (declared.name for declared in self.numbers)
        yield from (f"{declared.name} is missing" for declared in self.numbers if declared.missing)
        for declared in self._of("category"):
            yield from (f"{declared.name}={value}" for value in declared.values)
        for declared in self.numbers if self.bins else ():
            if declared.cuts:
                edges = ["", *(f"{cut:g}" for cut in declared.cuts), ""]
                yield from (f"{declared.name} in {low}..{high}" for low, high in pairwise(edges))
        for declared in self._of("image"):
            yield from (f"{declared.name}[{j}]" for j in range(declared.width))

    def check(self, rows: Rows) -> None:
        """Refuse rows without the declared columns."""
        if not is_matrix(rows):
            found = set(names(rows) or ())
            lacking = [declared.name for declared in self.columns if declared.name not in found]
            if lacking:
                raise InvalidData(f"The rows have no column {lacking[0]!r}, which the schema declares; add it.")
            return
        width = rows.shape[1] if len(rows.shape) == 2 else "no"
        if width != self.input_width or self._of("category", "text"):
            raise InvalidData(
                f"The rows are a matrix with {width} columns and the schema declares {self.input_width} columns"
                f"{', some of them text' if self._of('category', 'text') else ''}; give rows with these columns."
            )

    def encode(self, rows: Rows) -> Matrix:
        """Return rows as a matrix of 32-bit numbers, everything but texts."""
        dense = np.zeros((n_rows(rows), self.width), dtype=np.float32)
        self._fill_blocks(dense, None, rows)
        return dense

    def encode_shortly(self, rows: Rows) -> EncodedRows:
        """Return what `encode` returns, without the zeros of wide groups."""
        columns = self._full_columns()
        full = np.zeros((n_rows(rows), len(columns)), dtype=np.float32)
        ones = np.empty((n_rows(rows), self._n_wide), dtype=np.int32)
        self._fill_blocks(full, ones, rows)
        return EncodedRows(full, columns, ones, self.width)

    def _fill_blocks(self, out: Matrix, ones: NDArray[np.int32] | None, rows: Rows) -> None:
        """Encode rows into zeros, some at a time.

        Parameters
        ----------
        ones
            Where to say in which column of a wide group a row has its 1; None if `out` has such columns too.
        """
        step = max(1, CELLS_AT_ONCE // max(1, self.input_width))
        for start in range(0, len(out), step):
            stop = min(start + step, len(out))
            blank = BlankRows(out[start:stop], None if ones is None else ones[start:stop], self.width)
            self._fill(blank, block_of(rows, start, stop))

    def _fill(self, blank: BlankRows, rows: Rows) -> None:
        """Encode a block of rows into a block of zeros."""
        values = self._values(rows)
        unknown = np.isnan(values)
        if not is_matrix(rows):
            rows = as_arrow(select(rows, [declared.name for declared in self._of("category", "image")]))
        blank.write(_standardised(values, self.numbers, unknown))
        for j, declared in enumerate(self.numbers):
            if declared.missing:
                blank.write(unknown[:, j : j + 1])
        for declared in self._of("category"):
            with legible(declared.name, declared.kind, "rows"):
                place = places(native(rows).column(declared.name), declared.categories, rest=declared.rest)
            place = numbers(place)
            blank.mark(place, ~np.isnan(place), len(declared.values))
        for j, declared in enumerate(self.numbers if self.bins else ()):
            if declared.cuts:
                blank.mark(_bins(values[:, j], declared.cuts), ~unknown[:, j], len(declared.cuts) + 1)
        for declared in self._of("image"):
            blank.write(_image_features(self._pixels(rows, declared), declared))

    def scaled(self, rows: Rows) -> Any:
        """Scale a sparse matrix whose zeros stay zeros."""
        import scipy.sparse as sp

        spreads = np.array([declared.spread for declared in self.columns])
        scaled = sp.csr_matrix(rows, dtype=np.float64, copy=True)
        scaled.data /= spreads[scaled.indices]
        scaled.data = np.nan_to_num(np.clip(scaled.data, -CLIP, CLIP)).astype(np.float32)
        return scaled

    def _values(self, rows: Rows) -> NDArray[np.float64]:
        """Return the numbers of a block of rows, NaN where one is missing."""
        if is_matrix(rows):
            dense = native(rows).toarray() if is_sparse(rows) else rows
            return np.asarray(dense[:, self._places_of_numbers()], dtype=np.float64)
        picked = select(rows, [declared.name for declared in self.numbers])
        if hasattr(picked, "iloc") and all(
            isinstance(kind, np.dtype) and kind.kind in "biuf" for kind in native(picked).dtypes
        ):
            return np.asarray(picked, dtype=np.float64)
        table = as_arrow(picked)
        values = np.empty((n_rows(rows), len(self.numbers)), dtype=np.float64, order="F")  # as the table has them
        for j, declared in enumerate(self.numbers):
            with legible(declared.name, declared.kind, "rows"):
                values[:, j] = numbers(table.column(j))
        return values

    def _places_of_numbers(self) -> list[int]:
        starts = np.cumsum([0, *(declared.width for declared in self.columns)])
        return [
            int(start) for start, one in zip(starts, self.columns, strict=False) if one.kind in ("number", "date")
        ]

    def _pixels(self, rows: Rows, declared: Column) -> NDArray[Any]:
        if is_matrix(rows):
            start = sum(one.width for one in self.columns[: self.columns.index(declared)])
            part = rows[:, start : start + declared.width]
            return np.asarray(part.toarray() if is_sparse(part) else part)
        with legible(declared.name, declared.kind, "rows"):
            return pixels(native(rows).column(declared.name), declared.width)


def _standardised(
    values: NDArray[np.float64], declared: tuple[Column, ...], unknown: NDArray[np.bool_]
) -> NDArray[np.float64]:
    with np.errstate(over="ignore"):
        scaled = values - [one.centre for one in declared]
        scaled /= [one.spread for one in declared]
    np.clip(scaled, -CLIP, CLIP, out=scaled)
    np.copyto(scaled, 0, where=unknown)  # clipped numbers are finite
    return scaled


def _bins(values: NDArray[np.float64], cuts: tuple[float, ...]) -> NDArray[Any]:
    """Return how many cuts lie below each number or at it; what is no number lies somewhere."""
    if len(cuts) > MOST_COMPARED:
        return np.searchsorted(cuts, values, side="right")
    place = np.zeros(len(values), dtype=np.int32)
    for cut in cuts:
        place += values >= cut
    return place


def _image_features(images: NDArray[Any], declared: Column) -> NDArray[Any]:
    """Standardise pixels by one public centre and spread; better features of images belong here."""
    values = np.asarray(images, dtype=np.float64)
    return _standardised(values, (declared,), np.isnan(values))
