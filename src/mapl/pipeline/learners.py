"""Who teaches and who learns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mapl.engines.address import LOCAL, EngineAddress
from mapl.engines.cluster import Cluster
from mapl.engines.opening import open_cluster

if TYPE_CHECKING:
    from mapl.students.active import Active
    from mapl.students.strategies.names import Strategy

TIME_LIMIT = 600.0
"""Seconds of computing that one teacher may use by default: a learner that hangs must not hang a run for ever."""


@dataclass(frozen=True, slots=True)
class Learners:
    """Who teaches and who learns, by their names and as what they are; without a teacher, the default one."""

    teacher: Any = None
    student: Any = None
    strategy: str | Active | Strategy = "auto"
    time_limit: float | None = TIME_LIMIT
    n_jobs: int = -1
    engine: str = LOCAL
    """Where teachers are trained and rows counted, as `mapl.engines.address` reads it; no result depends on it."""

    def __post_init__(self) -> None:
        EngineAddress.parse(self.engine)

    def open_cluster(self) -> Cluster | None:
        """Return the workers of the engine, None for this machine."""
        from mapl.teachers.workers.pool import n_workers

        return open_cluster(self.engine, n_workers(self.n_jobs))

    @property
    def wants_teachers(self) -> str | None:
        """What was asked for that only teachers have, if anything."""
        if self.teacher is not None:
            return "a learner"
        return None if self.strategy == "auto" else "a strategy of the student"

    @property
    def active(self) -> Active | None:
        """How questions are chosen, None where all public rows are asked."""
        from mapl.students.active import Active  # with scikit-learn behind it: a verb's help has no need of that

        if isinstance(self.strategy, Active):
            return self.strategy
        return Active() if self.strategy == Active.name else None

    @property
    def names(self) -> dict[str, str]:
        """What may be published of the student: how it is called, and how it learns."""
        strategy = self.strategy
        called = "auto" if self.student is None else _name(self.student)
        return {"student": called, "strategy": strategy if isinstance(strategy, str) else strategy.name}

    @property
    def teacher_name(self) -> str | None:
        """What may be published of the teachers' learner, None where none was named."""
        return None if self.teacher is None else _name(self.teacher)


def _name(learner: Any) -> str:
    """Return what a learner is called; its settings may name local files."""
    return learner if isinstance(learner, str) else type(learner).__name__
