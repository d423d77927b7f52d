"""The method of teachers: shards, votes, released labels, a student."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from mapl.data.encoding.choice import for_teachers, make_shared_encoder, sees_spectral
from mapl.data.encoding.encoder import Encoder
from mapl.data.tables.rows import n_rows
from mapl.data.tables.table import PrivateTable
from mapl.pipeline.case import Case
from mapl.pipeline.learners import Learners
from mapl.pipeline.methods.method import Prepared, Results, count_public_units
from mapl.pipeline.place import Workplace
from mapl.pipeline.request import Request
from mapl.pipeline.votes.labelling import Effort, assign_shards, release_labels
from mapl.pipeline.votes.teachers_plan import Planned, plan_teachers
from mapl.pipeline.watch import Watch
from mapl.release.statement.promise import Promise
from mapl.students.file.student_file import check_storable
from mapl.students.probabilities.by_votes import VoteLaw
from mapl.students.student import Student, train_student
from mapl.teachers import Learner, as_learner, rehearse

DEFAULT_TEACHER = "ridge"


@dataclass(frozen=True, slots=True)
class Teaching:
    """Who teaches: as it was named, as a learner that was tried out, and the encoder it shares with students."""

    teacher: Any
    learner: Learner
    encoder: Encoder | None


@dataclass(frozen=True, slots=True)
class ReadyTeachers:
    """A plan with its mechanism, and who teaches."""

    planned: Planned
    teaching: Teaching


@dataclass(frozen=True, slots=True)
class TeachersMethod:
    """Train teachers on disjoint shards, let them vote on public rows, train a student on what is released.

    Notes
    -----
    *Guarantee.* The plan's budget, for the adjacency and unit in the statement. Proof: docs/proofs/pipeline.md.
    """

    learners: Learners
    why: str = ""

    def plan(self, case: Case, request: Request) -> Prepared[ReadyTeachers]:
        teaching = try_out(case, self.learners)
        check_student(case, self.learners, teaching.encoder, self.learners.strategy)
        request = for_teaching(case, replace(request, why=self.why), teaching)
        plan = plan_teachers(request, n_rows(case.public.rows))
        settings = {"learner": teaching.learner.name, **self.learners.names, "label": case.declared.label}
        ready = ReadyTeachers(plan, teaching)
        return Prepared(plan.plan, settings, teaching.teacher, self.learners.student, ready, (plan.warning,))

    def promise(self, prepared: Prepared[ReadyTeachers]) -> Promise:
        return prepared.ready.planned.promise

    def release(
        self, prepared: Prepared[ReadyTeachers], case: Case, table: PrivateTable, place: Workplace, watch: Watch
    ) -> Results:
        plan, teaching = prepared.ready.planned, prepared.ready.teaching
        sharded = assign_shards(table, case.key, plan.plan.n_teachers, plan.request.adjacency)
        with watch.progress("Training teachers", plan.plan.n_teachers) as on_progress:
            effort = Effort(self.learners.n_jobs, self.learners.time_limit, on_progress, self.learners.engine)
            labelled = release_labels(
                sharded, case.public.rows, plan, teaching.learner, place, coins=case.coins, effort=effort
            )
        return Results(labelled, labelled.labels if labelled.released.answered else None)

    def train(self, prepared: Prepared[ReadyTeachers], case: Case, results: Results) -> Student:
        return train_student(
            case.public.rows,
            results.lesson,
            classes=case.declared.classes,
            learner=self.learners.student,
            strategy=self.learners.strategy,
            schema=case.declared.schema,
            encoder=prepared.ready.teaching.encoder,
            law=VoteLaw.of(results.labelled.mechanism, prepared.plan.n_teachers, len(case.declared.classes)),
        )


def try_out(case: Case, learners: Learners) -> Teaching:
    """Make the learner of the teachers, and let it learn and vote on public rows before anything is spent."""
    teaching = prepare_teaching(case, learners)
    rehearse(
        teaching.learner,
        case.public.rows,
        len(case.declared.classes),
        n_jobs=learners.n_jobs,
        time_limit=learners.time_limit,
        engine=learners.engine,
    )
    return teaching


def prepare_teaching(case: Case, learners: Learners) -> Teaching:
    """Make the learner of the teachers, and the encoder that public rows give it."""
    given, rows = case.declared, case.public.rows
    teacher = DEFAULT_TEACHER if learners.teacher is None else learners.teacher
    encoder = make_shared_encoder(given.schema, rows, (teacher, learners.student))
    learner = as_learner(teacher, given.classes, given.schema, for_teachers(encoder))
    return Teaching(teacher, learner, encoder)


def check_student(case: Case, learners: Learners, encoder: Encoder | None, strategy: Any = "auto") -> None:
    """Refuse, before anything is spent, a student that cannot learn from labels of public rows, or be kept."""
    check_storable(
        learners.student,
        case.public.rows,
        case.declared.classes,
        schema=case.declared.schema,
        strategy=strategy,
        encoder=encoder,
    )


def for_teaching(case: Case, request: Request, teaching: Teaching) -> Request:
    """Add to a request what follows from who teaches, and how many units there are where that is public."""
    request = replace(request, spectral=sees_spectral(teaching.teacher, teaching.encoder))
    return request if request.n_teachers is not None else count_public_units(case, request)
