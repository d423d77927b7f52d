"""The plan of a run with several labels: every label is a stage, all of them are priced together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from mapl.errors import InvalidParameter
from mapl.mechanisms import AnyMechanism, Task, entry, make
from mapl.pipeline.request import Request
from mapl.pipeline.votes.teachers_plan import calibrate_mechanism
from mapl.planning import Agreement
from mapl.planning.budgets.shared import Shared, proportions, share_budget
from mapl.planning.choosing.expectation import count_asked
from mapl.planning.plan import Plan, Stage
from mapl.planning.plan_maker import make_plan
from mapl.planning.rules.teachers import teachers_for
from mapl.release.loop import admit
from mapl.release.statement.promise import Promise
from mapl.types import Budget

TOGETHER = "together with all other labels of the plan"
"""How the mechanism of a stage was priced, as its parameters say."""


@dataclass(frozen=True, slots=True)
class PlannedLabels:
    """A plan with a stage for every label, and the mechanisms that were calibrated together."""

    request: Request
    plan: Plan
    labels: tuple[str, ...]
    parts: tuple[float, ...]
    tasks: tuple[Task, ...]
    shared: Shared

    @property
    def promise(self) -> Promise:
        """What is promised to whom, and what has to hold for that."""
        return self.request.promise_by_teachers


def plan_labels(
    request: Request, labels: Sequence[str], n_questions: int, *, weights: Sequence[float] | None = None
) -> PlannedLabels:
    """Fix everything before a private row is read; the budget is split over the labels by public weights.

    Parameters
    ----------
    labels
        The names of the labels, which all have the classes of the request.
    weights
        How much each label may cost, relative to the others; alike if None.
    """
    names = tuple(labels)
    if not names or len(set(names)) < len(names):
        raise InvalidParameter("There is no label, or two of one name; name each label once.")
    if weights is not None and len(weights) != len(names):
        raise InvalidParameter(f"There are {len(names)} labels and {len(weights)} weights; give one for each.")
    if request.error_share:
        raise InvalidParameter("An error estimate is for runs with one label; leave error_share away.")
    parts = proportions([1.0] * len(names) if weights is None else list(weights))
    usual = Budget(request.budget.epsilon / math.sqrt(len(names)), request.budget.delta / len(names))
    n_teachers, why = request.n_teachers, "as asked"
    if n_teachers is None:
        n_teachers, why = teachers_for(request.n_rows, usual, spectral=request.spectral)
    first = Task(usual, n_teachers, len(request.classes), request.asked(n_questions))
    choice, _ = calibrate_mechanism(request, first, request.agreement or Agreement.default())
    task = replace(first, n_queries=count_asked(choice.mechanism, first.n_queries))
    settings = _settings(choice.mechanism)
    shared = share_budget(
        request.budget, parts, lambda j, own: make(choice.mechanism.name, replace(task, budget=own), **settings)
    )
    tasks = tuple(replace(task, budget=own) for own in shared.alone)
    for one, its in zip(shared.mechanisms, tasks, strict=True):
        admit(one, its, promise=request.promise_by_teachers)
    stages = tuple(
        Stage(name, one.name, {**one.parameters, "priced": TOGETHER}, budget)
        for name, one, budget in zip(names, shared.mechanisms, _shares(request.budget, parts), strict=True)
    )
    plan = make_plan(
        request.terms,
        stages,
        (f"{len(names)} labels priced together", f"{n_teachers} teachers {why}", choice.why),
        classes=request.classes.names,
        n_queries=task.n_queries,
        n_teachers=n_teachers,
    )
    return PlannedLabels(request, plan, names, parts, tasks, shared)


def _settings(mechanism: AnyMechanism) -> dict[str, Any]:
    """Return the settings that fix a mechanism's limits; its design order is left free for the budget found."""
    parameters = mechanism.parameters
    return {s: parameters[s] for s in entry(mechanism.name).settings if s in parameters and s != "order"}


def _shares(budget: Budget, parts: Sequence[float]) -> list[Budget]:
    """Return each label's share of the budget, rounded down so that they add up to no more."""
    epsilons = [part * budget.epsilon for part in parts]
    while sum(map(Fraction, epsilons)) > Fraction(budget.epsilon):
        epsilons = [math.nextafter(one, 0) for one in epsilons]
    delta = budget.delta / len(parts)
    while len(parts) * Fraction(delta) > Fraction(budget.delta):
        delta = math.nextafter(delta, 0)
    return [Budget(one, delta) for one in epsilons]
