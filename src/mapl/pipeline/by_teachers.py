"""The way of teachers: shards, votes, released labels, a student."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from mapl.data.encoding import for_teachers, sees_spectral, shared_encoder
from mapl.data.rows import n_rows
from mapl.data.table import PrivateTable
from mapl.pipeline.inputs import n_units
from mapl.pipeline.job import Job, Learned
from mapl.pipeline.label import Effort, Workplace, label, shards
from mapl.pipeline.published import publish_labels, publish_student
from mapl.pipeline.request import Request, planned
from mapl.release.sqlite_ledger import SqliteLedger
from mapl.students.student import train_student
from mapl.students.student_file import check_storable
from mapl.teachers import as_learner, rehearse

DEFAULT_TEACHER = "ridge"


def by_teachers(job: Job, request: Request) -> Learned:
    """Train teachers on disjoint shards, let them vote on public rows, and train a student on what is released."""
    learners, folder, source, coins = job.learners, job.folder, job.source, job.coins
    given, questions = source.declared, source.questions
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
    table: PrivateTable | None = None
    if request.adjacency != "add-remove" and request.n_rows is None and request.n_teachers is None:
        # Who is in the table is public under these adjacencies, and so is how many they are.
        table = source.private()
        request = replace(request, n_rows=n_units(table))
    plan = planned(request, n_rows(questions.rows))
    job.warn(plan.warning)
    table = source.private() if table is None else table
    sharded = shards(table, job.key, plan.plan.n_teachers, request.adjacency)
    settings = job.settings(learner=learner.name)
    with folder.begun(job.same(plan.plan, settings, teacher), job.key):
        with (
            SqliteLedger(folder.ledger) as ledger,
            job.progress("Training teachers", plan.plan.n_teachers) as on_progress,
        ):
            labelled = label(
                sharded,
                questions.rows,
                plan,
                learner,
                Workplace(ledger, folder.ballot, folder.scratch),
                coins=coins,
                effort=Effort(learners.n_jobs, learners.time_limit, on_progress),
            )
            chain = ledger.export()
        del source, table, sharded  # all that follows is made of public things; private rows need not wait for it
        publish_labels(
            folder,
            labelled,
            plan.plan,
            chain,
            classes=given.classes,
            schema=given.schema,
            settings=settings,
            questions=questions.rows,
            groups=job.tables.groups,
        )
        student = None
        if labelled.released.answered:
            student = publish_student(
                folder,
                partial(
                    train_student,
                    questions.rows,
                    labelled.labels,
                    classes=given.classes,
                    learner=learners.student,
                    strategy=learners.strategy,
                    schema=given.schema,
                    encoder=encoder,
                ),
                labelled.statement.to_json(),
            )
    return Learned(labelled, student, given, questions)
