"""Private rows behind a type of their own: what fits or draws something of public rows does not take them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mapl.data.tables.rows import Rows, block_of, n_rows, take
from mapl.data.units.identities import Identities
from mapl.data.units.row_coins import row_coins
from mapl.data.units.row_digests import digests, rows_at_once
from mapl.types import Labels, Silent, Words

COINS_AT_ONCE = 1 << 14

MOST_ROOM = 512 << 20
"""So many bytes are kept beside rows at most: what would take more is soon made anew."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class PrivateRows(Silent):
    """The features of private records: they have no shape, no columns and no cells, and say nothing.

    So they are no `Rows`: mypy refuses them wherever rows are encoded, drafted, cut into cells, learned from or
    printed, and where nothing checks types such a function finds nothing to take hold of. Whoever hands records to
    a teacher, or adds up what each says by itself, opens them; `tests/data/test_private_rows.py` lists who does.

    Parameters
    ----------
    _forget
        What gives back the memory of rows that were looked at and lie in scratch files, where they do.
    _room
        How many bytes of what is made of rows in memory may be kept beside them.
    """

    _rows: Rows
    _forget: Callable[[], None] | None = None
    _room: int = MOST_ROOM

    def __len__(self) -> int:
        return n_rows(self._rows)

    @property
    def room(self) -> int:
        """How many bytes may be kept beside the rows; none where they take too much memory themselves."""
        return self._room if self._forget is None else 0

    def take(self, where: NDArray[np.int64]) -> PrivateRows:
        """Return a copy of some rows, as private as all of them."""
        return PrivateRows(take(self._rows, where), _room=self._room)

    def contents(self, labels: Labels | None = None) -> Identities:
        """Return what every row (with its label) says in 16 bytes: its identity where it has no id."""
        return Identities.gathered(digests(self._rows, labels))

    def coins(self, secret: bytes) -> Iterator[Words]:
        """Yield keyed numbers of rows, block by block, each made from that row alone."""
        for _, block in self.open_blocks(rows_at_once(self._rows, COINS_AT_ONCE)):
            yield row_coins(block, secret)

    def open(self) -> Rows:
        """Return the rows themselves."""
        return self._rows

    def open_blocks(self, size: int) -> Iterator[tuple[int, Rows]]:
        """Yield the number of the first row of each block, and the block; behind it, memory is given back."""
        for start in range(0, len(self), size):
            yield start, block_of(self._rows, start, min(start + size, len(self)))
            self.let_go()

    def let_go(self) -> None:
        """Give back the memory of rows that lie in scratch files; they are there when somebody looks again."""
        if self._forget is not None:
            self._forget()
