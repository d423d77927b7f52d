"""Where a run keeps what must outlive it: in memory for an estimator, in a folder for the command line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from mapl.data.tables.table import PrivateTable
from mapl.planning.plan import Plan
from mapl.release.ledger.ledger import Ledger
from mapl.release.ledger.limits import Limits
from mapl.students.student import Student

if TYPE_CHECKING:
    from mapl.pipeline.case import Case
    from mapl.pipeline.methods.method import Prepared, Results

KeptStudent = Student | tuple[Student | None, ...]
"""What a method trains: one student, or one for each of several labels of which something was released."""


@dataclass(frozen=True, slots=True)
class Workplace:
    """What a method works with: its record of spending, and the votes counted so far.

    Temporary files of teachers, which may hold shards, go to `scratch` where there is such a folder.
    """

    ledger: Ledger
    ballot: Path | None = None
    scratch: Path | None = None


class Place(Protocol):
    """Where a run is carried out."""

    def opened(self, prepared: Prepared[Any], case: Case, table: PrivateTable) -> AbstractContextManager[Workplace]:
        """Begin the run, or find it again after a crash; its ledger is open with the plan. Nothing is spent yet."""

    def publish(self, prepared: Prepared[Any], case: Case, results: Results, workplace: Workplace) -> None:
        """Keep what was released; the spending is on record already."""

    def find_student(self, results: Results) -> KeptStudent | None:
        """Return the student that an interrupted run left here, None where it has yet to be trained."""

    def keep_student(self, student: KeptStudent, results: Results) -> KeptStudent:
        """Keep a student, and return it as it will be used."""


@dataclass(slots=True)
class MemoryPlace:
    """A place that ends with its process. What was paid for stays here, whatever happens afterwards."""

    open_ledger: Callable[[Prepared[Any]], Ledger]
    take_rest: Callable[[Plan, Ledger], None] = lambda plan, ledger: None
    """Notes a run in those that it goes on from, before it spends."""
    plan: Plan | None = field(default=None, init=False)
    results: Results | None = field(default=None, init=False)
    student: Student | None = field(default=None, init=False)
    students: tuple[Student | None, ...] = field(default=(), init=False)
    """One for every label, where there are several."""

    @contextmanager
    def opened(self, prepared: Prepared[Any], case: Case, table: PrivateTable) -> Iterator[Workplace]:
        ledger = self.open_ledger(prepared)
        # Neither teachers nor rows can be resumed, so the ledger has to be new.
        ledger.open(prepared.plan.digest, Limits.of_plan(prepared.plan), fresh=True)
        self.take_rest(prepared.plan, ledger)
        yield Workplace(ledger)

    def publish(self, prepared: Prepared[Any], case: Case, results: Results, workplace: Workplace) -> None:
        self.plan, self.results = prepared.plan, results

    def find_student(self, results: Results) -> KeptStudent | None:
        return None

    def keep_student(self, student: KeptStudent, results: Results) -> KeptStudent:
        if isinstance(student, tuple):
            self.students = student
        else:
            self.student = student
        return student
