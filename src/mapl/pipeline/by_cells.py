"""The way of cells: public cells, noisy counts, a student."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from mapl.data.encoding import shared_encoder
from mapl.data.rows import n_rows
from mapl.pipeline.cells import count, planned_cells, train
from mapl.pipeline.inputs import n_units
from mapl.pipeline.job import Job, Learned
from mapl.pipeline.label import Workplace
from mapl.pipeline.published import publish_cells, publish_labels, publish_student
from mapl.pipeline.request import Request
from mapl.release.sqlite_ledger import SqliteLedger
from mapl.students.student_file import check_storable

CELLS = "cells"


def by_cells(job: Job, request: Request, why: str) -> Learned:
    """Count private records in public cells, and train a student on the noisy counts."""
    learners, folder, source = job.learners, job.folder, job.source
    given, questions = source.declared, source.questions
    encoder = shared_encoder(given.schema, questions.rows, (learners.student,))
    check_storable(learners.student, questions.rows, given.classes, schema=given.schema, encoder=encoder)
    table = None
    if request.adjacency != "add-remove" and request.n_rows is None:
        table = (
            source.private()
        )  # who is in the table is public under these adjacencies, and so is how many they are
        request = replace(request, n_rows=n_units(table))
    plan = planned_cells(request, questions.rows, given.schema, encoder, why=why)
    table = source.private() if table is None else table
    settings = job.settings(method=CELLS, partition=request.partition, rounds=request.rounds)
    student_of = partial(
        train,
        questions=questions.rows,
        request=request,
        schema=given.schema,
        learner=learners.student,
        encoder=encoder,
    )
    with folder.begun(job.same(plan.plan, settings, None), job.key):
        with SqliteLedger(folder.ledger) as ledger, job.progress("Counting in cells", n_rows(table.rows)):
            counted = count(
                table,
                questions.rows,
                plan,
                job.key,
                Workplace(ledger),
                coins=job.coins,
                student_of=student_of,
            )
            chain = ledger.export()
        del table  # what follows is made of public things, and private rows are not kept longer than needed
        publish_labels(
            folder,
            counted.labelled,
            plan.plan,
            chain,
            classes=given.classes,
            schema=given.schema,
            settings=settings,
            questions=questions.rows,
            groups=job.tables.groups,
        )
        publish_cells(folder, counted, given.classes, questions.rows)
        job.warn(counted.warning)
        student = publish_student(folder, partial(student_of, counted.rounds), counted.labelled.statement.to_json())
    return Learned(counted.labelled, student, given, questions, counted)
