"""What noisy counts say about public rows: every row is taught what the noisy counts of its cell say.

The counts also judge students for free. How many private records of a cell have the class that a student predicts
there is one of its counts, and the noise of counts is symmetric: their sum over cells that the student did not
learn from is an unbiased estimate of how often it is right on private records, made of released numbers alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mapl.data.tables.classes import Classes
from mapl.data.tables.rows import Rows, take
from mapl.errors import InvalidData
from mapl.students.fitting import predict_codes
from mapl.students.lesson import Lesson
from mapl.types import ABSTAIN, Floats, Integers, Labels


@dataclass(frozen=True, slots=True, eq=False)
class Round:
    """One release: the cell of every public row, the noisy count of every cell and class, price and noise."""

    cells: Integers
    counts: Integers
    epsilon: float
    deviation: float = 0.0
    """That of the noise of a count; what the price says where it is not given."""

    @property
    def members(self) -> Integers:
        """How many public rows share the cell of each row."""
        return np.bincount(self.cells, minlength=len(self.counts))[self.cells]

    @property
    def shares(self) -> Floats:
        """How much each row speaks for each class.

        A cell's noisy counts above its third largest, or above zero, shared by its public rows: true counts are
        almost all in one or two classes, and what the third one has tells how high noise alone reaches.
        """
        floor = np.zeros(len(self.counts))
        if self.counts.shape[1] > 2:
            floor = np.maximum(np.sort(self.counts, axis=1)[:, -3], 0)
        above = np.maximum(self.counts - floor[:, None], 0.0)
        return np.asarray(above[self.cells] / self.members[:, None])


@dataclass(frozen=True, slots=True, eq=False)
class TaughtByCounts:
    """Public rows and what the rounds of a run say about them. All public."""

    rows: Rows
    rounds: tuple[Round, ...]

    @property
    def shares(self) -> Floats:
        """How much each row speaks for each class; rounds with less noise count more."""
        total = sum(one.epsilon**2 for one in self.rounds)
        parts = [one.shares * (one.epsilon**2 / total) for one in self.rounds]
        return np.asarray(np.sum(parts, axis=0))

    @property
    def leads(self) -> tuple[Labels, Floats]:
        """The leading class of each row, and by how much it leads."""
        shares = self.shares
        ranked = np.sort(shares, axis=1)
        return shares.argmax(axis=1).astype(np.int32), np.asarray(ranked[:, -1] - ranked[:, -2])

    @property
    def labels(self) -> Labels:
        """The leading class of each row, ABSTAIN where none leads."""
        codes, lead = self.leads
        return np.where(lead > 0, codes, ABSTAIN).astype(np.int32)

    def lesson(self, classes: Classes, where: Integers, seed: int) -> Lesson:
        """Return the lesson of some rows: one copy of a row per class that it speaks for, weighted by how much."""
        shares = self.shares[where]
        row, code = np.nonzero(shares)
        if not len(row):
            raise InvalidData(
                "No cell has a noisy count above zero, so there is nothing to learn from. Take fewer cells, a "
                "larger epsilon, or public rows that resemble the private ones more."
            )
        weights = shares[row, code]
        return Lesson(
            take(self.rows, where[row]), code.astype(np.int32), classes, weights=weights / weights.mean(), seed=seed
        )

    def leading_lesson(self, classes: Classes, where: Integers, seed: int) -> Lesson:
        """Return the lesson of the leading classes of some rows, each by how far it leads."""
        codes, lead = self.leads
        where = where[lead[where] > 0]
        if not len(where):
            return self.lesson(classes, where, seed)
        weights = lead[where] / lead[where].mean()
        return Lesson(take(self.rows, where), codes[where], classes, weights=weights, seed=seed)

    def hits(self, model: Any, classes: Classes, where: Integers) -> Floats:
        """Estimate how many private records near each of some rows a model is right about: a noisy count, shared.

        Added up over cells that the model did not learn from, the estimate is unbiased.
        """
        last = self.rounds[-1]
        predicted = predict_codes(model, take(self.rows, where), classes)
        return np.asarray(last.counts[last.cells[where], predicted] / last.members[where])
