"""The way of cells: public cells, noisy counts, a student."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from mapl.data.constant_columns import constant_warning
from mapl.data.encoding import shared_encoder
from mapl.data.rows import Rows, n_rows, take
from mapl.data.table import PrivateTable
from mapl.pipeline.cells import STEPS, count, train
from mapl.pipeline.job import Job
from mapl.pipeline.label import Workplace
from mapl.pipeline.method import Made, Method, Work, sized
from mapl.pipeline.one_each import one_each
from mapl.pipeline.planned_cells import planned_cells
from mapl.pipeline.request import Request
from mapl.students.on_counts import Round
from mapl.students.student import Student
from mapl.students.student_file import REHEARSED_ROWS, check_read_again

CELLS = "cells"


def by_cells(job: Job, request: Request, why: str) -> Method:
    """Count private records in public cells, and train a student on the noisy counts."""
    learner, given, questions = job.learners.student, job.source.declared, job.source.questions.rows
    encoder = shared_encoder(given.schema, questions, (learner,))
    student_of = partial(
        train, questions=questions, request=request, schema=given.schema, learner=learner, encoder=encoder
    )
    rehearse(student_of, questions, len(given.classes))
    plan = planned_cells(sized(job, request), questions, given.schema, encoder, why=why)
    job.warn(constant_warning(questions, given.schema))

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


def rehearse(student_of: Callable[..., Student], questions: Rows, n_classes: int) -> None:
    """Make sure, before anything is spent, that a student can learn from counts, be saved and be read again.

    A few public rows have made-up counts. Learners that take no weights, for one, are found here.
    """
    some = np.arange(min(REHEARSED_ROWS, n_rows(questions)), dtype=np.int64)
    made_up = np.eye(n_classes, dtype=np.int64)[some % n_classes]
    rows = take(questions, some)
    check_read_again(student_of((Round(some, made_up, 1.0),), questions=rows), rows)
