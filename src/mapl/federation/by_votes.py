"""Sites whose teachers vote on public rows: one round of noisy counts of votes, with a delta."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from mapl.data.tables.rows import n_rows, take
from mapl.data.tables.table import PrivateTable
from mapl.errors import InvalidParameter
from mapl.federation.agreement import VOTES, SitesPlan
from mapl.federation.rounds import Heard
from mapl.federation.stated import state_together
from mapl.noise import Coins
from mapl.noise.gaussian import DEVIATION_BITS
from mapl.parameters import spell
from mapl.pipeline.case import Case
from mapl.pipeline.learners import Learners
from mapl.pipeline.methods.method import Results
from mapl.pipeline.methods.teachers import DEFAULT_TEACHER, prepare_teaching, try_out
from mapl.pipeline.place import Workplace
from mapl.pipeline.request import Request
from mapl.pipeline.votes.labelling import Effort, Labelled, assign_shards, collect_votes, order_questions
from mapl.planning.plan import Plan, Stage, canonical
from mapl.planning.plan_maker import make_plan
from mapl.planning.rules.teachers import teachers_for
from mapl.release import Released
from mapl.release.moment_sums import TOLD_BITS, SumsStage
from mapl.release.statement.promise import Promise
from mapl.release.vote_sums import MOST_TEACHERS, VoteSums
from mapl.students.student import Student, train_student
from mapl.types import ABSTAIN, Integers, State

FEWEST_QUESTIONS = 50
LEAD = 0.25
"""Where three teachers in four agree, the lead is about as large as its noise; more questions have more of it."""


@dataclass(frozen=True, slots=True)
class PlannedVotes:
    """A plan and what releases the votes of one site, fixed before a private row is read."""

    request: Request
    plan: Plan
    stage: SumsStage

    @property
    def promise(self) -> Promise:
        """What is promised to whom, and what has to hold for that."""
        return self.request.promise_by_teachers


@dataclass(frozen=True, slots=True, eq=False)
class ByVotes:
    """The public questions of a plan, on which the teachers of every site vote."""

    agreed: SitesPlan
    planned: PlannedVotes
    asked: NDArray[np.int64]
    mechanism: VoteSums

    @classmethod
    def of(cls, agreed: SitesPlan, case: Case) -> Self:
        """Fix questions and noise by the public rows, as every site does."""
        request, n_public = agreed.request, n_rows(case.public.rows)
        n_teachers = _within_limits(request.n_teachers)
        asked = order_questions(n_public)[: request.asked(n_public)]
        mechanism = VoteSums.for_votes(request.budget, n_questions=len(asked), n_classes=len(request.classes))
        questions = hashlib.sha256(canonical([agreed.public, asked.tolist(), agreed.learner]).encode()).hexdigest()
        plan = make_plan(
            request.terms,
            [Stage(VOTES, mechanism.name, mechanism.parameters, request.budget)],
            ("votes at every site", f"{n_teachers} teachers at each", f"{len(asked)} questions"),
            classes=request.classes.names,
            n_queries=len(asked),
            n_teachers=n_teachers,
        )
        return cls(agreed, PlannedVotes(request, plan, SumsStage(mechanism, VOTES, questions)), asked, mechanism)

    @property
    def entries(self) -> tuple[int, ...]:
        """How many numbers each round has."""
        return self.mechanism.entries

    @property
    def drawn(self) -> str:
        """What tells the questions to one learner from others."""
        return self.planned.stage.of

    def answer(self, table: PrivateTable, case: Case, place: Workplace, heard: Heard, effort: Effort) -> Integers:
        """Train the teachers of a site, and release the counts of their votes with noise; on record, only read."""
        stage, plan = self.planned.stage, self.planned.plan
        told = stage.begin(case.coins, place.ledger)
        if not told:
            learners = Learners(teacher=self.agreed.learner, n_jobs=effort.n_jobs, time_limit=effort.time_limit)
            learner = try_out(case, learners).learner
            sharded = assign_shards(table, case.key, plan.n_teachers, self.planned.request.adjacency)
            questions = take(case.public.rows, self.asked)
            ballot = collect_votes(sharded, questions, learner, place, len(plan.classes), effort)
            told = stage.release(self.mechanism.add_up(ballot.tallies()), case.coins, place.ledger)
        return (told[0] * (1 << TOLD_BITS)).round().astype("int64")

    def combine(self, heard: Heard, case: Case, coins: Coins) -> Results:
        """Label the questions on which all sites' votes together stand out of their noise."""
        (added,) = heard.rounds
        votes = added.numbers.reshape(self.mechanism.n_questions, self.mechanism.n_classes)
        second, first = np.sort(votes, axis=1)[:, -2:].T
        # The lead is a difference of two noisy numbers.
        clear = first - second >= (1 << TOLD_BITS) * added.noisier * math.sqrt(2)
        codes = np.where(clear, votes.argmax(axis=1), ABSTAIN).astype(np.int32)
        answered = int(np.count_nonzero(clear))
        released = Released(codes, None, State(answered, len(codes) - answered, True), len(codes))
        state = state_together(self.agreed, added.sites, self.mechanism, self.planned, coins)
        why, n_public = self.planned.plan.why, n_rows(case.public.rows)
        labelled = Labelled(released, self.asked, n_public, self.mechanism, why, state(released))
        settings = {"method": VOTES, "learner": self.agreed.learner}
        return Results(labelled, labelled.labels if answered else None, settings=settings)

    def train(self, case: Case, results: Results, learner: Any) -> Student:
        """Train the student on the labels that all sites' votes give."""
        teaching = prepare_teaching(case, Learners(teacher=self.agreed.learner, student=learner))
        return train_student(
            case.public.rows,
            results.lesson,
            classes=case.declared.classes,
            learner=learner,
            schema=case.declared.schema,
            encoder=teaching.encoder,
        )


def settle_votes(agreed: SitesPlan, n_public: int) -> SitesPlan:
    """Fix how many teachers a site has and about how many rows they vote, where the agreement leaves that open."""
    n_sites, budget = len(agreed.sites), agreed.site_budget
    people = None if agreed.n_rows is None else max(1, agreed.n_rows // n_sites)
    n_teachers = _within_limits(agreed.n_teachers or teachers_for(people, budget)[0])
    n_queries = agreed.n_queries
    if n_queries is None:
        nearly = VoteSums.for_votes(budget, n_questions=FEWEST_QUESTIONS, n_classes=len(agreed.classes))
        mu = nearly.reaches[0] / (1 << DEVIATION_BITS)
        n_queries = max(FEWEST_QUESTIONS, round((LEAD * mu * n_teachers) ** 2 * n_sites))
    learner = agreed.learner or DEFAULT_TEACHER
    return replace(agreed, n_teachers=n_teachers, n_queries=min(n_queries, n_public), learner=learner)


def _within_limits(n_teachers: int | None) -> int:
    """Return how many teachers a site has; a plan that somebody wrote by hand may name none, or too many."""
    if n_teachers is None or not 1 <= n_teachers <= MOST_TEACHERS:
        raise InvalidParameter(
            f"A site would have {'no number of' if n_teachers is None else n_teachers} teachers; 1 to "
            f"{MOST_TEACHERS} are allowed. Give another number with {spell('teachers')} when the plan is made."
        )
    return n_teachers
