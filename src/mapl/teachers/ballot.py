"""Votes as counts: every teacher is counted once on every question, whatever became of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapl.errors import GuaranteeBroken, InvalidData
from mapl.teachers.checkpoint import broken_ballot, read_arrays, write_arrays
from mapl.types import MAX_TEACHERS, Tallies, positive_integer

FALLBACK = 0
"""The class of a vote that could not be read, and of all votes of a teacher that failed. It depends on no data."""

QUESTIONS_AT_ONCE = 1 << 20


class Ballot:
    """Counts the votes of K teachers on the same questions. Private, and silent about it.

    One teacher adds exactly one vote to every question. So two ballots that differ in one teacher differ, on every
    question, by at most one moved vote.
    """

    __slots__ = ("_counts", "_own_errors", "_voted")

    def __init__(self, n_questions: int, n_classes: int, n_teachers: int) -> None:
        positive_integer(n_questions=n_questions, n_classes=n_classes, n_teachers=n_teachers)
        if n_teachers > MAX_TEACHERS:
            raise InvalidData(f"There are {n_teachers} teachers; mapl counts at most {MAX_TEACHERS}.")
        self._counts = np.zeros((n_questions, n_classes), dtype=np.int32)
        self._voted = np.zeros(n_teachers, dtype=np.bool_)
        self._own_errors = np.zeros((n_teachers, 2), dtype=np.int64)

    @property
    def n_numbers(self) -> int:
        """How many votes a teacher casts."""
        return self.n_questions

    @property
    def n_questions(self) -> int:
        return int(self._counts.shape[0])

    @property
    def n_classes(self) -> int:
        return int(self._counts.shape[1])

    @property
    def n_teachers(self) -> int:
        return len(self._voted)

    def cast(self, k: int, votes: NDArray[Any] | None) -> None:
        """Count the votes of teacher k: class numbers, or None if the teacher failed.

        A number that is no class counts for the fallback class, as do all votes of a teacher that failed.
        """
        if self._voted[k]:
            raise GuaranteeBroken("A teacher voted twice; its unit would count twice, so nothing can be promised.")
        if votes is not None and votes.shape != (self.n_questions,):
            raise GuaranteeBroken("A teacher must vote exactly once on every question.")
        self._voted[k] = True
        if votes is None:
            self._counts[:, FALLBACK] += 1
            return
        for start in range(0, self.n_questions, QUESTIONS_AT_ONCE):
            block = votes[start : start + QUESTIONS_AT_ONCE].astype(np.int64)
            known = (block >= 0) & (block < self.n_classes)
            self._counts[np.arange(start, start + len(block)), np.where(known, block, FALLBACK)] += 1

    def cast_counted(self, teachers: Sequence[int], counts: NDArray[np.int32]) -> None:
        """Count the votes of several teachers that were counted together, one per teacher on every question."""
        which = np.asarray(teachers, dtype=np.int64)
        if self._voted[which].any() or len(np.unique(which)) != len(which):
            raise GuaranteeBroken("A teacher voted twice; its unit would count twice, so nothing can be promised.")
        whole = counts.shape == self._counts.shape and counts.min(initial=0) >= 0
        if not whole or (counts.sum(axis=1) != len(which)).any():
            raise GuaranteeBroken("A teacher must vote exactly once on every question.")
        self._voted[which] = True
        self._counts += counts

    def note_own_errors(self, k: int, wrong: int, tested: int) -> None:
        """Note how many of the rows that were kept from teacher k it got wrong, and how many there were."""
        self._own_errors[k] = wrong, tested

    def own_errors(self) -> NDArray[np.int64]:
        """Return for each teacher how many rows of its own shard it got wrong, and of how many; private."""
        return self._own_errors

    @property
    def n_voted(self) -> int:
        """How many teachers have voted, which says nothing about how."""
        return int(np.count_nonzero(self._voted))

    def missing(self) -> list[int]:
        """Return the teachers that have not voted yet."""
        return [int(k) for k in np.flatnonzero(~self._voted)]

    def tallies(self) -> Tallies:
        """Return the counts once every teacher has voted, and never before."""
        if not self._voted.all():
            raise GuaranteeBroken("Not every teacher has voted; counts of some of them must not be released.")
        return Tallies.checked(self._counts)

    def save(self, path: Path) -> None:
        """Write a checkpoint that only its owner may read; a crash leaves the old one or the new one."""
        write_arrays(path, counts=self._counts, voted=self._voted, own_errors=self._own_errors)

    @classmethod
    def load(cls, path: Path) -> Ballot:
        """Read a checkpoint that `save` wrote."""
        counts, voted, own_errors = read_arrays(path, "counts", "voted", "own_errors")
        whole = counts.ndim == 2 and counts.dtype == np.int32 and voted.ndim == 1 and voted.dtype == np.bool_
        whole = whole and own_errors.shape == (len(voted), 2) and own_errors.dtype == np.int64
        if not whole or counts.min(initial=0) < 0 or (counts.sum(axis=1) != np.count_nonzero(voted)).any():
            raise broken_ballot(path)
        ballot = cls(counts.shape[0], counts.shape[1], len(voted))
        ballot._counts, ballot._voted, ballot._own_errors = counts, voted, own_errors
        return ballot

    def __repr__(self) -> str:
        return f"Ballot({self.n_questions} questions, {self.n_classes} classes, private)"
