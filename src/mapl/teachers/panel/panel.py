"""What a panel is: all teachers of a run at once, each with exactly one vote on every question."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from mapl.data.tables.rows import Rows
from mapl.teachers.ballot import FALLBACK
from mapl.types import Tallies


class Panel(Protocol):
    """Fitted teachers that wait for questions. Private, and silent about it.

    The votes on a row are a function of that row and of the teachers alone, whatever else is in the batch. A
    teacher that failed in training, fails now or answers with no declared class votes for the fallback class.
    """

    @property
    def n_teachers(self) -> int: ...

    @property
    def n_classes(self) -> int: ...

    def votes(self, rows: Rows) -> Tallies:
        """Count one vote of every teacher on each row."""
        ...


def count_votes(votes: NDArray[Any], n_classes: int) -> Tallies:
    """Count votes, one row per question and one column per teacher; what is no class counts for the fallback."""
    votes = np.where((votes >= 0) & (votes < n_classes), votes, FALLBACK).astype(np.int64, copy=False)
    n = len(votes)
    places = votes + np.arange(n, dtype=np.int64)[:, None] * n_classes
    counts = np.bincount(places.ravel(), minlength=n * n_classes).reshape(n, n_classes)
    return Tallies.checked(counts.astype(np.int32))
