"""A method: a way from a private table to a student, in three named steps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Protocol, TypeVar

from mapl.data.tables.table import PrivateTable
from mapl.pipeline.case import Case
from mapl.pipeline.counts.counting import Counted
from mapl.pipeline.place import Workplace
from mapl.pipeline.request import Request
from mapl.pipeline.runs.inputs import n_units
from mapl.pipeline.votes.labelling import Labelled
from mapl.pipeline.watch import Watch
from mapl.planning.plan import Plan
from mapl.release.statement.promise import Promise
from mapl.students.student import Student

Ready = TypeVar("Ready")


@dataclass(frozen=True, slots=True)
class Prepared(Generic[Ready]):
    """What is fixed about a run before a private row is read.

    Parameters
    ----------
    settings
        What may be published of how the run was asked for.
    teacher, student
        Who teaches and who learns, None for nobody or the default; a resumed run must have the same.
    ready
        What the method itself needs to go on: calibrated mechanisms, learners that were tried out, public cells.
    warnings
        What a user should think about before anything is spent.
    """

    plan: Plan
    settings: Mapping[str, Any]
    teacher: Any
    student: Any
    ready: Ready
    warnings: tuple[str | None, ...] = ()


@dataclass(frozen=True, slots=True)
class Results:
    """What a method released of a private table; everything here is public.

    Parameters
    ----------
    lesson
        What the student learns from, None where nothing was released to learn from.
    settings
        Those that only what was released could tell.
    files
        What is published beside the labels, by their names.
    """

    labelled: Labelled
    lesson: Any
    counted: Counted | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    files: Mapping[str, bytes] = field(default_factory=dict)
    warnings: tuple[str | None, ...] = ()


class Method(Protocol[Ready]):
    """A way to learn. Data goes through its steps in this order, and through each of them once."""

    def plan(self, case: Case, request: Request) -> Prepared[Ready]:
        """Fix everything, and try out on public rows whatever could fail later; no private row is read."""

    def promise(self, prepared: Prepared[Ready]) -> Promise:
        """Say what is promised to whom: a method owns its promise as a mechanism owns its price."""

    def release(
        self, prepared: Prepared[Ready], case: Case, table: PrivateTable, place: Workplace, watch: Watch
    ) -> Results:
        """Spend: release what the plan allows, or go on where a killed run left off."""

    def train(self, prepared: Prepared[Ready], case: Case, results: Results) -> Student:
        """Train the student on what was released, and on nothing else."""


def count_public_units(case: Case, request: Request) -> Request:
    """Count the units where who is in the table is public, and hence how many they are."""
    if request.adjacency == "add-remove" or request.n_rows is not None:
        return request
    return replace(request, n_rows=n_units(case.private()))
