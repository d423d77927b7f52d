"""The way of cells: public cells, noisy counts, a student."""

from __future__ import annotations

from functools import partial

from mapl.data.constant_columns import constant_warning
from mapl.data.encoding import shared_encoder
from mapl.data.table import PrivateTable
from mapl.pipeline.cells import STEPS, count, planned_cells, train
from mapl.pipeline.job import Job
from mapl.pipeline.label import Workplace
from mapl.pipeline.method import Made, Method, Work, sized
from mapl.pipeline.one_each import one_each
from mapl.pipeline.request import Request
from mapl.students.student_file import check_storable

CELLS = "cells"


def by_cells(job: Job, request: Request, why: str) -> Method:
    """Count private records in public cells, and train a student on the noisy counts."""
    learner, given, questions = job.learners.student, job.source.declared, job.source.questions.rows
    encoder = shared_encoder(given.schema, questions, (learner,))
    check_storable(learner, questions, given.classes, schema=given.schema, encoder=encoder)
    request = sized(job, request)
    plan = planned_cells(request, questions, given.schema, encoder, why=why)
    job.warn(constant_warning(questions, given.schema))
    student_of = partial(
        train, questions=questions, request=request, schema=given.schema, learner=learner, encoder=encoder
    )

    def on(table: PrivateTable) -> Work:
        records = one_each(table, request, job.key)

        def work(place: Workplace) -> Made:
            with job.progress("Counting in cells", STEPS) as on_progress:
                counted = count(
                    records,
                    questions,
                    plan,
                    job.key,
                    place,
                    coins=job.coins,
                    student_of=student_of,
                    on_progress=on_progress,
                )
            train_it = partial(student_of, counted.rounds) if counted.labelled.released.answered else None
            return Made(counted.labelled, train_it, counted)

        return work

    settings = job.settings(
        method=CELLS, partition=request.partition, rounds=request.rounds, per_unit=request.per_unit
    )
    return Method(plan.plan, settings, None, on)
