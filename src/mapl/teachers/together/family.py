"""A family of teachers: what is solved for many shards of one shape, in operations that keep shards apart.

A stack holds shards with equally many rows. Whatever is done to it is done element by element, or to one shard's
matrix at a time (`numpy.matmul` and LAPACK are called once per matrix). So no bit of a solution depends on which
other shards are in the stack, on how many, or on what is in them. Proof: docs/proofs/shards.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from mapl.types import Flags, Floats, Silent


@dataclass(frozen=True, slots=True, repr=False)
class Stack:
    """Some shards with equally many rows and equally many classes. Private.

    Parameters
    ----------
    rows
        Shards x rows x columns.
    places
        The place of each row's class among the classes of its own shard.
    seeds
        The number of each teacher, for those that draw lots.
    """

    rows: Floats
    places: NDArray[np.int64]
    n_classes: int
    seeds: tuple[int, ...] = ()

    def __len__(self) -> int:
        return len(self.rows)

    def members(self) -> Floats:
        """Return for each shard a row per class that is 1 at the class's rows."""
        classes = np.arange(self.n_classes)[:, None]
        return np.asarray(self.places[:, None, :] == classes, dtype=np.float64)

    def __repr__(self) -> str:
        return f"Stack({len(self)} shards, private)"


@dataclass(frozen=True, slots=True, repr=False)
class Solved(Silent):
    """Linear scores of each shard of a stack: one row of weights for two classes, else one per class. Private.

    ``settled`` is False where a shard is left to scikit-learn itself; that depends on this shard alone.
    """

    coef: Floats
    intercept: Floats
    settled: Flags


class TeacherFamily(Protocol):
    """Teachers that decide by the largest of linear scores, in features made of each row alone."""

    @property
    def scalable(self) -> bool:
        """Whether features are the row itself, so that scales of a shard can be put into its weights."""
        ...

    @property
    def narrows(self) -> bool:
        """Whether it works with at most as many columns as a shard has rows, so that more wide shards fit."""
        ...

    def features(self, rows: Any) -> Any:
        """Return what the scores of rows are made of."""
        ...

    def solve(self, stack: Stack) -> Solved:
        """Learn from every shard of a stack, each by itself."""
        ...


def one_score(scores: Floats, constants: Floats) -> tuple[Floats, Floats]:
    """Return scores of classes as a teacher keeps them: of two classes, how far the second is above the first."""
    if scores.shape[1] != 2:
        return scores, constants
    return scores[:, 1:] - scores[:, :1], constants[:, 1:] - constants[:, :1]


def transpose(matrices: Floats) -> Floats:
    """Return the transpose of every matrix of a stack."""
    return matrices.transpose(0, 2, 1)
