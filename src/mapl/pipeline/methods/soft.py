"""The method of soft labels: shards, scores, released probabilities, a student that predicts probabilities."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mapl.data.encoding.choice import for_teachers, make_shared_encoder
from mapl.data.tables.rows import Rows, n_rows, take
from mapl.data.tables.table import PrivateTable
from mapl.errors import InvalidParameter
from mapl.parameters import spell
from mapl.pipeline.case import Case
from mapl.pipeline.learners import Learners
from mapl.pipeline.methods.method import Prepared, Results
from mapl.pipeline.methods.teachers import Teaching, for_teaching
from mapl.pipeline.place import Workplace
from mapl.pipeline.rehearsal.soft_spread import measure_spread
from mapl.pipeline.request import Request
from mapl.pipeline.runs.soft_file import FILE, soft_file
from mapl.pipeline.votes.labelling import Effort, assign_shards
from mapl.pipeline.votes.soft_labelling import DESIGNS, PlannedSoft, plan_soft, soft_label, targets_of
from mapl.pipeline.watch import Watch
from mapl.planning.rules.teachers import teachers_for
from mapl.release.soft_labels import MEDIANS
from mapl.release.statement.promise import Promise
from mapl.students.file.student_file import REHEARSED_ROWS, check_usable
from mapl.students.soft.student import train_soft_student
from mapl.students.student import Student
from mapl.teachers import Learner, as_learner, rehearse
from mapl.teachers.learners.shares import score_learner
from mapl.types import Floats, Labels

DEFAULT_SCORER = "logistic"
"""Its probabilities are good with few rows."""

USUAL_ROWS = 100
"""Rows per teacher that a spread is measured at where nobody says how many there are."""


def is_soft(strategy: object) -> bool:
    """Say whether a strategy learns from soft labels."""
    return isinstance(strategy, str) and strategy in DESIGNS


@dataclass(frozen=True, slots=True)
class ReadySoft:
    """A plan with its mechanisms, and who teaches scores."""

    planned: PlannedSoft
    teaching: Teaching


@dataclass(frozen=True, slots=True)
class SoftLesson:
    """The released value of every public row, nan where there is none, and its standard deviation.

    Of more than two classes a value is a row of probabilities.
    """

    values: Floats
    spreads: Floats


@dataclass(frozen=True, slots=True)
class SoftMethod:
    """Train teachers on disjoint shards, and train a student on what is released of their scores.

    Notes
    -----
    *Guarantee.* The plan's budget, for the adjacency and unit in the statement. Proof: docs/proofs/soft-labels.md.
    """

    learners: Learners
    strategy: str

    def plan(self, case: Case, request: Request) -> Prepared[ReadySoft]:
        if request.method == "cells" or request.candidates:
            raise InvalidParameter(
                f"Soft labels come from teachers; leave {spell('method')} away, or take another strategy for the "
                "student."
            )
        teaching = try_out_scores(case, self.learners)
        made_up = rehearsed_values(case)
        student = self._train(case, teaching, made_up.rows, made_up.values, np.full(len(made_up.values), 0.1))
        check_usable(student, made_up.rows)
        request = for_teaching(case, request, teaching)
        spread, truth = None, case.public.truth
        if MEDIANS in DESIGNS[self.strategy] and truth is not None and len(case.declared.classes) == 2:
            spread = spread_on(teaching.learner, case.public.rows, truth, request, n_jobs=self.learners.n_jobs)
        plan = plan_soft(request, n_rows(case.public.rows), self.strategy, spread=spread)
        settings = {"learner": teaching.learner.name, **self.learners.names, "label": case.declared.label}
        ready = ReadySoft(plan, teaching)
        return Prepared(plan.plan, settings, teaching.teacher, self.learners.student, ready, (plan.warning,))

    def promise(self, prepared: Prepared[ReadySoft]) -> Promise:
        return prepared.ready.planned.promise

    def release(
        self, prepared: Prepared[ReadySoft], case: Case, table: PrivateTable, place: Workplace, watch: Watch
    ) -> Results:
        plan, learner = prepared.ready.planned, prepared.ready.teaching.learner
        sharded = assign_shards(table, case.key, prepared.plan.n_teachers, plan.request.adjacency)
        with watch.progress("Training teachers", prepared.plan.n_teachers) as on_progress:
            effort = Effort(self.learners.n_jobs, self.learners.time_limit, on_progress, self.learners.engine)
            made = soft_label(sharded, case.public.rows, plan, learner, place, coins=case.coins, effort=effort)
        lesson = SoftLesson(*targets_of(made)) if made.labelled.released.answered else None
        return Results(made.labelled, lesson, files={FILE: soft_file(made)})

    def train(self, prepared: Prepared[ReadySoft], case: Case, results: Results) -> Student:
        lesson: SoftLesson = results.lesson
        return self._train(case, prepared.ready.teaching, case.public.rows, lesson.values, lesson.spreads)

    def _train(self, case: Case, teaching: Teaching, rows: Rows, values: Floats, spreads: Floats) -> Student:
        return train_soft_student(
            rows,
            values,
            spreads=spreads,
            classes=case.declared.classes,
            learner=self.learners.student,
            schema=case.declared.schema,
            encoder=teaching.encoder,
        )


@dataclass(frozen=True, slots=True)
class MadeUpValues:
    """A few public rows with made-up probabilities, on which a student shows that it can learn from some."""

    rows: Rows
    values: Floats


def rehearsed_values(case: Case) -> MadeUpValues:
    """Take the first public rows, and give them probabilities that mean nothing."""
    some = take(case.public.rows, np.arange(min(REHEARSED_ROWS, n_rows(case.public.rows)), dtype=np.int64))
    number, classes = np.arange(n_rows(some)), len(case.declared.classes)
    values = number % 2 if classes == 2 else np.eye(classes)[number % classes]
    return MadeUpValues(some, values.astype(np.float64))


def try_out_scores(case: Case, learners: Learners) -> Teaching:
    """Make the learner whose scores teach, and let it score public rows before anything is spent."""
    given, rows = case.declared, case.public.rows
    teacher = DEFAULT_SCORER if learners.teacher is None else learners.teacher
    encoder = make_shared_encoder(given.schema, rows, (teacher, None))
    learner = score_learner(as_learner(teacher, given.classes, given.schema, for_teachers(encoder)), given.classes)
    limit, engine = learners.time_limit, learners.engine
    rehearse(learner, rows, len(given.classes), n_jobs=learners.n_jobs, time_limit=limit, engine=engine)
    return Teaching(teacher, learner, encoder)


def spread_on(learner: Learner, rows: Rows, truth: Labels, request: Request, *, n_jobs: int) -> float | None:
    """Measure the spread of scores on public rows that came with labels, at the size that shards will have."""
    n_teachers = request.n_teachers or teachers_for(request.n_rows, request.budget, spectral=request.spectral)[0]
    each = USUAL_ROWS if request.n_rows is None else max(1, request.n_rows // n_teachers)
    return measure_spread(learner, rows, truth, each, n_jobs=n_jobs)
