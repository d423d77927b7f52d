"""What happens inside a run, as a value: which rows reached which teacher, and how each of them voted."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from mapl.data.tables.rows import for_learner, take


@dataclass
class Poll:
    """What one run asked whom, and what they said. As private as can be; a test's own people are made up."""

    shards: list[bytes] = field(default_factory=list)
    questions: bytes = b""
    votes: dict[int, bytes | None] = field(default_factory=dict)
    own_errors: list[list[int]] = field(default_factory=list)
    counts: Any = None

    def changed_teachers(self, other: Poll) -> list[int]:
        return [k for k, votes in self.votes.items() if other.votes[k] != votes]

    def changed_shards(self, other: Poll) -> list[int]:
        return [k for k, (one, two) in enumerate(zip(self.shards, other.shards, strict=True)) if one != two]


def one_moved_vote(one: Any, other: Any) -> bool:
    """Say whether on every question at most one vote has moved from one class to another."""
    difference = one.astype(int) - other.astype(int)
    return bool((np.abs(difference).sum(axis=1) <= 2).all() and (difference.sum(axis=1) == 0).all())


def as_bytes(rows: Any) -> bytes:
    """Return what a learner sees of some rows: their types, levels and cells, whatever table they were cut from."""
    seen = for_learner(rows)
    return repr((list(seen.dtypes), seen.values.tolist()) if hasattr(seen, "dtypes") else seen.tolist()).encode()


def rows_where(table: pa.Table, keep: Any) -> pa.Table:
    return take(table, np.flatnonzero(np.asarray(keep)))
