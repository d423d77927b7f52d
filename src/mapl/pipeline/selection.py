"""The way of trying: several methods share the budget, and units that none of them saw choose one privately."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from mapl.data.table import PrivateTable
from mapl.errors import InvalidParameter
from mapl.noise import Coins
from mapl.pipeline.by_cells import by_cells
from mapl.pipeline.by_teachers import by_teachers
from mapl.pipeline.candidates import Candidate
from mapl.pipeline.job import Job
from mapl.pipeline.label import Workplace
from mapl.pipeline.method import Made, Method, Work, sized
from mapl.pipeline.request import Request
from mapl.pipeline.set_aside import SHARE, SetAside, parted
from mapl.planning.plan import Plan, Stage
from mapl.release import Limits
from mapl.release.best_of import BestOf, Scores, select
from mapl.release.cell_counts import SENSITIVITY
from mapl.release.ledger_part import LedgerPart, stage_of
from mapl.release.promise import promise_of
from mapl.release.selected_statement import ASIDE, TRAINED, selected_statement
from mapl.students.student import Student
from mapl.teachers.described import described
from mapl.types import Budget

STAGE = "selection"


def by_selection(job: Job, request: Request) -> Method:
    """Try every method of a short list, and publish what the units set aside choose."""
    candidates = request.candidates
    if job.learners.teacher is not None and all(one.name != "teachers" for one in candidates):
        raise InvalidParameter(
            f"A learner was named, and {request.method} has no place for it; put teachers on the list, or leave "
            "the learner away."
        )
    methods = {
        one.name: _method(job, part, one) for one, part in zip(candidates, shares(sized(job, request)), strict=True)
    }
    best = BestOf(request.budget.epsilon, len(methods), SENSITIVITY[request.adjacency])
    selection = Selection(request, methods, best, planned_selection(request, methods, best))

    def on(table: PrivateTable) -> Work:
        learned_from, aside = parted(table, job.key, request.adjacency)
        works = {name: method.on(learned_from) for name, method in methods.items()}
        judges = SetAside.of(aside, request, job.key)
        return lambda place: selection.carried_out(works, judges, place, job.coins)

    settings = {name: dict(method.settings) for name, method in methods.items()}
    teachers = "; ".join(described(method.teacher) for method in methods.values())
    return Method(selection.plan, job.settings(method=request.method, tried=settings), teachers, on)


@dataclass(frozen=True, slots=True)
class Selection:
    """Planned methods, the plan that covers all of them, and what chooses one."""

    request: Request
    methods: Mapping[str, Method]
    best: BestOf
    plan: Plan

    def carried_out(self, works: Mapping[str, Work], judges: SetAside, place: Workplace, coins: Coins) -> Made:
        """Release what every method may release, choose one, and return what it made.

        Called again after a crash, it only reads what was released and chosen.

        Notes
        -----
        *Guarantee.* The plan's budget, for the adjacency and unit of the run: that of all methods together for
        units they learned from, that of the choice for units set aside. Proof: docs/proofs/selection.md.
        """
        place.ledger.open(self.plan.digest, Limits.of_plan(self.plan))
        made = {name: work(_part(place, name)) for name, work in works.items()}
        students: dict[str, Student | None] = {}

        def scores() -> Scores:
            for name, one in made.items():
                students[name] = None if one.train is None else one.train()
            return np.array([judges.right(student) for student in students.values()], dtype=np.int64)

        winner = list(made)[select(self.best, scores, coins, ledger=place.ledger, stage=STAGE)]
        own, student = made[winner], students.get(winner)
        statement = selected_statement(
            {name: one.labelled.statement for name, one in made.items()},
            winner,
            self.best,
            self.request.budget,
            coins,
            promise=promise_of(self.request.adjacency, self.request.unit),
            stage=STAGE,
            plan_digest=self.plan.digest,
            ledger_head=place.ledger.head,
        )
        why = f"{self.plan.why}; chosen: {winner} ({own.labelled.why})"
        return replace(
            own,
            labelled=replace(own.labelled, why=why, statement=statement),
            train=own.train if student is None else lambda: student,
            settings={
                **self.methods[winner].settings,
                **own.settings,
                "method": winner,
                "selected": self.request.method,
            },
        )


def planned_selection(request: Request, methods: Mapping[str, Method], best: BestOf) -> Plan:
    """Put the plans of all methods together: they add up, and the choice is about other units."""
    plans = {name: method.plan for name, method in methods.items()}
    stages = [
        replace(stage, name=stage_of(name, stage.name), units=TRAINED)
        for name, plan in plans.items()
        for stage in plan.stages
    ]
    choice = Stage(STAGE, best.name, dict(best.parameters), Budget(best.epsilon, 0.0), ASIDE)
    return Plan(
        classes=request.classes.names,
        n_teachers=max(plan.n_teachers for plan in plans.values()),
        adjacency=request.adjacency,
        unit=request.unit_name,
        n_queries=max(plan.n_queries for plan in plans.values()),
        budget=request.budget,
        stages=(*stages, choice),
        why=f"{', '.join(plans)} with equal shares of epsilon, and {SHARE:.0%} of the units to choose among them",
        together=request.together,
    )


def shares(request: Request) -> list[Request]:
    """Return what each method of the short list may spend, and how many units it has to learn from.

    Epsilon is shared equally, rounded down. Cells need no delta, so that teachers share all of it.
    """
    candidates = request.candidates
    n, epsilon = len(candidates), request.budget.epsilon
    each = epsilon / n
    while n * Fraction(each) > Fraction(epsilon):
        each = math.nextafter(each, 0)
    delta = request.budget.delta / max(1, sum(one.method == "teachers" for one in candidates))
    learned_from = None if request.n_rows is None else max(1, round((1 - SHARE) * request.n_rows))
    return [replace(request, budget=Budget(each, delta), n_rows=learned_from) for _ in candidates]


def _method(job: Job, request: Request, candidate: Candidate) -> Method:
    if candidate.method == "cells":
        request = replace(request, partition=candidate.kind or request.partition)
        return by_cells(job, request, f"{candidate.name} as asked")
    learners = replace(job.learners, teacher=candidate.learner or job.learners.teacher)
    return by_teachers(replace(job, learners=learners), request)


def _part(place: Workplace, name: str) -> Workplace:
    """Return a method's own corner: its part of the ledger, and a ballot of its own."""
    ballot = (
        None if place.ballot is None else place.ballot.with_name(f"{name.replace('/', '-')}-{place.ballot.name}")
    )
    return replace(place, ledger=LedgerPart(place.ledger, name), ballot=ballot)
