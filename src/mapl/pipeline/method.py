"""A method: a planned way from a private table to labels and a student, and how a run goes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from mapl.data.table import PrivateTable
from mapl.pipeline.cells import Counted
from mapl.pipeline.inputs import n_units
from mapl.pipeline.job import Job, Learned
from mapl.pipeline.label import Labelled, Workplace
from mapl.pipeline.published import publish_cells, publish_files, publish_labels, publish_student
from mapl.pipeline.request import Request
from mapl.planning.plan import Plan
from mapl.release.sqlite_ledger import SqliteLedger
from mapl.release.with_earlier import with_earlier
from mapl.students.student import Student


@dataclass(frozen=True, slots=True)
class Made:
    """What a method made of a private table; everything here is public.

    ``train`` makes the student, None where nothing was released to learn from. ``settings`` are those that only
    what was released could tell; ``files`` are published beside the labels, by their names.
    """

    labelled: Labelled
    train: Callable[[], Student] | None
    counted: Counted | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    files: Mapping[str, bytes] = field(default_factory=dict)


Work = Callable[[Workplace], Made]
"""Spends: releases what the plan allows, or goes on where a killed run left off."""


@dataclass(frozen=True, slots=True)
class Method:
    """What is fixed about a run before a private row is read, and how it deals with private rows then.

    ``on`` looks at a private table and refuses what cannot work; nothing is released yet. ``teacher`` is who
    teaches, None for nobody; a resumed run must have the same.
    """

    plan: Plan
    settings: Mapping[str, Any]
    teacher: Any
    on: Callable[[PrivateTable], Work]


def sized(job: Job, request: Request) -> Request:
    """Count the units where who is in the table is public, and hence how many they are."""
    if request.adjacency == "add-remove" or request.n_rows is not None:
        return request
    return replace(request, n_rows=n_units(job.source.private()))


def _with_total(made: Made, plan: Plan) -> Made:
    """Let the statement name what all runs promise together, where this one went on from earlier ones."""
    labelled = made.labelled
    return replace(made, labelled=replace(labelled, statement=with_earlier(labelled.statement, plan)))


def carry_out(job: Job, method: Method) -> Learned:
    """Release what a method's plan allows, and publish it."""
    folder, given, questions = job.folder, job.source.declared, job.source.questions
    work = method.on(job.source.private())
    with folder.begun(job.same(method.plan, method.settings, method.teacher), job.key):
        with SqliteLedger(folder.ledger) as ledger:
            made = _with_total(work(Workplace(ledger, folder.ballot, folder.scratch)), method.plan)
            chain = ledger.export()
        del work  # all that follows is made of public things; private rows need not wait for it
        pa.default_memory_pool().release_unused()
        publish_labels(
            folder,
            made.labelled,
            method.plan,
            chain,
            classes=given.classes,
            schema=given.schema,
            settings={**method.settings, **made.settings},
            questions=questions.rows,
            groups=job.tables.groups,
        )
        publish_files(folder, made.files)
        if made.counted is not None:
            publish_cells(folder, made.counted, given.classes, questions.rows)
            job.warn(made.counted.warning)
        student = None
        if made.train is not None:
            student = publish_student(folder, made.train, made.labelled.statement.to_json())
    return Learned(made.labelled, student, given, questions, made.counted)
