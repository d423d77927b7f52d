"""Whose row it is: the identity of every row's privacy unit, as one compact column.

As a list of Python objects, the identities of a large table would take more memory than the table itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self, overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from mapl.types import Silent

AT_ONCE = 1 << 14
"""How many identities are Python objects at the same time."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Identities(Silent, Sequence[bytes]):
    """The identities of some rows, in their order: a sequence of bytes that lives in an Arrow column. Private."""

    column: Any

    @classmethod
    def of(cls, ids: Sequence[bytes]) -> Self:
        """Return ids in this form, whatever sequence holds them."""
        return ids if isinstance(ids, cls) else cls.gathered([ids])

    @classmethod
    def gathered(cls, blocks: Iterable[Sequence[bytes]]) -> Self:
        """Collect identities that come in blocks, such as the digests of rows."""
        kind = pa.large_binary()
        return cls(pa.chunked_array([pa.array(block, kind) for block in blocks], kind))

    @property
    def n_units(self) -> int:
        """How many different identities there are. As private as they are."""
        return len(self) - int(np.count_nonzero(self.grouped()[1]))

    def grouped(self) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
        """Return an order that puts the rows of a unit side by side, and which rows share theirs with the next one.

        Sorted, not hashed: a table of hashes would take several times the memory of the column.
        """
        order = pc.sort_indices(self.column)
        side_by_side = self.column.take(order)
        same = pc.equal(side_by_side.slice(0, max(0, len(self) - 1)), side_by_side.slice(1))
        return order.to_numpy(), np.asarray(same, dtype=np.bool_)

    def __len__(self) -> int:
        return len(self.column)

    def __iter__(self) -> Iterator[bytes]:
        for start in range(0, len(self), AT_ONCE):
            yield from self.column.slice(start, AT_ONCE).to_pylist()

    @overload
    def __getitem__(self, place: int) -> bytes: ...
    @overload
    def __getitem__(self, place: slice) -> Identities: ...
    def __getitem__(self, place: int | slice) -> bytes | Identities:
        if isinstance(place, slice):
            return Identities(self.column[place])
        one: bytes = self.column[int(place)].as_py()
        return one


def take_identities(ids: Sequence[bytes], places: NDArray[np.int64]) -> Iterable[bytes]:
    """Return the identities of some rows, whatever sequence holds them; a column is read in blocks."""
    if isinstance(ids, Identities):
        return Identities(ids.column.take(pa.array(places)))
    return (ids[place] for place in places.tolist())
