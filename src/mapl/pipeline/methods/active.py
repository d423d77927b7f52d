"""The method of active questions: shards, votes on all public rows, labels for the rows a student asks about."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from mapl.data.encoding.choice import encoder_for
from mapl.data.encoding.encoder import Encoder
from mapl.data.tables.rows import Rows, n_rows, take
from mapl.data.tables.schema import Schema
from mapl.data.tables.table import PrivateTable
from mapl.noise import Coins
from mapl.pipeline.case import Case
from mapl.pipeline.learners import Learners
from mapl.pipeline.methods.method import Prepared, Results
from mapl.pipeline.methods.teachers import Teaching, check_student, for_teaching, try_out
from mapl.pipeline.place import Workplace
from mapl.pipeline.request import Request
from mapl.pipeline.votes.active_plan import CONSENSUS, QUESTIONS, PlannedQuestions, plan_questions
from mapl.pipeline.votes.labelling import Effort, Labelled, assign_shards, collect_votes, order_questions
from mapl.pipeline.votes.teachers_plan import Planned
from mapl.pipeline.watch import Watch
from mapl.release import Ledger, Limits, Released, Statement, aggregate, statement_of
from mapl.release.label_service import PrivatePool
from mapl.release.statement.promise import Promise
from mapl.release.statement.statement import StageSpend
from mapl.students.active import Active, Pool, interview
from mapl.students.file.student_file import REHEARSED_ROWS
from mapl.students.student import Student, train_student
from mapl.types import ABSTAIN, Labels, OnProgress, Tallies


@dataclass(frozen=True, slots=True)
class ActiveLabels:
    """What was released, and a class number for every public row to learn from, ABSTAIN for none. All public.

    The two differ where the student inferred labels of rows that it did not ask about.
    """

    labelled: Labelled
    codes: Labels


@dataclass(frozen=True, slots=True)
class ReadyQuestions:
    """A plan with its mechanisms, and who teaches."""

    planned: PlannedQuestions
    teaching: Teaching


@dataclass(frozen=True, slots=True)
class ActiveMethod:
    """Train teachers on disjoint shards, and let a student ask them about few public rows.

    Notes
    -----
    *Guarantee.* The plan's budget, for the adjacency and unit in the statement. Proof: docs/proofs/active.md.
    """

    learners: Learners
    active: Active

    def plan(self, case: Case, request: Request) -> Prepared[ReadyQuestions]:
        given, rows = case.declared, case.public.rows
        teaching = try_out(case, self.learners)
        plan = plan_questions(for_teaching(case, request, teaching), self.active, n_rows(rows))
        check_student(case, self.learners, teaching.encoder)
        rehearse_questions(rows, given.schema, teaching.encoder, len(given.classes), self.active)
        settings = {
            "learner": teaching.learner.name,
            "questions": self.active.choice,
            "label_service": self.active.service,
            **self.learners.names,
            "label": given.label,
        }
        ready = ReadyQuestions(plan, teaching)
        return Prepared(plan.plan, settings, teaching.teacher, self.learners.student, ready, (plan.warning,))

    def promise(self, prepared: Prepared[ReadyQuestions]) -> Promise:
        return prepared.ready.planned.promise

    def release(
        self, prepared: Prepared[ReadyQuestions], case: Case, table: PrivateTable, place: Workplace, watch: Watch
    ) -> Results:
        plan, teaching, rows = prepared.ready.planned, prepared.ready.teaching, case.public.rows
        n_teachers, n_classes = prepared.plan.n_teachers, len(case.declared.classes)
        sharded = assign_shards(table, case.key, n_teachers, plan.request.adjacency)
        place.ledger.open(prepared.plan.digest, Limits.of_plan(prepared.plan))
        with watch.progress("Training teachers", n_teachers) as on_progress:
            effort = Effort(self.learners.n_jobs, self.learners.time_limit, on_progress, self.learners.engine)
            votes = collect_votes(sharded, rows, teaching.learner, place, n_classes, effort).tallies()
        pool = public_pool(rows, case.declared.schema, teaching.encoder, n_classes)
        with watch.progress("Asking questions", plan.n_asked) as on_progress:
            asked = ask(votes, pool, plan, place.ledger, coins=case.coins, on_progress=on_progress)
        return Results(asked.labelled, asked.codes if (asked.codes != ABSTAIN).any() else None)

    def train(self, prepared: Prepared[ReadyQuestions], case: Case, results: Results) -> Student:
        student = train_student(
            case.public.rows,
            results.lesson,
            classes=case.declared.classes,
            learner=self.learners.student,
            schema=case.declared.schema,
            encoder=prepared.ready.teaching.encoder,
        )
        return replace(student, strategy=self.active.name)


def public_pool(rows: Rows, schema: Schema, encoder: Encoder | None, n_classes: int) -> Pool:
    """Return public rows as an inquiry sees them; learners of a user's own encode for themselves, inquiries not."""
    return Pool.of(rows, encoder_for(schema, rows) if encoder is None else encoder, n_classes)


class _MadeUp:
    """Answers every question at once, with labels that mean nothing."""

    def __init__(self, n_classes: int) -> None:
        self.n_classes = n_classes
        self.left = REHEARSED_ROWS

    def ask(self, rows: NDArray[np.int64]) -> Labels:
        return np.asarray(rows % self.n_classes, dtype=np.int32)


def rehearse_questions(rows: Rows, schema: Schema, encoder: Encoder | None, n_classes: int, active: Active) -> None:
    """Let a student choose among a few public rows with made-up answers: the choice fails before it spends."""
    some = take(rows, np.arange(min(REHEARSED_ROWS, n_rows(rows)), dtype=np.int64))
    pool = public_pool(some, schema, encoder, n_classes)
    interview(active.inquiry(pool, max(1, len(pool) // 4)), _MadeUp(n_classes))


def ask(
    votes: Tallies,
    pool: Pool,
    plan: PlannedQuestions,
    ledger: Ledger,
    *,
    coins: Coins,
    on_progress: OnProgress | None = None,
) -> ActiveLabels:
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
        promise=plan.promise,
        earlier=() if first is None else (first.spend,),
        stage=QUESTIONS,
        plan_digest=plan.plan.digest,
        ledger_head=ledger.head,
    ).recorded_by(ledger)
    if first is not None:
        released, rows = _together(first, released, rows)
        statement = _of_both(statement, released, len(votes))
    return ActiveLabels(Labelled(released, rows, len(votes), mechanism, plan.plan.why, statement), codes)


@dataclass(frozen=True, slots=True)
class _Consensus:
    """What a ladder released about all public rows: a label for each, ABSTAIN for none, and the rows it took."""

    labels: Labels
    taken: NDArray[np.int64]
    spend: StageSpend


def _consensus(votes: Tallies, planned: Planned, ledger: Ledger, coins: Coins) -> _Consensus:
    assert planned.choice is not None
    mechanism, delta = planned.choice.mechanism, planned.task.budget.delta
    in_order = order_questions(len(votes))
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
