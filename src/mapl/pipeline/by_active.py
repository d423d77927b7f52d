"""The way of active questions: shards, votes on all public rows, labels for the rows that a student asks about."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from mapl.data.encoder import Encoder
from mapl.data.encoding import encoder_for, for_teachers, sees_spectral, shared_encoder
from mapl.data.rows import Rows, n_rows
from mapl.data.schema import Schema
from mapl.data.table import PrivateTable
from mapl.noise import Coins
from mapl.pipeline.by_teachers import DEFAULT_TEACHER
from mapl.pipeline.job import Job
from mapl.pipeline.label import Effort, Labelled, Workplace, order, shards, voted
from mapl.pipeline.method import Made, Method, Work, sized
from mapl.pipeline.planned_questions import CONSENSUS, QUESTIONS, PlannedQuestions, planned_questions
from mapl.pipeline.request import Planned, Request
from mapl.release import Ledger, Limits, Released, Statement, aggregate, promise_of, statement_of
from mapl.release.label_service import PrivatePool
from mapl.release.statement import StageSpend
from mapl.students.active import Active, Pool, interview
from mapl.students.student import Student, train_student
from mapl.students.student_file import check_storable
from mapl.teachers import as_learner, rehearse
from mapl.types import ABSTAIN, Labels, Tallies

OnProgress = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Asked:
    """What was released, and a class number for every public row to learn from, ABSTAIN for none. All public.

    The two differ where the student inferred labels of rows that it did not ask about.
    """

    labelled: Labelled
    codes: Labels


def by_active(job: Job, request: Request, active: Active) -> Method:
    """Train teachers on disjoint shards, and let a student ask them about few public rows."""
    learners, given, questions = job.learners, job.source.declared, job.source.questions
    teacher = DEFAULT_TEACHER if learners.teacher is None else learners.teacher
    encoder = shared_encoder(given.schema, questions.rows, (teacher, learners.student))
    learner = as_learner(teacher, given.classes, given.schema, for_teachers(encoder))
    request = replace(request, spectral=sees_spectral(teacher, encoder))
    request = request if request.n_teachers is not None else sized(job, request)
    plan = planned_questions(request, active, n_rows(questions.rows))
    rehearse(learner, questions.rows, len(given.classes), n_jobs=learners.n_jobs, time_limit=learners.time_limit)
    check_storable(learners.student, questions.rows, given.classes, schema=given.schema, encoder=encoder)
    job.warn(plan.warning)
    n_teachers = plan.plan.n_teachers

    def on(table: PrivateTable) -> Work:
        sharded = shards(table, job.key, n_teachers, request.adjacency)

        def work(place: Workplace) -> Made:
            place.ledger.open(plan.plan.digest, Limits.of_plan(plan.plan))
            with job.progress("Training teachers", n_teachers) as on_progress:
                effort = Effort(learners.n_jobs, learners.time_limit, on_progress)
                votes = voted(sharded, questions.rows, learner, place, len(given.classes), effort).tallies()
            with job.progress("Asking questions", plan.n_asked) as on_progress:
                asked = ask(
                    votes,
                    public_pool(questions.rows, given.schema, encoder, len(given.classes)),
                    plan,
                    place.ledger,
                    coins=job.coins,
                    on_progress=on_progress,
                )

            def train() -> Student:
                student = train_student(
                    questions.rows,
                    asked.codes,
                    classes=given.classes,
                    learner=learners.student,
                    schema=given.schema,
                    encoder=encoder,
                )
                return replace(student, strategy=active.name)

            return Made(asked.labelled, train if (asked.codes != ABSTAIN).any() else None)

        return work

    settings = job.settings(learner=learner.name, questions=active.choice, label_service=active.service)
    return Method(plan.plan, settings, teacher, on)


def public_pool(rows: Rows, schema: Schema, encoder: Encoder | None, n_classes: int) -> Pool:
    """Return public rows as an inquiry sees them; learners of a user's own encode for themselves, inquiries not."""
    return Pool.of(rows, encoder_for(schema, rows) if encoder is None else encoder, n_classes)


def ask(
    votes: Tallies,
    pool: Pool,
    plan: PlannedQuestions,
    ledger: Ledger,
    *,
    coins: Coins,
    on_progress: OnProgress | None = None,
) -> Asked:
    """Release what the plan allows: consensus on all rows, if planned, then answers to chosen questions.

    Called again with the same arguments after a crash, it goes on: what was answered is told again, and nothing is
    asked twice.

    Notes
    -----
    *Guarantee.* The plan's budget, for the adjacency and unit in the returned statement. The pool, and hence the
    choice of rows, is made of public rows and released labels. Proof: docs/proofs/active.md.
    """
    first = None if plan.consensus is None else _consensus(votes, plan.consensus, ledger, coins)
    if first is not None:
        pool = replace(pool, known=first.labels)
    questions = plan.questions
    assert questions.choice is not None  # only an estimate of the error, which is refused, leaves it open
    mechanism = questions.choice.mechanism
    service = PrivatePool(votes, mechanism, questions.task, coins, ledger=ledger, stage=QUESTIONS)
    codes = interview(plan.active.inquiry(pool, plan.n_asked), service, on_progress=on_progress)
    released, rows = service.released(), service.asked
    statement = statement_of(
        mechanism,
        questions.task,
        released,
        coins,
        promise=promise_of(plan.request.adjacency, plan.request.unit),
        earlier=() if first is None else (first.spend,),
        stage=QUESTIONS,
        plan_digest=plan.plan.digest,
        ledger_head=ledger.head,
    )
    if first is not None:
        released, rows = _together(first, released, rows)
        statement = _of_both(statement, released, len(votes))
    return Asked(Labelled(released, rows, len(votes), mechanism, plan.plan.why, statement), codes)


@dataclass(frozen=True, slots=True)
class _Consensus:
    """What a ladder released about all public rows: a label for each, ABSTAIN for none, and the rows it took."""

    labels: Labels
    taken: NDArray[np.int64]
    spend: StageSpend


def _consensus(votes: Tallies, planned: Planned, ledger: Ledger, coins: Coins) -> _Consensus:
    assert planned.choice is not None
    mechanism, delta = planned.choice.mechanism, planned.task.budget.delta
    in_order = order(len(votes))
    released = aggregate(Tallies(votes.counts[in_order]), mechanism, coins, ledger=ledger, stage=CONSENSUS)
    taken = in_order[: len(released.labels)]
    labels = np.full(len(votes), ABSTAIN, dtype=np.int32)
    labels[taken] = released.labels
    return _Consensus(labels, taken, StageSpend(CONSENSUS, mechanism.name, mechanism.epsilon(None, delta), delta))


def _together(first: _Consensus, released: Released, rows: NDArray[np.int64]) -> tuple[Released, NDArray[np.int64]]:
    """Put both stages together: one outcome for each row that either of them took, and which stage gave it."""
    codes, chosen = first.labels.copy(), np.zeros(len(first.labels), dtype=np.bool_)
    codes[rows], chosen[rows] = released.labels, True
    every = np.concatenate([first.taken, rows[~np.isin(rows, first.taken)]])
    return Released(codes[every], chosen[every], released.state, len(every)), every


def _of_both(statement: Statement, released: Released, n_public: int) -> Statement:
    """Count what both stages published; prices are those of both already."""
    return replace(
        statement,
        queries=released.n_questions,
        planned_queries=n_public,
        answered=released.answered,
        abstained=released.abstained,
        halted=released.halted,
        not_asked=released.not_asked,
    )
