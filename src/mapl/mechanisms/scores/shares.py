"""Shares: how probable every teacher finds each of several classes, in whole steps; private, like votes.

One teacher has one point per question: whole numbers from 0 to TOP that add up to TOP, one for each class. What is
published is their sum, class by class, with noise (`noisy_shares`). Proof: docs/proofs/soft-labels.md, section 3.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from mapl.errors import InvalidData
from mapl.mechanisms.scores.scores import TOP, Scores
from mapl.types import MAX_TEACHERS, Integers


@dataclass(frozen=True, slots=True, repr=False)
class Shares(Scores):
    """The shares that K teachers give C classes, by question, teacher and class: private, and silent about it."""

    @classmethod
    def checked(cls, marks: NDArray[Any]) -> Self:
        """Accept whole numbers from 0 to TOP that add up to TOP over the classes; refuse anything else."""
        if marks.ndim != 3 or 0 in marks.shape or marks.shape[1] > MAX_TEACHERS:
            raise InvalidData(
                f"The shares have shape {marks.shape}; expected questions, teachers and classes, in this order."
            )
        whole = marks.dtype.kind in "iu"
        if not whole or marks.min() < 0 or marks.max() > TOP or (marks.sum(axis=2) != TOP).any():
            raise InvalidData(f"Shares must be whole numbers from 0 to {TOP} that add up to {TOP}.")
        return cls(marks.astype(np.uint16))

    @property
    def n_classes(self) -> int:
        return int(self.marks.shape[2])

    def take(self, where: Integers) -> Self:
        """Return the shares on some of the questions, in the given order."""
        return type(self)(self.marks[where])

    def __repr__(self) -> str:
        return f"Shares({len(self)} questions, private)"


def even_shares(n_classes: int) -> NDArray[np.uint16]:
    """Return what a teacher says that says nothing: the same share for every class, up to rounding."""
    return np.diff(TOP * np.arange(n_classes + 1) // n_classes).astype(np.uint16)
