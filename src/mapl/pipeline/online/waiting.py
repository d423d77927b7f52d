"""Teachers that wait for questions in memory, as long as a process lives; `mapl teach` keeps such in files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

from mapl.data.tables.rows import Rows
from mapl.mechanisms import AnyMechanism
from mapl.noise import Coins
from mapl.pipeline.case import Case
from mapl.pipeline.learners import Learners
from mapl.pipeline.online.answerers import prepare_answerers
from mapl.pipeline.online.stand_in import StandIn
from mapl.pipeline.request import Request
from mapl.pipeline.votes.labelling import assign_shards
from mapl.pipeline.votes.teachers_plan import Planned
from mapl.pipeline.watch import Watch
from mapl.planning.plan import Plan
from mapl.release import Ledger, Limits, Released, Statement, statement_of
from mapl.release.loop import begin_stage, step
from mapl.teachers import Teachers, fit_teachers
from mapl.types import Labels, Silent, State


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class WaitingTeachers(Silent):
    """A teacher on every shard of a private table, the mechanism that decides, and the ledger that counts."""

    planned: Planned
    mechanism: AnyMechanism
    teachers: Teachers
    stand_in: StandIn
    ledger: Ledger
    coins: Coins

    @classmethod
    def trained(
        cls, case: Case, request: Request, learners: Learners, watch: Watch, ledger_of: Callable[[Plan], Ledger]
    ) -> Self:
        """Fix what may be answered, and train a teacher on every shard. Nothing is spent yet.

        Parameters
        ----------
        ledger_of
            Gives a plan its ledger, or refuses it, before a teacher is trained.
        """
        ready = prepare_answerers(case, request, learners, watch)
        planned, learner = ready.planned, ready.teaching.learner
        # Only an estimate of the error leaves the choice open, and there is none here.
        assert planned.choice is not None
        plan, mechanism = planned.plan, planned.choice.mechanism
        sharded = assign_shards(case.private(), case.key, plan.n_teachers, planned.request.adjacency)
        n_classes, limit = len(case.declared.classes), learners.time_limit
        stand_in = StandIn.trained(learner, case.public.rows, n_classes=n_classes, time_limit=limit)
        ledger = ledger_of(plan)
        ledger.open(plan.digest, Limits.of_plan(plan), fresh=True)
        teachers = fit_teachers(
            learner,
            sharded,
            n_classes=n_classes,
            n_jobs=learners.n_jobs,
            time_limit=limit,
            engine=learners.engine,
        )
        begin_stage(ledger, mechanism, case.coins, planned.task)
        return cls(planned, mechanism, teachers, stand_in, ledger, case.coins)

    @property
    def state(self) -> State:
        """How many questions were answered so far, and whether the run has ended."""
        return self.ledger.progress("labels").state

    @property
    def questions_left(self) -> int:
        """How many new questions may still be asked."""
        state = self.state
        return 0 if state.halted else max(0, self.planned.task.n_queries - state.answered - state.abstained)

    def ask(self, questions: Rows) -> Labels:
        """Have the teachers vote and return what was recorded of it, fewer labels where the run ended."""
        self.stand_in.refuse_unanswerable(questions)
        tallies = self.teachers.votes(questions)
        return step(self.ledger, self.mechanism, self.state, tallies, self.coins).labels

    def statement(self, *, turned_away: int) -> Statement:
        """Return what may be printed about the answers so far, and about questions that came too late."""
        progress, plan = self.ledger.progress("labels"), self.planned
        n_questions = len(progress.labels) + turned_away
        return statement_of(
            self.mechanism,
            plan.task,
            Released(progress.labels, progress.fallback, progress.state, n_questions),
            self.coins,
            promise=plan.promise,
            plan_digest=plan.plan.digest,
            ledger_head=self.ledger.head,
        ).recorded_by(self.ledger)
