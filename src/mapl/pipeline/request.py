"""What a user asks of a private table, and the plan that follows from it and from public facts alone."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from mapl.data.cells import Kind
from mapl.data.classes import Classes
from mapl.data.one_per_unit import KEYED, latest_column
from mapl.errors import CannotCalibrate, InvalidParameter
from mapl.mechanisms import Task, entry
from mapl.pipeline.candidates import SELECT, Candidate, candidates_of
from mapl.planning import Agreement, Choice, choose
from mapl.planning.agreement import agreement_from
from mapl.planning.plan import Plan, Stage
from mapl.planning.teachers_rule import teachers_for
from mapl.planning.together import Together
from mapl.release.error_estimate import ErrorEstimate, hard_questions
from mapl.release.loop import admit, refuse_senseless
from mapl.release.promise import promise_of
from mapl.types import Budget, positive_integer

Adjacency = Literal["add-remove", "replace-one", "labels"]
ADJACENCIES: tuple[Adjacency, ...] = ("add-remove", "replace-one", "labels")

RECORD = "record"
"""The unit of a table without a unit column: every record by itself."""

MOST_ERROR_SHARE = 0.9
MOST_ROUNDS = 2
METHODS = ("auto", "teachers", "cells")
EXTREME_RATES = (0.0, 1.0)


@dataclass(frozen=True, slots=True)
class Request:
    """A budget and the settings of a run; everything here is declared by the user and public."""

    budget: Budget
    classes: Classes
    n_teachers: int | None = None
    n_rows: int | None = None
    mechanism: str = "auto"
    settings: Mapping[str, Any] = field(default_factory=dict)
    n_queries: int | None = None
    agreement: Agreement | None = None
    may_abstain: bool = False
    adjacency: Adjacency = "add-remove"
    unit: str | None = None
    error_share: float = 0.0
    spectral: bool = False
    method: str = "teachers"
    why: str = ""
    n_cells: int | None = None
    partition: Kind = "points"
    rounds: int = 1
    per_unit: str = KEYED
    together: Together | None = None
    """Earlier runs on the same people, whose promises count; the budget is what they leave for this one."""

    def __post_init__(self) -> None:
        refuse_senseless(self.mechanism, self.budget)
        if self.mechanism != "auto":
            entry(self.mechanism)
        given = {
            "teachers": self.n_teachers,
            "rows": self.n_rows,
            "queries": self.n_queries,
            "cells": self.n_cells,
            "rounds": self.rounds,
        }
        positive_integer(**{name: value for name, value in given.items() if value is not None})
        if not self.candidates and self.method not in METHODS:
            raise InvalidParameter(
                f"The method is {self.method!r}; choose one of {', '.join(METHODS)}, or a private selection "
                f"such as {SELECT}teachers,cells."
            )
        self.refuse_mixture(self.wants_teachers)
        latest_column(self.per_unit)
        if self.per_unit != KEYED and self.unit is None:
            raise InvalidParameter(
                f"The record of a unit that counts is {self.per_unit!r}, and there is no column of ids: give it "
                "with --unit, or leave --per-unit away; without ids every record is a unit and counts."
            )
        if self.rounds > MOST_ROUNDS:
            raise InvalidParameter(f"There are {self.rounds} rounds; cells are counted once or twice.")
        if self.adjacency not in ADJACENCIES:
            raise InvalidParameter(f"The adjacency is {self.adjacency!r}; choose one of {', '.join(ADJACENCIES)}.")
        if self.adjacency == "replace-one" and self.unit is None:
            raise InvalidParameter(
                "Replace-one compares tables in which one unit's records change under the same public id, so it "
                "needs a column of ids: give it with --unit, or take the add-remove adjacency."
            )
        if self.together is not None and self.unit == RECORD:
            raise InvalidParameter(
                f"The column of ids is called {RECORD!r}, which is what plans call single records, and earlier "
                "runs could be mistaken for runs about other units; call the column something else."
            )
        if self.together is not None:
            self.together.admit(self.budget, adjacency=self.adjacency, unit=self.unit_name)
        if not 0 <= self.error_share <= MOST_ERROR_SHARE:
            raise InvalidParameter(
                f"The share of the budget for the error estimate is {self.error_share:g}; it must lie between 0 "
                f"(no estimate) and {MOST_ERROR_SHARE:g}."
            )

    @property
    def wants_teachers(self) -> str | None:
        """What was asked for that only teachers have, if anything."""
        asked = {
            "a number of teachers": self.n_teachers is not None,
            "a mechanism": self.mechanism != "auto",
            "a limit on abstentions": bool(self.settings),
            "a number of queries": self.n_queries is not None,
            "an agreement": self.agreement is not None,
            "an estimate of the teachers' error": self.error_share > 0,
            "leave to abstain": self.may_abstain,
        }
        return next((what for what, is_so in asked.items() if is_so), None)

    @property
    def wants_cells(self) -> str | None:
        """What was asked for that only cells have, if anything."""
        asked = {
            "a number of cells": self.n_cells is not None,
            "a partition": self.partition != "points",
            "a second round": self.rounds > 1,
            "a choice among a unit's records": self.per_unit != KEYED,
        }
        return next((what for what, is_so in asked.items() if is_so), None)

    def refuse_mixture(self, wants_teachers: str | None) -> None:
        """Refuse what a method has no place for, rather than leave it out silently.

        Parameters
        ----------
        wants_teachers
            What was asked for that only teachers have, here or elsewhere.
        """
        methods: set[str] = {one.method for one in self.candidates} or {self.method}
        if methods == {"cells"} and wants_teachers is not None:
            raise InvalidParameter(
                f"Cells have no teachers, and {wants_teachers} was asked for; leave it away, or take --method "
                "teachers."
            )
        if methods == {"teachers"} and self.wants_cells is not None:
            raise InvalidParameter(
                f"Teachers count in no cells, and {self.wants_cells} was asked for; leave it away, or take "
                "--method cells."
            )
        if methods == {"auto"} and wants_teachers is not None and self.wants_cells is not None:
            raise InvalidParameter(
                f"Only teachers have {wants_teachers}, and only cells {self.wants_cells}; leave one of them away."
            )

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        """The methods to choose among privately, none where the method is settled otherwise."""
        return candidates_of(self.method) if self.method.startswith(SELECT) else ()

    @property
    def unit_name(self) -> str:
        return RECORD if self.unit is None else self.unit

    def task(self, n_teachers: int, n_questions: int) -> Task:
        """Return the public facts that the release of labels is calibrated for."""
        return Task(self.label_budget, n_teachers, len(self.classes), self.asked(n_questions))

    def asked(self, n_questions: int) -> int:
        """Return how many of the public rows are asked."""
        return n_questions if self.n_queries is None else min(self.n_queries, n_questions)

    @property
    def error_epsilon(self) -> float:
        """The pure epsilon of the error estimate, 0 without one."""
        return self.error_share * self.budget.epsilon

    @property
    def label_budget(self) -> Budget:
        """What the error estimate leaves for the labels, rounded down: the two epsilons add up to the budget's."""
        if not self.error_share:
            return self.budget
        return Budget(math.nextafter(self.budget.epsilon - self.error_epsilon, 0), self.budget.delta)


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan, and the mechanism that will release its labels unless an estimate still has to choose it."""

    request: Request
    plan: Plan
    task: Task
    choice: Choice | None
    error_estimate: ErrorEstimate | None
    warning: str | None


def planned(request: Request, n_questions: int) -> Planned:
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
            chosen_by(rate, request, task)
    else:
        choice, warning = calibrated(request, task, request.agreement or Agreement.default())
        stages.append(Stage("labels", choice.mechanism.name, dict(choice.mechanism.parameters), task.budget))
    plan = Plan(
        classes=request.classes.names,
        n_teachers=n_teachers,
        adjacency=request.adjacency,
        unit=request.unit_name,
        n_queries=task.n_queries,
        budget=request.budget,
        stages=tuple(stages),
        why="; ".join(
            words
            for words in (request.why, f"{n_teachers} teachers {why_teachers}", choice.why if choice else "")
            if words
        ),
        together=request.together,
    )
    return Planned(request, plan, task, choice, estimate, warning)


def calibrated(
    request: Request, task: Task, agreement: Agreement, settings: Mapping[str, Any] | None = None
) -> tuple[Choice, str | None]:
    """Choose and calibrate the mechanism for an expected agreement, and admit it against the budget."""
    promise = promise_of(request.adjacency, request.unit)
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


def chosen_by(rate: float, request: Request, task: Task) -> Choice:
    """Set what a plan left open by the released error rate, which is public by then."""
    settings = dict(request.settings)
    if request.mechanism == "btt18":
        settings.setdefault("max_abstentions", hard_questions(rate, task.n_queries))
    choice, _ = calibrated(request, task, agreement_from(rate), settings)
    return Choice(choice.mechanism, f"{choice.why}; the teachers' error rate was privately estimated as {rate:.1%}")
