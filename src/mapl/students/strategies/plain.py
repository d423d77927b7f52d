"""The plain student: rows without a released label are left out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from mapl.students.fitting import Learning, fit_model
from mapl.students.lesson import Lesson


@dataclass(frozen=True, slots=True)
class Plain:
    """Learn from the answered questions; abstentions and questions not asked are dropped."""

    name: ClassVar[str] = "plain"

    def fit(self, learning: Learning, lesson: Lesson) -> Any:
        return fit_model(learning, lesson)
