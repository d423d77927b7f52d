"""The way of soft labels: shards, scores, released probabilities, a student that predicts probabilities."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from mapl.data.encoding import for_teachers, sees_spectral, shared_encoder
from mapl.data.rows import Rows, n_rows, take
from mapl.data.table import PrivateTable
from mapl.errors import InvalidParameter
from mapl.pipeline.job import Job
from mapl.pipeline.label import Effort, Workplace, shards
from mapl.pipeline.method import Made, Method, Work, sized
from mapl.pipeline.request import Request
from mapl.pipeline.soft import DESIGNS, planned_soft, soft_label, targets_of
from mapl.pipeline.soft_file import FILE, soft_file
from mapl.pipeline.soft_spread import measured_spread
from mapl.planning.teachers_rule import teachers_for
from mapl.release.soft_labels import MEDIANS
from mapl.students.soft import train_soft_student
from mapl.students.student import Student
from mapl.students.student_file import REHEARSED_ROWS, check_read_again
from mapl.teachers import Learner, as_learner, rehearse
from mapl.teachers.scores import score_learner
from mapl.types import Labels

DEFAULT_SCORER = "logistic"
"""Its probabilities are good with few rows."""

USUAL_ROWS = 100
"""Rows per teacher that a spread is measured at where nobody says how many there are."""


def is_soft(strategy: object) -> bool:
    """Say whether a strategy learns from soft labels."""
    return isinstance(strategy, str) and strategy in DESIGNS


def by_soft(job: Job, request: Request, strategy: str) -> Method:
    """Train teachers on disjoint shards, and train a student on what is released of their scores."""
    if request.method == "cells" or request.candidates:
        raise InvalidParameter(
            "Soft labels come from teachers; leave --method away, or take another strategy for the student."
        )
    learners, given, questions = job.learners, job.source.declared, job.source.questions
    teacher = DEFAULT_SCORER if learners.teacher is None else learners.teacher
    encoder = shared_encoder(given.schema, questions.rows, (teacher, None))
    learner = score_learner(as_learner(teacher, given.classes, given.schema, for_teachers(encoder)), given.classes)
    student_of = partial(
        train_soft_student, classes=given.classes, learner=learners.student, schema=given.schema, encoder=encoder
    )
    refuse_unfit_student(student_of, questions.rows)
    rehearse(learner, questions.rows, 2, n_jobs=learners.n_jobs, time_limit=learners.time_limit)
    request = replace(request, spectral=sees_spectral(teacher, encoder))
    request = request if request.n_teachers is not None else sized(job, request)
    spread = None
    if MEDIANS in DESIGNS[strategy] and questions.truth is not None:
        spread = spread_on(learner, questions.rows, questions.truth, request, n_jobs=learners.n_jobs)
    plan = planned_soft(request, n_rows(questions.rows), strategy, spread=spread)
    job.warn(plan.warning)
    n_teachers = plan.plan.n_teachers

    def on(table: PrivateTable) -> Work:
        sharded = shards(table, job.key, n_teachers, request.adjacency)

        def work(place: Workplace) -> Made:
            with job.progress("Training teachers", n_teachers) as on_progress:
                effort = Effort(learners.n_jobs, learners.time_limit, on_progress)
                made = soft_label(sharded, questions.rows, plan, learner, place, coins=job.coins, effort=effort)
            values, spreads = targets_of(made)
            train = partial(student_of, questions.rows, values, spreads=spreads)
            answered = made.labelled.released.answered
            return Made(made.labelled, train if answered else None, files={FILE: soft_file(made)})

        return work

    return Method(plan.plan, job.settings(learner=learner.name), teacher, on)


def refuse_unfit_student(student_of: Callable[..., Student], questions: Rows) -> None:
    """Make sure, before anything is spent, that a student can learn from probabilities and be read again.

    A few public rows have made-up ones.
    """
    some = take(questions, np.arange(min(REHEARSED_ROWS, n_rows(questions)), dtype=np.int64))
    check_read_again(student_of(some, np.arange(n_rows(some)) % 2 * 1.0), some)


def spread_on(learner: Learner, rows: Rows, truth: Labels, request: Request, *, n_jobs: int) -> float | None:
    """Measure the spread of scores on public rows that came with labels, at the size that shards will have."""
    n_teachers = request.n_teachers or teachers_for(request.n_rows, request.budget, spectral=request.spectral)[0]
    each = USUAL_ROWS if request.n_rows is None else max(1, request.n_rows // n_teachers)
    return measured_spread(learner, rows, truth, each, n_jobs=n_jobs)
