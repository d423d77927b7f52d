"""The plan of a run by teachers: how many there are, which mechanism releases their labels, at what limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mapl.errors import CannotCalibrate
from mapl.mechanisms import Task
from mapl.pipeline.request import Request
from mapl.planning import Agreement, Choice, choose
from mapl.planning.choosing.expectation import Expected
from mapl.planning.plan import Plan, Stage
from mapl.planning.plan_maker import make_plan
from mapl.planning.rules.teachers import teachers_for
from mapl.planning.votes.erring import erring_votes
from mapl.release.error_estimate import ErrorEstimate, hard_questions
from mapl.release.loop import admit
from mapl.release.statement.promise import Promise
from mapl.types import Budget

EXTREME_RATES = (0.0, 1.0)


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan, and the mechanism that will release its labels unless an estimate still has to choose it."""

    request: Request
    plan: Plan
    task: Task
    choice: Choice | None
    error_estimate: ErrorEstimate | None
    warning: str | None

    @property
    def promise(self) -> Promise:
        """What is promised to whom, and what has to hold for that."""
        return self.request.promise_by_teachers


def plan_teachers(request: Request, n_questions: int) -> Planned:
    """Fix everything before a private row is read: teachers, mechanism, limits, stages."""
    if request.n_teachers is not None:
        n_teachers, why_teachers = request.n_teachers, "as asked"
    else:
        n_teachers, why_teachers = teachers_for(request.n_rows, request.budget, spectral=request.spectral)
    task = request.task(n_teachers, n_questions)
    stages: list[Stage] = []
    estimate: ErrorEstimate | None = None
    choice: Choice | None = None
    warning: str | None = None
    if request.error_share:
        estimate = ErrorEstimate.for_task(request.error_epsilon, n_teachers)
        stages.append(Stage("error", estimate.name, dict(estimate.parameters), Budget(request.error_epsilon, 0.0)))
        stages.append(Stage("labels", request.mechanism, {"set by": "the released error rate"}, task.budget))
        for rate in EXTREME_RATES:  # what would be refused after the estimate has spent is refused now
            choose_by_error_rate(rate, request, task)
    else:
        choice, warning = calibrate_mechanism(request, task, request.agreement or Agreement.default())
        stages.append(Stage("labels", choice.mechanism.name, dict(choice.mechanism.parameters), task.budget))
    plan = make_plan(
        request.terms,
        stages,
        (request.why, f"{n_teachers} teachers {why_teachers}", choice.why if choice else ""),
        classes=request.classes.names,
        n_queries=task.n_queries,
        n_teachers=n_teachers,
    )
    return Planned(request, plan, task, choice, estimate, warning)


def calibrate_mechanism(
    request: Request, task: Task, agreement: Expected, settings: Mapping[str, Any] | None = None
) -> tuple[Choice, str | None]:
    """Choose and calibrate the mechanism for an expected agreement, and admit it against the budget."""
    promise = request.promise_by_teachers
    try:
        choice = choose(
            request.mechanism,
            task,
            agreement=agreement,
            must_answer=request.mechanism == "auto" and not request.may_abstain,
            settings=dict(request.settings if settings is None else settings),
        )
    except CannotCalibrate as refusal:
        # Mechanisms know a budget and no tables; whoever reads its epsilon has to know both.
        raise CannotCalibrate(f"{refusal} ({promise.terms})") from None
    return choice, admit(choice.mechanism, task, promise=promise)


def choose_by_error_rate(rate: float, request: Request, task: Task) -> Choice:
    """Set what a plan left open by the released error rate, which is public by then."""
    settings = dict(request.settings)
    if request.mechanism == "btt18":
        settings.setdefault("max_abstentions", hard_questions(rate, task.n_queries))
    choice, _ = calibrate_mechanism(request, task, erring_votes(rate, task.n_teachers, task.n_classes), settings)
    return Choice(choice.mechanism, f"{choice.why}; the teachers' error rate was privately estimated as {rate:.1%}")
