"""From a private table and public questions to soft labels: a plan, scores of teachers, what may be released."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mapl.data.tables.rows import Rows, n_rows, take
from mapl.data.units.shards import Sharded
from mapl.errors import InvalidParameter
from mapl.mechanisms import Task, make
from mapl.mechanisms.scores.noisy_mean import NoisyMean
from mapl.mechanisms.scores.noisy_shares import NoisyShares
from mapl.noise import Coins
from mapl.parameters import spell
from mapl.pipeline.place import Workplace
from mapl.pipeline.request import Request
from mapl.pipeline.votes.labelling import Effort, Labelled, order_questions
from mapl.planning.plan import Plan, Stage
from mapl.planning.plan_maker import make_plan
from mapl.planning.rules.soft import USUAL_SPREAD, abstentions_for, grid_for
from mapl.planning.rules.teachers import teachers_for
from mapl.release import Limits
from mapl.release.loop import admit
from mapl.release.soft_labels import MEANS, MEDIANS, SoftDesign, SoftLabels, release_soft_labels
from mapl.release.statement.promise import Promise
from mapl.release.statement.soft_statement import state_soft_labels
from mapl.teachers import Learner
from mapl.teachers.engine import gather
from mapl.teachers.learners.scores import ScoreBallot
from mapl.teachers.learners.shares import ShareBallot
from mapl.types import Budget

SOFT = "soft"
DESIGNS = {SOFT: (MEANS,), f"{SOFT}-medians": (MEDIANS,), f"{SOFT}-both": (MEDIANS, MEANS)}
"""Strategies that learn from soft labels, and the stages that release them. Means are the usual way: they assume
nothing about how much teachers agree."""

SHARE_OF_MEDIANS = 0.75
FEW_REFUSALS = 0.05
"""Below this share of the questions a warning says that medians may end early."""

READ_DISTANCES = ("ladder", "threshold-ladder", "stable-queries")
"""Mechanisms that release medians: they look at values and distances to instability only."""


@dataclass(frozen=True, slots=True)
class PlannedSoft:
    """A plan and the mechanisms that it is made of, all fixed before a private row is read."""

    request: Request
    plan: Plan
    task: Task
    design: SoftDesign
    warning: str | None

    @property
    def promise(self) -> Promise:
        """What is promised to whom, and what has to hold for that."""
        return self.request.promise_by_teachers


@dataclass(frozen=True, slots=True, eq=False)
class SoftlyLabelled:
    """Public rows with the soft labels released for them. All public."""

    labelled: Labelled
    soft: SoftLabels


def plan_soft(
    request: Request, n_questions: int, strategy: str = SOFT, *, spread: float | None = None
) -> PlannedSoft:
    """Fix teachers, mechanisms, limits and the budget of every stage.

    Parameters
    ----------
    strategy
        One of `DESIGNS`. Where there are two stages, medians have three quarters of epsilon and delta: what they
        refuse is little, so that means of it need less.
    spread
        The standard deviation of teachers' scores on one question, as far as public rows tell (`soft_spread`); the
        cells that medians are rounded to follow from it.
    """
    stages = _stages_of(strategy, request)
    n_teachers, why = _teachers(request)
    n_classes = len(request.classes)
    task = Task(request.budget, n_teachers, n_classes, request.asked(n_questions))
    budgets = _budgets(request.budget, stages)
    limit, medians, grid, warning = task.n_queries, None, None, None
    if MEDIANS in stages:
        own = Task(budgets[MEDIANS], n_teachers, 2, task.n_queries)
        name = "ladder" if request.mechanism == "auto" else request.mechanism
        limit = int(request.settings.get("max_abstentions") or abstentions_for(name, own))
        medians = make(name, own, **{**request.settings, "max_abstentions": limit})
        warning = admit(medians, own, promise=request.promise_by_teachers)
        grid = grid_for(USUAL_SPREAD if spread is None else spread, task.n_queries, limit)
        warning = warning or _ends_early(limit, task.n_queries)
        why += f"; cells of {grid.width} thousandths for {limit} refusals, " + (
            "by a usual spread of scores" if spread is None else f"by a spread of {spread:.2f} on public rows"
        )
    means = None
    if MEANS in stages:
        number = min(limit, task.n_queries)
        if n_classes == 2:
            means = NoisyMean.for_budget(budgets[MEANS], n_teachers, max_answers=number)
        else:
            means = NoisyShares.for_questions(budgets[MEANS], n_teachers, n_questions=number, n_shares=n_classes)
        why += f"; noise of {means.deviation:.2f} on a mean score"
    design = SoftDesign(medians, grid, means)
    made = {} if medians is None or grid is None else {MEDIANS: (medians, {"width": grid.width})}
    every = made | ({} if means is None else {MEANS: (means, {})})
    plan = make_plan(
        request.terms,
        (Stage(name, one.name, {**one.parameters, **more}, budgets[name]) for name, (one, more) in every.items()),
        (request.why, why),
        classes=request.classes.names,
        n_queries=task.n_queries,
        n_teachers=n_teachers,
    )
    return PlannedSoft(request, plan, task, design, warning)


def soft_label(
    sharded: Sharded,
    questions: Rows,
    planned: PlannedSoft,
    learner: Learner,
    place: Workplace,
    *,
    coins: Coins,
    effort: Effort | None = None,
) -> SoftlyLabelled:
    """Train a teacher on every shard, ask for its scores on public rows, and release what the plan allows.

    Called again with the same arguments after a crash it goes on, as `labelling.release_labels` does.
    """
    effort = Effort() if effort is None else effort
    plan = planned.plan
    place.ledger.open(plan.digest, Limits.of_plan(plan))
    asked = order_questions(n_rows(questions))[: plan.n_queries]
    resumed = place.ballot is not None and place.ballot.exists()
    n_classes = planned.task.n_classes
    ballot = gather(
        _kept(place.ballot, n_classes)
        if place.ballot is not None and resumed
        else _empty(len(asked), plan.n_teachers, n_classes),
        learner,
        sharded,
        take(questions, asked),
        n_classes=n_classes,
        n_jobs=effort.n_jobs,
        time_limit=effort.time_limit,
        on_progress=effort.on_progress,
        checkpoint=place.ballot,
        scratch=place.scratch,
        engine=effort.engine,
    )
    soft = release_soft_labels(planned.design, ballot.scores(), coins, ledger=place.ledger)
    statement = state_soft_labels(
        planned.design,
        planned.task,
        {stage.name: stage.budget for stage in plan.stages},
        soft,
        coins,
        promise=planned.promise,
        plan_digest=plan.digest,
        ledger_head=place.ledger.head,
    ).recorded_by(place.ledger)
    last = planned.design.means or planned.design.medians
    assert last is not None
    labelled = Labelled(soft.released(), asked, n_rows(questions), last, plan.why, statement)
    return SoftlyLabelled(labelled, soft)


def targets_of(made: SoftlyLabelled) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the released value of every public row, nan where there is none, and its standard deviation.

    Of more than two classes a value is a row of probabilities.
    """
    n = made.labelled.n_questions
    values, spreads = np.full((n, *made.soft.values.shape[1:]), np.nan), np.full(n, np.nan)
    values[made.labelled.taken], spreads[made.labelled.taken] = made.soft.values, made.soft.spreads
    return values, spreads


def _empty(n_questions: int, n_teachers: int, n_classes: int) -> ScoreBallot:
    if n_classes == 2:
        return ScoreBallot(n_questions, n_teachers)
    return ShareBallot(n_questions, n_teachers, n_classes)


def _kept(path: Path, n_classes: int) -> ScoreBallot:
    return ScoreBallot.load(path) if n_classes == 2 else ShareBallot.load_shares(path, n_classes)


def _stages_of(strategy: str, request: Request) -> tuple[str, ...]:
    if strategy not in DESIGNS:
        raise InvalidParameter(f"The strategy is {strategy!r}; soft labels have {', '.join(DESIGNS)}.")
    stages = DESIGNS[strategy]
    if MEDIANS in stages and len(request.classes) != 2:
        raise InvalidParameter(
            f"There are {len(request.classes)} classes; medians are of probabilities of the second of two. "
            f"Declare two, or take {spell('strategy', SOFT)}, which releases means for every class."
        )
    allowed = ("auto", *(READ_DISTANCES if MEDIANS in stages else ()))
    if request.mechanism not in allowed:
        raise InvalidParameter(
            f"The mechanism is {request.mechanism!r}; the strategy {strategy} releases through "
            f"{', '.join(allowed)}."
        )
    unfit = request.error_share or request.agreement is not None or request.may_abstain
    if unfit or (MEDIANS not in stages and request.settings):
        raise InvalidParameter(
            f"The strategy {strategy} has no place for an error estimate, an agreement, leave to abstain or a "
            "limit on abstentions"
            + (" other than that of its medians" if MEDIANS in stages else "")
            + "; leave them away."
        )
    return stages


def _teachers(request: Request) -> tuple[int, str]:
    if request.n_teachers is not None:
        return request.n_teachers, f"{request.n_teachers} teachers as asked"
    number, why = teachers_for(request.n_rows, request.budget, spectral=request.spectral)
    return number, f"{number} teachers {why}"


def _ends_early(limit: int, n_queries: int) -> str | None:
    if limit >= n_queries * FEW_REFUSALS:
        return None
    return (
        f"The budget pays for {limit} refusals among {n_queries} questions; unless the teachers agree on nearly "
        "all of them, medians end long before the last one. Noisy means answer every question."
    )


def _budgets(budget: Budget, stages: tuple[str, ...]) -> dict[str, Budget]:
    """Share a budget out, rounded down: the parts add up to no more than it."""
    if len(stages) == 1:
        return {stages[0]: budget}
    shares = {MEDIANS: SHARE_OF_MEDIANS, MEANS: 1 - SHARE_OF_MEDIANS}
    return {
        name: Budget(math.nextafter(budget.epsilon * share, 0), math.nextafter(budget.delta * share, 0))
        for name, share in shares.items()
    }
