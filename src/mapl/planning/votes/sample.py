"""Public votes as an expectation: rows like those to come, with how often each kind occurs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from mapl.errors import InvalidData, InvalidParameter
from mapl.types import Floats, Tallies

GROUPS = 200
"""About how many kinds of questions a sample is summed up by; more tell a forecast nothing new."""


@dataclass(frozen=True, slots=True)
class VoteSample:
    """A histogram of *public* vote rows, finer than an `Agreement` and used in its place.

    ``rows`` are typical rows of votes, ``shares`` how often their kind occurs, ``truths`` for each of them the
    chances that the class with most votes, second most votes, ... is the true label; None where no truth is known.
    Whoever makes one vouches that its votes may be published: votes of teachers that saw public rows only, or those
    of an earlier release. Votes that are about to be aggregated never qualify.

    Examples
    --------
    >>> sample = VoteSample.of(np.array([[9, 1], [6, 4], [2, 8], [0, 10]]), groups=2)
    >>> sample.tallies(20, 2).counts.tolist(), sample.weights().tolist()
    ([[12, 8], [18, 2], [0, 20]], [0.25, 0.5, 0.25])
    """

    rows: tuple[tuple[int, ...], ...]
    shares: tuple[float, ...]
    truths: tuple[tuple[float, ...], ...] | None = None
    words: str | None = None
    """Whose votes they are like, where they are no sample."""

    @classmethod
    def of(cls, counts: NDArray[Any], *, truth: NDArray[Any] | None = None, groups: int = GROUPS) -> Self:
        """Sum public vote counts up: sorted by how sure the winner is, one middle row stands for its neighbours."""
        votes = Tallies.checked(counts)
        if truth is not None and (truth.shape != (len(votes),) or not np.isin(truth, range(votes.n_classes)).all()):
            raise InvalidData(
                f"The truth of a public sample has shape {truth.shape}; give one class number below "
                f"{votes.n_classes} for each of its {len(votes)} rows."
            )
        order = np.lexsort((votes.counts.max(axis=1), votes.distances))
        parts = np.split(order, _cuts(len(order), min(groups, len(order))))
        rows = tuple(tuple(map(int, votes.counts[part[len(part) // 2]])) for part in parts)
        shares = tuple(len(part) / len(order) for part in parts)
        if truth is None:
            return cls(rows, shares)
        ranked = _ranked(np.asarray(votes.counts)) == truth[:, None]
        return cls(rows, shares, tuple(tuple(map(float, ranked[part].mean(axis=0))) for part in parts))

    @property
    def n_teachers(self) -> int:
        """How many teachers voted."""
        return sum(self.rows[0])

    @property
    def n_classes(self) -> int:
        return len(self.rows[0])

    def as_right_as_sure(self) -> Self:
        """Return the sample with chances of the truth where none are known: those that the votes themselves give.

        Where 80% of the teachers vote for the winner, it is taken to be right on 80% of the questions.
        """
        if self.truths is not None:
            return self
        shares = np.sort(np.array(self.rows, dtype=np.float64), axis=1)[:, ::-1] / self.n_teachers
        return replace(self, truths=tuple(map(tuple, shares.tolist())))

    def __str__(self) -> str:
        return self.words or f"that of a public sample of votes in {len(self.rows)} groups"

    def tallies(self, n_teachers: int, n_classes: int) -> Tallies:
        """Return the typical rows as votes of K teachers."""
        counts = np.array(self.rows, dtype=np.int64)
        if counts.shape[1] != n_classes:
            raise InvalidParameter(
                f"The public sample has votes on {counts.shape[1]} classes and {n_classes} are expected; "
                "sample votes on the same question."
            )
        total = int(counts[0].sum())
        # Largest remainders: shares are kept as closely as whole votes allow, and their order with them.
        whole, rest = np.divmod(counts * n_teachers, total)
        left = n_teachers - whole.sum(axis=1, keepdims=True)
        place = np.argsort(np.argsort(-(rest * n_classes) + np.arange(n_classes), axis=1), axis=1)
        return Tallies(whole + (place < left))

    def weights(self) -> Floats:
        """Return how often each kind of row occurs."""
        return np.array(self.shares)

    def truth(self, n_teachers: int, n_classes: int) -> Floats | None:
        """Return for each row of `tallies` the chance that each class is the true label, if that is known."""
        if self.truths is None:
            return None
        by_rank = np.array(self.truths)
        law = np.zeros_like(by_rank)
        np.put_along_axis(law, _ranked(np.asarray(self.tallies(n_teachers, n_classes).counts)), by_rank, axis=1)
        return law


def _cuts(n_rows: int, groups: int) -> NDArray[np.int64]:
    """Return where sorted rows are cut into groups: evenly, and finer towards both ends, where forecasts are made.

    Half of the groups at most go to the ends; the first and last rows stand nearly alone.
    """
    even = np.linspace(0, n_rows, max(groups // 2, 1) + 1)
    ends = np.geomspace(1, max(n_rows / len(even), 1), max(groups // 4, 1))
    cuts = np.unique(np.round(np.concatenate([even, ends, n_rows - ends])).astype(np.int64))
    return cuts[(cuts > 0) & (cuts < n_rows)]


def _ranked(counts: NDArray[Any]) -> NDArray[np.int64]:
    """Return the classes of each row by votes, most first, ties to the lowest index."""
    return np.argsort(-counts.astype(np.int64), axis=1, kind="stable")
