"""Active questions as a strategy: how rows are chosen, and which mechanism answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from mapl.errors import InvalidParameter
from mapl.students.active.batches import by_batches
from mapl.students.active.doubt import committee, margin, require_activeml
from mapl.students.active.erm import Linear
from mapl.students.active.inquiry import Inquiry
from mapl.students.active.pool import Pool
from mapl.students.active.robust_cal import RobustCal
from mapl.students.fitting import Learning, fit_model
from mapl.students.lesson import Lesson

MARGIN, COMMITTEE, ROBUST_CAL = "margin", "committee", "robust-cal"
CHOICES = (MARGIN, COMMITTEE, ROBUST_CAL)

DIRECTIONS = 10
"""Robust-cal's threshold grows with the number of columns; in all of them, nearly every row would be in dispute."""

AUTO, HYBRID = "auto", "hybrid"
SERVICES = (AUTO, "link", "noisy-max", "ladder", HYBRID, "lzcw21-gaussian")


@dataclass(frozen=True, slots=True)
class Active:
    """Ask about few public rows, chosen by the labels released so far (PATE-ASQ, LZCW21 Algorithm 4).

    Parameters
    ----------
    choice
        "margin", "committee", or "robust-cal": the paper's learner, for two classes.
    service
        Who answers: "link", "noisy-max", "ladder", "lzcw21-gaussian" (the paper's own), or "hybrid": the ladder
        goes over all public rows first, and questions are about the rest. "auto" is link for up to three classes,
        noisy-max for more.
    """

    choice: str = MARGIN
    service: str = AUTO
    name: ClassVar[str] = "active"

    def __post_init__(self) -> None:
        for what, given, allowed in (
            ("Questions are chosen", self.choice, CHOICES),
            ("Questions are answered", self.service, SERVICES),
        ):
            if given not in allowed:
                raise InvalidParameter(f"{what} by {given!r}; choose one of {', '.join(allowed)}.")

    def mechanism(self, n_classes: int) -> str:
        """Return the name of the mechanism that answers chosen questions."""
        return ("link" if n_classes <= 3 else "noisy-max") if self.service in (AUTO, HYBRID) else self.service

    def refuse_unfit(self, n_classes: int) -> None:
        """Refuse, before anything is spent, what could not be carried out."""
        if self.choice != ROBUST_CAL:
            require_activeml()
        elif n_classes != 2:
            raise InvalidParameter(
                f"There are {n_classes} classes and robust-cal is for two, as the paper's theory of it is; choose "
                "questions by margin or committee."
            )

    def inquiry(self, pool: Pool, limit: int) -> Inquiry:
        """Return the inquiry that asks about at most `limit` rows of a pool."""
        if self.choice == ROBUST_CAL:
            pool = pool.narrowed(DIRECTIONS)
            return RobustCal(Linear(n_columns=pool.rows.shape[1]))(pool, limit)
        return by_batches(pool, limit, margin if self.choice == MARGIN else committee)

    def fit(self, learning: Learning, lesson: Lesson) -> Any:
        """Learn from what was answered. Labels that are there already were asked for by somebody else."""
        return fit_model(learning, lesson)
