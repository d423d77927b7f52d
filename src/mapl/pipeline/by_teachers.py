"""The way of teachers: shards, votes, released labels, a student."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from mapl.data.encoding import for_teachers, sees_spectral, shared_encoder
from mapl.data.rows import n_rows
from mapl.data.table import PrivateTable
from mapl.pipeline.job import Job
from mapl.pipeline.label import Effort, Workplace, label, shards
from mapl.pipeline.method import Made, Method, Work, sized
from mapl.pipeline.request import Request, planned
from mapl.students.student import train_student
from mapl.students.student_file import check_storable
from mapl.teachers import as_learner, rehearse

DEFAULT_TEACHER = "ridge"


def by_teachers(job: Job, request: Request) -> Method:
    """Train teachers on disjoint shards, let them vote on public rows, and train a student on what is released."""
    learners, given, questions = job.learners, job.source.declared, job.source.questions
    teacher = DEFAULT_TEACHER if learners.teacher is None else learners.teacher
    encoder = shared_encoder(given.schema, questions.rows, (teacher, learners.student))
    learner = as_learner(teacher, given.classes, given.schema, for_teachers(encoder))
    rehearse(learner, questions.rows, len(given.classes), n_jobs=learners.n_jobs, time_limit=learners.time_limit)
    check_storable(
        learners.student,
        questions.rows,
        given.classes,
        schema=given.schema,
        strategy=learners.strategy,
        encoder=encoder,
    )
    request = replace(request, spectral=sees_spectral(teacher, encoder))
    plan = planned(request if request.n_teachers is not None else sized(job, request), n_rows(questions.rows))
    job.warn(plan.warning)
    n_teachers = plan.plan.n_teachers

    def on(table: PrivateTable) -> Work:
        sharded = shards(table, job.key, n_teachers, request.adjacency)

        def work(place: Workplace) -> Made:
            with job.progress("Training teachers", n_teachers) as on_progress:
                effort = Effort(learners.n_jobs, learners.time_limit, on_progress)
                labelled = label(sharded, questions.rows, plan, learner, place, coins=job.coins, effort=effort)
            train = partial(
                train_student,
                questions.rows,
                labelled.labels,
                classes=given.classes,
                learner=learners.student,
                strategy=learners.strategy,
                schema=given.schema,
                encoder=encoder,
            )
            return Made(labelled, train if labelled.released.answered else None)

        return work

    return Method(plan.plan, job.settings(learner=learner.name), teacher, on)
