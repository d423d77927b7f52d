"""The method of trying: some units try several methods, others choose one, and it learns from all the rest."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from mapl.data.tables.table import PrivateTable
from mapl.errors import InvalidParameter
from mapl.pipeline.case import Case
from mapl.pipeline.choice.judgement import MOST_POINTS, Judgement
from mapl.pipeline.choice.set_aside import JUDGES, PILOT, SetAside, ThreeParts, part_units, share_of
from mapl.pipeline.choice.short_list import MethodCandidate
from mapl.pipeline.learners import Learners
from mapl.pipeline.methods.cells import CellsMethod
from mapl.pipeline.methods.method import Method, Prepared, Results, count_public_units
from mapl.pipeline.methods.moments import MomentsMethod
from mapl.pipeline.methods.teachers import TeachersMethod
from mapl.pipeline.place import Workplace
from mapl.pipeline.request import Request
from mapl.pipeline.votes.labelling import refuse_too_many
from mapl.pipeline.watch import Watch
from mapl.planning.plan import Condition, Plan, Stage
from mapl.planning.plan_maker import make_plan
from mapl.release import Limits
from mapl.release.best_of import BestOf, Scores, select
from mapl.release.cell_counts import SENSITIVITY
from mapl.release.ledger.part import LedgerPart, stage_of
from mapl.release.statement.promise import Promise
from mapl.release.statement.selected_statement import CHOSE, OTHERS, TRIED, pilot_of, state_selection
from mapl.release.statement.selection_promise import selection_promise
from mapl.students.student import Student
from mapl.teachers.learners.description import describe_learner
from mapl.types import Budget

STAGE = "selection"


@dataclass(frozen=True, slots=True)
class Tried:
    """One method of the short list, and what it fixed beforehand for one part of the units."""

    method: Method[Any]
    prepared: Prepared[Any]


@dataclass(frozen=True, slots=True)
class ReadySelection:
    """The methods of the short list by name, in small and in full, and what chooses among them."""

    request: Request
    pilots: Mapping[str, Tried]
    winners: Mapping[str, Tried]
    best: BestOf


@dataclass(frozen=True, slots=True)
class Chosen:
    """The method that was chosen, and what it released."""

    name: str
    results: Results


@dataclass(frozen=True, slots=True)
class SelectionMethod:
    """Try every method of a short list on a few units, let others choose, and carry out the winner on all the rest.

    Notes
    -----
    *Guarantee.* The plan's budget, for the adjacency and unit of the run: that of all methods together for units
    they are tried on, that of the choice for those who choose, that of the winner for all others. Proof:
    docs/proofs/selection.md.
    """

    learners: Learners

    def plan(self, case: Case, request: Request) -> Prepared[ReadySelection]:
        candidates = request.candidates
        if self.learners.teacher is not None and all(one.name != "teachers" for one in candidates):
            raise InvalidParameter(
                f"A learner was named, and {request.method} has no place for it; put teachers on the list, or "
                "leave the learner away."
            )
        request = count_public_units(case, request)
        parts, whole = shares(request), request_of_winner(request)
        pilots = {one.name: self._try(case, part, one) for one, part in zip(candidates, parts, strict=True)}
        winners = {one.name: self._try(case, whole, one) for one in candidates}
        step = MOST_POINTS[request.aim.metric]
        best = BestOf(request.budget.epsilon, len(pilots), step * SENSITIVITY[request.adjacency])
        settings = {
            "method": request.method,
            "tried": {name: dict(one.prepared.settings) for name, one in pilots.items()},
            **self.learners.names,
            "label": case.declared.label,
        }
        teachers = "; ".join(describe_learner(one.prepared.teacher) for one in winners.values())
        words = dict.fromkeys(one for each in winners.values() for one in each.prepared.warnings)
        plan = plan_selection(request, _plans(pilots), _plans(winners), best)
        ready = ReadySelection(request, pilots, winners, best)
        return Prepared(plan, settings, teachers, self.learners.student, ready, tuple(words))

    def promise(self, prepared: Prepared[ReadySelection]) -> Promise:
        return selection_promise(one.method.promise(one.prepared) for one in prepared.ready.winners.values())

    def release(
        self, prepared: Prepared[ReadySelection], case: Case, table: PrivateTable, place: Workplace, watch: Watch
    ) -> Results:
        """Try every method, choose one, and carry it out on the others; after a crash, read what was released."""
        ready = prepared.ready
        request = ready.request
        parts = part_units(table, case.key, request.adjacency)
        _refuse_too_many(ready, parts, case)
        judges = SetAside.of(parts.judges, request, case.key)
        place.ledger.open(prepared.plan.digest, Limits.of_plan(prepared.plan))
        made = {
            name: one.method.release(one.prepared, case, parts.pilot, _part(place, pilot_of(name)), watch)
            for name, one in ready.pilots.items()
        }

        def student_of(name: str) -> Student | None:
            one, results = ready.pilots[name], made[name]
            if results.lesson is None:
                return None
            return request.aim.decided(one.method.train(one.prepared, case, results), case.public.rows)

        def scores() -> Scores:
            students = [student_of(name) for name in made]
            judgement = Judgement.among(request.aim.metric, students, case.public.rows)
            return np.array([judges.right(student, judgement) for student in students], dtype=np.int64)

        winner = list(made)[select(ready.best, scores, case.coins, ledger=place.ledger, stage=STAGE)]
        one = ready.winners[winner]
        own = one.method.release(one.prepared, case, parts.others, _part(place, winner), watch)
        statement = state_selection(
            {name: results.labelled.statement for name, results in made.items()},
            winner,
            own.labelled.statement,
            [plan.budget for plan in _plans(ready.winners).values()],
            ready.best,
            request.budget,
            case.coins,
            promise=self.promise(prepared),
            stage=STAGE,
            plan_digest=prepared.plan.digest,
            ledger_head=place.ledger.head,
        ).recorded_by(place.ledger)
        why = f"{prepared.plan.why}; chosen: {winner} ({own.labelled.why})"
        return replace(
            own,
            labelled=replace(own.labelled, why=why, statement=statement),
            lesson=None if own.lesson is None else Chosen(winner, own),
            settings={
                **one.prepared.settings,
                **own.settings,
                "method": winner,
                "selected": request.method,
            },
        )

    def train(self, prepared: Prepared[ReadySelection], case: Case, results: Results) -> Student:
        chosen: Chosen = results.lesson
        one = prepared.ready.winners[chosen.name]
        return one.method.train(one.prepared, case, chosen.results)

    def _try(self, case: Case, request: Request, candidate: MethodCandidate) -> Tried:
        method: Method[Any]
        if candidate.method == "cells":
            request = replace(request, partition=candidate.kind or request.partition)
            method = CellsMethod(self.learners, f"{candidate.name} as asked")
        elif candidate.method == "moments":
            method = MomentsMethod(self.learners, f"{candidate.name} as asked")
        else:
            method = TeachersMethod(replace(self.learners, teacher=candidate.learner or self.learners.teacher))
        return Tried(method, method.plan(case, request))


def plan_selection(request: Request, pilots: Mapping[str, Plan], winners: Mapping[str, Plan], best: BestOf) -> Plan:
    """Put the plans of all methods together: the choice is about other units than the pilots, and so is the winner.

    Pilots add up. Of the winners the ledger begins the one that was chosen, so that the dearest of them counts.
    """
    tried = [
        replace(stage, name=stage_of(pilot_of(name), stage.name), units=TRIED)
        for name, plan in pilots.items()
        for stage in plan.stages
    ]
    choice = Stage(STAGE, best.name, dict(best.parameters), Budget(best.epsilon, 0.0), CHOSE)
    carried_out = [
        replace(stage, name=stage_of(name, stage.name), units=OTHERS, only_if=Condition(STAGE, number))
        for number, (name, plan) in enumerate(winners.items())
        for stage in plan.stages
    ]
    every = [*pilots.values(), *winners.values()]
    return make_plan(
        request.terms,
        (*tried, choice, *carried_out),
        [
            request.why,
            f"{', '.join(pilots)} tried on {PILOT:.0%} of the units with {_said(request.weights)} of epsilon, "
            f"{JUDGES:.0%} to choose among them, and all others for the winner with all of epsilon",
        ],
        classes=request.classes.names,
        n_queries=max(plan.n_queries for plan in every),
        n_teachers=max(plan.n_teachers for plan in every),
    )


def _plans(tried: Mapping[str, Tried]) -> dict[str, Plan]:
    return {name: one.prepared.plan for name, one in tried.items()}


def _said(weights: tuple[int, ...]) -> str:
    return "equal shares" if len(set(weights)) < 2 else f"shares of {':'.join(map(str, weights))}"


def shares(request: Request) -> list[Request]:
    """Return what each method of the short list may spend where it is tried, and how many units it has there.

    Epsilon is shared equally, or by weights that public facts speak for, rounded down. Cells need no delta, so that
    the others share all of it.
    """
    candidates = request.candidates
    epsilon, weights = request.budget.epsilon, request.weights or (1,) * len(candidates)
    parts = [weight / sum(weights) * epsilon for weight in weights]
    while sum(map(Fraction, parts)) > Fraction(epsilon):
        parts = [math.nextafter(part, 0) for part in parts]
    n_sharing = max(1, sum(one.method != "cells" for one in candidates))
    delta = request.budget.delta / n_sharing
    while n_sharing * Fraction(delta) > Fraction(request.budget.delta):
        delta = math.nextafter(delta, 0)
    return [replace(_on(request, PILOT), budget=Budget(part, delta)) for part in parts]


def request_of_winner(request: Request) -> Request:
    """Return what the winner may spend, which is everything, and how many units it has to learn from."""
    return _on(request, 1 - PILOT - JUDGES)


def _on(request: Request, share: float) -> Request:
    """Return a request for a part of the units, with fewer teachers where they would have nothing to learn from."""
    n_rows, n_teachers = share_of(request.n_rows, share), request.n_teachers
    if n_rows is not None and n_teachers is not None:
        n_teachers = max(1, min(n_teachers, n_rows // 2))
    return replace(request, n_rows=n_rows, n_teachers=n_teachers)


def _refuse_too_many(ready: ReadySelection, parts: ThreeParts, case: Case) -> None:
    """Refuse more teachers than a part has units, where that is public, before anything is spent."""
    for tried, part in ((ready.pilots, parts.pilot), (ready.winners, parts.others)):
        for plan in _plans(tried).values():
            if plan.n_teachers:
                refuse_too_many(part, case.key, plan.n_teachers, plan.adjacency)


def _part(place: Workplace, name: str) -> Workplace:
    """Return a method's own corner: its part of the ledger, and a ballot of its own."""
    own = name.replace("/", "-").replace(" ", "-")
    ballot = None if place.ballot is None else place.ballot.with_name(f"{own}-{place.ballot.name}")
    return replace(place, ledger=LedgerPart(place.ledger, name), ballot=ballot)
