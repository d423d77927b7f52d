"""Counts of votes as sums: what all teachers said to all questions, released at once with exact normal noise."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from mapl.data.moments.contributions import ExactSums
from mapl.errors import GuaranteeBroken
from mapl.mechanisms.mechanism import Parameters
from mapl.noise.gaussian import DEVIATION_BITS
from mapl.release.moment_sums import MomentSums
from mapl.types import Budget, Tallies

MOST_TEACHERS = 1 << 20
MOST_REACH = 1 << (DEVIATION_BITS + 2)
"""So many votes, of 2^41.5 steps each at most, add up to less than 2^62: exactly. A mu of 4 is more than anybody
pays for (epsilon 25 at delta 1e-6)."""


@dataclass(frozen=True)
class VoteSums(MomentSums):
    """Add normal noise of deviation 2^40 steps to every count of votes; a vote has as many steps as are paid for.

    A changed unit changes what one teacher says. On every question at most one vote then moves from one class to
    another, whatever the adjacency is, so that m questions change by a vector of norm sqrt(2 m) votes.

    Notes
    -----
    *Guarantee.* That of `MomentSums` with one round of reach `reaches[0]`, as 2 m worth^2 <= reach^2. Proof:
    docs/proofs/federation.md.
    """

    n_classes: int = 2

    name: ClassVar[str] = "vote-sums"
    most_reach: ClassVar[int] = MOST_REACH

    @classmethod
    def for_votes(cls, budget: Budget, *, n_questions: int, n_classes: int) -> Self:
        """Return the sums in which a vote is worth the most that passes the certificate."""
        return replace(cls.for_budget(budget, entries=(n_questions * n_classes,)), n_classes=n_classes)

    @property
    def n_questions(self) -> int:
        return self.entries[0] // self.n_classes

    @property
    def worth(self) -> int:
        """How many steps a vote adds, rounded down."""
        return math.isqrt(self.reaches[0] ** 2 // (2 * self.n_questions))

    @property
    def parameters(self) -> Parameters:
        told = super().parameters
        kept = {name: told[name] for name in ("reaches", "entries", "changes", "noise deviation")}
        return {**kept, "questions": self.n_questions, "classes": self.n_classes, "worth of a vote": self.worth}

    def add_up(self, votes: Tallies) -> ExactSums:
        """Return the counts of all questions and classes in steps. PRIVATE, as votes are."""
        if votes.counts.shape != (self.n_questions, self.n_classes) or votes.n_teachers > MOST_TEACHERS:
            raise GuaranteeBroken("The votes do not fit the plan; nothing was released.")
        sums = ExactSums(self.entries[0])
        sums.add(votes.counts.astype(np.int64).ravel() * self.worth)
        return sums
