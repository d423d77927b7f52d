"""The plan of a run whose questions are chosen as it goes: who answers, how often, at what share of the budget."""

from __future__ import annotations

from dataclasses import dataclass, replace

from mapl.errors import InvalidParameter
from mapl.pipeline.request import Request
from mapl.pipeline.votes.teachers_plan import Planned, plan_teachers
from mapl.planning.plan import Plan
from mapl.planning.rules.teachers import teachers_for
from mapl.release.statement.promise import Promise
from mapl.students.active import Active
from mapl.students.active.strategy import HYBRID
from mapl.types import Budget

CONSENSUS, QUESTIONS = "consensus", "labels"
"""The stages: a ladder over all public rows, if there is one, and answers to chosen questions."""

ASKED_SHARE = 4
"""Without a number of questions, one public row in so many may be asked."""

CONSENSUS_SHARE = 0.5
"""The share of the budget for the ladder of a hybrid; basic composition, so the rest is for the questions."""


@dataclass(frozen=True, slots=True)
class PlannedQuestions:
    """One plan for all stages, and how each is carried out. It does not say which rows are asked, only how many."""

    active: Active
    request: Request
    plan: Plan
    questions: Planned
    consensus: Planned | None

    @property
    def promise(self) -> Promise:
        """What is promised to whom, and what has to hold for that."""
        return self.request.promise_by_teachers

    @property
    def warning(self) -> str | None:
        return self.questions.warning

    @property
    def n_asked(self) -> int:
        """How many rows are chosen and asked at most."""
        return self.questions.task.n_queries


def plan_questions(request: Request, active: Active, n_public: int) -> PlannedQuestions:
    """Fix stages, mechanisms, limits and budgets before a private row is read."""
    _refuse_mixture(request)
    active.refuse_unfit(len(request.classes))
    n_teachers, why = request.n_teachers, "as asked"
    if n_teachers is None:
        n_teachers, why = teachers_for(request.n_rows, request.budget, spectral=request.spectral)
    n_asked = max(1, n_public // ASKED_SHARE) if request.n_queries is None else request.n_queries
    one = replace(
        request, n_teachers=n_teachers, n_queries=n_asked, mechanism=active.mechanism(len(request.classes))
    )
    whole = active.service != HYBRID
    if not whole:
        share = Budget((1 - CONSENSUS_SHARE) * request.budget.epsilon, (1 - CONSENSUS_SHARE) * request.budget.delta)
        one = replace(one, budget=share, settings={})
    questions = plan_teachers(one, n_public)
    consensus = None if whole else _consensus(replace(request, n_teachers=n_teachers), n_public)
    answered_by = questions.plan.stage(QUESTIONS).mechanism
    n_chosen = questions.task.n_queries
    words = f"{n_chosen} of {n_public} public rows, chosen by {active.choice}, are asked of {answered_by}"
    if consensus is not None:
        words = f"a ladder goes over all {n_public} public rows; then {words}"
    first = () if consensus is None else (replace(consensus.plan.stage("labels"), name=CONSENSUS),)
    plan = replace(
        questions.plan,
        budget=request.budget,
        n_queries=n_chosen if consensus is None else n_public,
        stages=(*first, questions.plan.stage(QUESTIONS)),
        why=f"{n_teachers} teachers {why}; {words}",
    )
    return PlannedQuestions(active, request, plan, questions, consensus)


def _consensus(request: Request, n_public: int) -> Planned:
    budget = Budget(CONSENSUS_SHARE * request.budget.epsilon, CONSENSUS_SHARE * request.budget.delta)
    return plan_teachers(replace(request, budget=budget, mechanism="ladder", n_queries=None), n_public)


def _refuse_mixture(request: Request) -> None:
    """Refuse what active questions have no place for, rather than leave it out silently."""
    asked = {
        "a mechanism was named": request.mechanism != "auto",
        "an estimate of the teachers' error was asked for": request.error_share > 0,
        "leave to abstain was given": request.may_abstain,
        "several methods are to be tried": bool(request.candidates),
    }
    for what, is_so in asked.items():
        if is_so:
            raise InvalidParameter(
                f"Active questions are answered by the label service of the strategy, and {what}; leave that away, "
                "and choose the label service instead."
            )
