"""What somebody asks a planner: public facts, of which one may be left open, and perhaps a wish."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Literal

from mapl.errors import InvalidParameter
from mapl.planning.rules.teachers import FEWEST_TEACHERS, SMALLEST_SHARD, teachers_for
from mapl.planning.votes.agreement import Agreement
from mapl.planning.votes.learning_curve import LearningCurve
from mapl.planning.votes.measured import MeasuredVotes
from mapl.planning.votes.model import ExpectedVotes, expect_votes, shorten_votes
from mapl.planning.votes.sample import VoteSample
from mapl.types import Budget

Unknown = Literal["epsilon", "rows", "queries", "teachers", "max_abstentions"]

MOST = 10**9
"""Rows, questions and teachers beyond this are a slip of the pen, not a plan."""
MOST_EPSILON = 27.0
"""Noise is calibrated up to this epsilon."""
MOST_CLASSES = 100
"""More classes take many seconds to plan for; runs may have more."""
EXTRAPOLATED = 2.0
"""Teachers are planned with at least this part of the fewest rows that the learning curve knows."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What a plan should reach: a share (or a number above 1) of questions, or an accuracy of the student.

    Answers count if the plan loses at most one point of label accuracy to noise: answering at random is no answer.
    """

    answered: float | None = None
    accuracy: float | None = None

    def __post_init__(self) -> None:
        if (self.answered is None) == (self.accuracy is None):
            raise InvalidParameter(
                "A wish is about answered questions or about accuracy; give exactly one of them."
            )
        if self.answered is not None and not 0 < self.answered <= MOST:
            raise InvalidParameter(
                f"The wish is {self.answered:g} answered questions; give a share in (0, 1], or a number above 1."
            )
        if self.accuracy is not None and not 0 < self.accuracy < 1:
            raise InvalidParameter(f"The wished accuracy is {self.accuracy:g}; it must lie between 0 and 1.")

    @property
    def is_share(self) -> bool:
        """Whether it asks for a share of the questions, which more questions make harder to reach."""
        return self.answered is not None and self.answered <= 1

    def __str__(self) -> str:
        if self.accuracy is not None:
            return f"a student accuracy of {self.accuracy:.4g}"
        assert self.answered is not None
        return (
            f"{100 * self.answered:.4g}% of the questions answered"
            if self.is_share
            else f"{self.answered:g} answers"
        )


@dataclass(frozen=True, slots=True)
class Question:
    """Public facts that a plan is made of. Nothing here comes from private rows or votes.

    Parameters
    ----------
    delta, epsilon
        The budget.
    rows, queries
        About how many private units there are, and how many public questions.
    teachers, max_abstentions
        K and T where they are fixed; None leaves them to the search.
    curve, measured, agreement, public_votes
        What is expected of teachers: a learning curve, votes measured on public rows, a declared agreement, or
        public votes. With none of them the default agreement is assumed.
    """

    delta: float
    epsilon: float | None = None
    rows: int | None = None
    queries: int | None = None
    n_classes: int = 2
    teachers: int | None = None
    max_abstentions: int | None = None
    curve: LearningCurve | None = None
    measured: MeasuredVotes | None = None
    agreement: Agreement | None = None
    public_votes: VoteSample | None = None
    must_answer: bool = False
    adjacency: str = "add-remove"
    unit: str = "record"

    def __post_init__(self) -> None:
        Budget(1.0 if self.epsilon is None else self.epsilon, self.delta)
        if self.epsilon is not None and self.epsilon > MOST_EPSILON:
            raise InvalidParameter(
                f"epsilon is {self.epsilon:g}; plans are made up to {MOST_EPSILON:g}, and beyond 10 it promises "
                "hardly anything."
            )
        whole = {
            "rows": self.rows,
            "queries": self.queries,
            "teachers": self.teachers,
            "max_abstentions": self.max_abstentions,
        }
        for name, value in whole.items():
            if value is not None and not (isinstance(value, int) and 1 <= value <= MOST):
                raise InvalidParameter(f"{name} is {value}; give a whole number from 1 to {MOST:,}.")
        if not 2 <= self.n_classes <= MOST_CLASSES:
            raise InvalidParameter(f"There are {self.n_classes} classes; plans are made for 2 to {MOST_CLASSES}.")
        if self.teachers is not None and self.rows is not None and self.teachers > self.rows:
            raise InvalidParameter(
                f"{self.teachers} teachers cannot learn from {self.rows} rows; take fewer teachers than rows."
            )
        if self.max_abstentions is not None and self.queries is not None and self.max_abstentions > self.queries:
            raise InvalidParameter(
                f"max_abstentions is {self.max_abstentions} and there are {self.queries} questions; a run cannot "
                "abstain more often than it is asked."
            )
        expected = (self.curve, self.measured, self.agreement, self.public_votes)
        if sum(given is not None for given in expected) > 1:
            raise InvalidParameter(
                "Give a learning curve, a public sample, an agreement or public votes, and one of them only: each "
                "says what to expect of teachers."
            )
        if self.public_votes is not None and self.public_votes.n_classes != self.n_classes:
            raise InvalidParameter(
                f"The public votes are on {self.public_votes.n_classes} classes and {self.n_classes} are given; "
                "leave the number of classes away, or give votes on the same question."
            )
        if self.curve is not None:
            _refuse_guessing(self.curve.points, self.n_classes)
        elif self.measured is not None:
            # A few rows of a sample may be too few to learn from; all of them should not be.
            _refuse_guessing(self.measured.curve.points[-1:], self.n_classes)

    @property
    def budget(self) -> Budget:
        assert self.epsilon is not None
        return Budget(self.epsilon, self.delta)

    @property
    def learning_curve(self) -> LearningCurve | None:
        """How one learner does by rows, where that is known."""
        return self.measured.curve if self.measured is not None else self.curve

    @property
    def student_curve(self) -> LearningCurve | None:
        """The learning curve, where it tells how much a student lacks with few labels."""
        curve = self.learning_curve
        return None if curve is None or curve.is_flat else curve

    def votes(self, n_teachers: int) -> ExpectedVotes:
        """Return the votes to expect of so many teachers."""
        if self.public_votes is not None:
            return shorten_votes(self.public_votes)
        if self.learning_curve is None:
            return ExpectedVotes.typed(self.agreement or Agreement.default())
        assert self.rows is not None
        each = self.rows / n_teachers
        if self.measured is not None:
            return self.measured.votes(each, n_teachers)
        return expect_votes(self.learning_curve, each, n_teachers, self.n_classes)

    def range_of_teachers(self) -> tuple[int, int]:
        """Return the fewest and the most teachers worth considering."""
        if self.teachers is not None:
            return self.teachers, self.teachers
        curve = self.learning_curve
        if self.public_votes is not None:
            # The votes are those of so many teachers; how others would agree they do not tell.
            return self.public_votes.n_teachers, self.public_votes.n_teachers
        if curve is None:
            # A declared agreement says nothing about other numbers of teachers, so the usual rule sets it.
            only = teachers_for(self.rows, self.budget)[0]
            return only, only
        assert self.rows is not None
        shard = max(SMALLEST_SHARD, curve.measured[0] / EXTRAPOLATED)
        most = max(1, math.floor(self.rows / shard))
        return min(FEWEST_TEACHERS, most), most

    def unknown(self) -> Unknown | None:
        """Return which of epsilon, rows and queries was left out, refusing two of them."""
        needed: tuple[Unknown, ...] = (
            ("epsilon", "queries") if self.rows_are_spare else ("epsilon", "rows", "queries")
        )
        missing = [name for name in needed if getattr(self, name) is None]
        if len(missing) > 1:
            raise InvalidParameter(
                f"{' and '.join(missing)} are not given; one of epsilon, rows and queries may be left out, "
                "together with a wish."
            )
        return missing[0] if missing else None

    @property
    def rows_are_spare(self) -> bool:
        """Whether a plan can do without the number of rows: where nothing is derived from it."""
        return self.learning_curve is None

    def having(self, name: Unknown, value: Any) -> Question:
        """Return the question with one quantity set."""
        changes: dict[str, Any] = {name: value}
        return replace(self, **changes)


def _refuse_guessing(points: tuple[tuple[float, float], ...], n_classes: int) -> None:
    guessing = 1 - 1 / n_classes
    for n, rate in points:
        if rate >= guessing:
            raise InvalidParameter(
                f"The learning curve has the error rate {rate:g} at {n:g} rows, and guessing among {n_classes} "
                f"classes errs on {guessing:g}; a learner no better than guessing teaches nothing. Leave that "
                "point out, or take a better learner."
            )
