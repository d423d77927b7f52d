"""The method of trying: a share of epsilon tries several methods, a little chooses one, and it has the rest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mapl.data.tables.table import PrivateTable
from mapl.errors import InvalidParameter
from mapl.pipeline.case import Case
from mapl.pipeline.choice.judgement import MOST_POINTS, Judgement
from mapl.pipeline.choice.judges import Judges
from mapl.pipeline.choice.shares import CHOOSING, TRYING, share_selection_budget
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
from mapl.release.statement.selected_statement import pilot_of, state_selection
from mapl.release.statement.selection_promise import selection_promise
from mapl.students.student import Student
from mapl.teachers.learners.description import describe_learner
from mapl.types import Budget

STAGE = "selection"


@dataclass(frozen=True, slots=True)
class Tried:
    """One method of the short list, and what it fixed beforehand for one share of the budget."""

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
    """Try every method of a short list with a little of epsilon, choose one, and carry it out with the rest.

    Notes
    -----
    *Guarantee.* The plan's budget, for the adjacency and unit of the run: what all methods cost where they are
    tried, what the choice costs and what the winner costs add up. Proof: docs/proofs/selection.md.
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
        weights = request.weights or (1,) * len(candidates)
        shares = share_selection_budget(request.budget, weights, [one.method != "cells" for one in candidates])
        pilots = {
            one.name: self._try(case, replace(request, budget=part), one)
            for one, part in zip(candidates, shares.tried, strict=True)
        }
        winners = {one.name: self._try(case, replace(request, budget=shares.winner), one) for one in candidates}
        step = MOST_POINTS[request.aim.metric]
        best = BestOf(shares.choice, len(pilots), step * SENSITIVITY[request.adjacency])
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
        """Try every method, choose one, and carry it out; after a crash, read what was released."""
        ready = prepared.ready
        request = ready.request
        _refuse_too_many(ready, table, case)
        place.ledger.open(prepared.plan.digest, Limits.of_plan(prepared.plan))
        made = {
            name: one.method.release(one.prepared, case, table, _part(place, pilot_of(name)), watch)
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
            judges = Judges.of(table, request, case.key)
            return np.array([judges.right(student, judgement) for student in students], dtype=np.int64)

        winner = list(made)[select(ready.best, scores, case.coins, ledger=place.ledger, stage=STAGE)]
        one = ready.winners[winner]
        own = one.method.release(one.prepared, case, table, _part(place, winner), watch)
        statement = state_selection(
            {name: results.labelled.statement for name, results in made.items()},
            winner,
            own.labelled.statement,
            [
                (ready.pilots[name].prepared.plan.budget, won.prepared.plan.budget)
                for name, won in ready.winners.items()
            ],
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
    """Put the plans of all methods together: everything is about all units, and adds up.

    Of the winners the ledger begins the one that was chosen, so that the dearest of them counts.
    """
    tried = [
        replace(stage, name=stage_of(pilot_of(name), stage.name))
        for name, plan in pilots.items()
        for stage in plan.stages
    ]
    choice = Stage(STAGE, best.name, dict(best.parameters), Budget(best.epsilon, 0.0))
    carried_out = [
        replace(stage, name=stage_of(name, stage.name), only_if=Condition(STAGE, number))
        for number, (name, plan) in enumerate(winners.items())
        for stage in plan.stages
    ]
    every = [*pilots.values(), *winners.values()]
    return make_plan(
        request.terms,
        (*tried, choice, *carried_out),
        [
            request.why,
            f"{', '.join(pilots)} tried with {TRYING:.0%} of epsilon in {_said(request.weights)}, {CHOOSING:.0%} "
            "to choose among them, and the rest for the winner",
        ],
        classes=request.classes.names,
        n_queries=max(plan.n_queries for plan in every),
        n_teachers=max(plan.n_teachers for plan in every),
    )


def _plans(tried: Mapping[str, Tried]) -> dict[str, Plan]:
    return {name: one.prepared.plan for name, one in tried.items()}


def _said(weights: tuple[int, ...]) -> str:
    return "equal shares" if len(set(weights)) < 2 else f"shares of {':'.join(map(str, weights))}"


def _refuse_too_many(ready: ReadySelection, table: PrivateTable, case: Case) -> None:
    """Refuse more teachers than there are units, where that is public, before anything is spent."""
    for plan in (*_plans(ready.pilots).values(), *_plans(ready.winners).values()):
        if plan.n_teachers:
            refuse_too_many(table, case.key, plan.n_teachers, plan.adjacency)


def _part(place: Workplace, name: str) -> Workplace:
    """Return a method's own corner: its part of the ledger, and a ballot of its own."""
    own = name.replace("/", "-").replace(" ", "-")
    ballot = None if place.ballot is None else place.ballot.with_name(f"{own}-{place.ballot.name}")
    return replace(place, ledger=LedgerPart(place.ledger, name), ballot=ballot)
