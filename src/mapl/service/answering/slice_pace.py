"""How large slices of large requests are: as many rows as a moment allows, by how long the last ones took to read.

Slices are entries of the public ledger. So only the reading of questions is timed, which is a matter of the
questions and of the machine; how long teachers and coins take is foreseen by public numbers, never measured.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter

MOMENT = 0.01
"""Seconds that a slice should take while others ask."""

FEWEST = 8
"""Slices have at least this part of the most rows: each costs one write to the disk, however small it is."""

ALONE = 4
"""How much larger than that slices are while nobody else asks."""

MEMORY = 0.5
"""How much of what is known of earlier slices is kept when one more was timed."""


@dataclass(slots=True)
class SlicePace:
    """Rows per slice; what is answered does not depend on it.

    Parameters
    ----------
    most
        How many rows a slice has at most while others ask.

    Examples
    --------
    >>> pace = SlicePace(512)
    >>> pace.rows(alone=False), pace.rows(alone=True)
    (64, 2048)
    >>> pace.note(64, 0.0016), pace.rows(alone=False), pace.rows(alone=False, weight=answering_weight(250))
    (None, 400, 64)
    """

    most: int
    _seconds_per_row: float | None = None

    def rows(self, *, alone: bool, weight: float = 1.0) -> int:
        """Return how many rows the next slice may have, where a row takes `weight` times as long as reading it."""
        if alone:
            return ALONE * self.most
        fewest = max(1, self.most // FEWEST)
        if self._seconds_per_row is None:
            return fewest
        return min(max(int(MOMENT / (weight * self._seconds_per_row)), fewest), self.most)

    def note(self, rows: int, seconds: float) -> None:
        """Take in how long reading a slice took."""
        now = seconds / rows
        before = now if self._seconds_per_row is None else self._seconds_per_row
        self._seconds_per_row = MEMORY * before + (1 - MEMORY) * now

    @contextmanager
    def timing(self, rows: int) -> Iterator[None]:
        """Take in how long the block takes, which reads so many rows."""
        began = perf_counter()
        yield
        self.note(rows, perf_counter() - began)


def answering_weight(teachers: int) -> float:
    """Return how much longer than reading a row it takes to answer it: looking up, voting, recording.

    Roughly, by measurement (`benchmarks/serve.py`, linear teachers of adult). Others take longer; what a slice may
    have at most holds for them, too.
    """
    return 5 + teachers / 60
