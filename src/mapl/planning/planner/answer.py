"""The answer to a question of planning, as a value: ranked proposals, and everything that an epsilon names."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from mapl.errors import CannotCalibrate
from mapl.planning.budgets.earlier_runs import EarlierRuns
from mapl.planning.planner.cells_offer import CellsOffer, cells_offer
from mapl.planning.planner.command_words import not_above, spelled_command, stand_in_classes, wider
from mapl.planning.planner.proposal import Proposal
from mapl.planning.planner.question import Question, Wish
from mapl.planning.planner.search import search
from mapl.planning.planner.solve import Solution, goal_of, result, solve, ways_out
from mapl.planning.planner.ways import LearningWay, cautions, other_ways, rank_ways, teachers_way
from mapl.planning.rules.method import TOO_FEW
from mapl.planning.votes.agreement import Agreement
from mapl.types import ADJACENCY, RECORD, UNIT

SCHEMA = 1


@dataclass(frozen=True, slots=True)
class SampleFacts:
    """What a public sample tells beside what is measured on it: names, and the share of its commonest class."""

    label: str
    classes: tuple[str, ...]
    commonest: float


@dataclass(frozen=True, slots=True)
class Answer:
    """Plans for a question; ``solution`` where a quantity was solved for, ``earlier`` where runs went before.

    The question's budget is that of the new run: what earlier runs have promised is not in it. ``proposals`` are
    plans for teachers, ``others`` are moments and cells; ``refused`` says why there is no plan for teachers where
    others can still learn.
    """

    question: Question
    proposals: tuple[Proposal, ...]
    adjacency: str
    unit: str
    solution: Solution | None = None
    cells: CellsOffer | None = None
    earlier: EarlierRuns | None = None
    others: tuple[LearningWay, ...] = ()
    refused: str | None = None
    sample: SampleFacts | None = None

    @property
    def best(self) -> Proposal:
        """The best plan for teachers."""
        return self.proposals[0]

    @property
    def ways(self) -> tuple[LearningWay, ...]:
        """Moments, cells and teachers, best first by what is forecast of their students."""
        teachers = [teachers_way(self.best, self.question.delta)] if self.proposals else []
        return rank_ways([*self.others, *teachers])

    @property
    def cautions(self) -> tuple[str, ...]:
        """Where little is to be expected, or something else is likely to do better."""
        return cautions(self.question, self.ways, None if self.sample is None else self.sample.commonest)

    def way_command(self, way: LearningWay) -> str:
        """Return the command that carries a way out."""
        if way.plan is not None:
            return self.command(way.plan)
        return self._learn({"method": way.method})

    @property
    def terms(self) -> str:
        """What every printed epsilon names."""
        return f"delta {self.question.delta:g}; adjacency: {self.adjacency}; unit: {self.unit}"

    def command(self, plan: Proposal) -> str:
        """Return the command that carries a plan out under the promise that was planned for; see `caution`.

        Words in capitals are for the user to fill in. Budgets round down: more than what is left is never spent.
        """
        if not votes_alone(plan):
            named = {"mechanism": plan.mechanism, "queries": plan.asked, "max-abstentions": plan.max_abstentions}
            return self._learn({**named, "teachers": plan.n_teachers})
        options: dict[str, Any] = {
            "epsilon": not_above(self.question.budget.epsilon),
            "delta": not_above(self.question.budget.delta),
            "mechanism": plan.mechanism,
            "queries": plan.asked,
            "max-abstentions": plan.max_abstentions,
            "threshold": plan.parameters["threshold"],
            "sigma-test": wider(plan.parameters["sigma_test"]),
            "sigma": wider(plan.parameters["sigma"]),
        }
        return spelled_command(f"mapl aggregate VOTES-OF-{plan.n_teachers}-TEACHERS", options)

    def _learn(self, named: dict[str, Any]) -> str:
        """Return a command of `mapl learn`, with the options that a way has of its own."""
        question, budget, earlier, sample = self.question, self.question.budget, "", self.sample
        if self.earlier is not None:
            # `learn` takes what earlier runs have promised off the total by itself.
            budget = self.earlier.together_with(budget)
            given = [shlex.quote(run.name) for run in self.earlier.runs if run.told_by is None]
            earlier = "".join(f" --continue {name}" for name in given)
        rows = "--label-private" if question.adjacency == "labels" else "--public PUBLIC"
        label = "COLUMN" if sample is None else shlex.quote(sample.label)
        classes = stand_in_classes(question.n_classes) if sample is None else shlex.quote(",".join(sample.classes))
        options: dict[str, Any] = {
            "epsilon": not_above(budget.epsilon),
            "delta": not_above(budget.delta),
            **named,
            "rows": question.rows,
            "unit": None if question.unit == RECORD else shlex.quote(question.unit),
            "adjacency": question.adjacency if question.adjacency == "replace-one" else None,
        }
        return spelled_command(
            f"mapl learn PRIVATE {rows} --label {label} --classes {classes} --out RUN{earlier}", options
        )

    def caution(self, plan: Proposal) -> str | None:
        """Say where the command of a plan promises something else than was asked: `aggregate` sees votes alone."""
        if not votes_alone(plan):
            return None
        return (
            "mapl aggregate sees votes and not how the teachers were trained, so what its statement promises is "
            f"about one teacher's votes (adjacency: {ADJACENCY}; unit: {UNIT}). It covers the unit planned for "
            f"({self.unit}) only if all of its records went to one teacher, chosen regardless of the others."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as plain values; docs/plan.md explains the fields, and their meaning stays."""
        question, solution = self.question, self.solution
        assumed = None
        if question.learning_curve is None:
            assumed = question.public_votes or question.agreement or Agreement.default()
        return {
            "schema": SCHEMA,
            "epsilon": question.epsilon,
            "delta": question.delta,
            "adjacency": self.adjacency,
            "unit": self.unit,
            "rows": question.rows,
            "queries": question.queries,
            "n_classes": question.n_classes,
            "must_answer": question.must_answer,
            "learning_curve": None if question.learning_curve is None else str(question.learning_curve),
            "agreement": None if assumed is None else str(assumed),
            "rests_on": _basis(question),
            "solved_for": None if solution is None else solution.unknown,
            "value": None if solution is None else solution.value,
            "wish": None if solution is None else asdict(solution.wish),
            "ways": [self._way(rank, one) for rank, one in enumerate(self.ways, start=1)],
            "commonest_class": None if self.sample is None else self.sample.commonest,
            "cautions": list(self.cautions),
            "teachers_refused": self.refused,
            "proposals": [self._proposal(rank, one) for rank, one in enumerate(self.proposals, start=1)],
            "cells": None if self.cells is None else {**asdict(self.cells), "delta": 0.0},
            "earlier": None
            if self.earlier is None
            else {
                "epsilon": self.earlier.epsilon,
                "delta": self.earlier.delta,
                "runs": [{"run": r.name, "epsilon": r.epsilon, "delta": r.delta} for r in self.earlier.runs],
                "total": asdict(self.earlier.together_with(question.budget)),
            },
        }

    def _way(self, rank: int, way: LearningWay) -> dict[str, Any]:
        return {
            "rank": rank,
            "method": way.method,
            "what": way.what,
            "epsilon": self.question.epsilon,
            "delta": way.delta,
            "student_accuracy": way.student_accuracy,
            "student_forecast": way.forecast,
            "error": way.error,
            "assumes": list(way.assumes),
            "command": self.way_command(way),
        }

    def _proposal(self, rank: int, plan: Proposal) -> dict[str, Any]:
        rows = self.question.rows
        return {
            "rank": rank,
            "mechanism": plan.mechanism,
            "teachers": plan.n_teachers,
            "rows_per_teacher": None if rows is None else rows / plan.n_teachers,
            "asked": plan.asked,
            "max_abstentions": plan.max_abstentions,
            "parameters": plan.parameters,
            "answered": plan.answered,
            "answered_with_winner": plan.winners,
            "abstained": plan.abstained,
            "label_accuracy": plan.label_accuracy,
            "plurality_accuracy": plan.plurality_accuracy,
            "student_accuracy": plan.student_accuracy,
            "student_forecast": plan.student_forecast,
            "calibrated": plan.calibrated,
            "assumes": list(plan.assumes),
            "command": self.command(plan),
            "caution": self.caution(plan),
        }


def answer_question(
    question: Question, wish: Wish | None, *, adjacency: str, unit: str, earlier: EarlierRuns | None = None
) -> Answer:
    """Search for plans, and where there is a wish solve for what was left open.

    Parameters
    ----------
    adjacency, unit
        In words, as a statement has them; the question has their short names.
    """
    solution, proposals, refused = None, [], None
    if wish is None:
        try:
            proposals = search(question)
        except CannotCalibrate as refusal:
            if (question.rows or 0) * (question.epsilon or 0.0) >= TOO_FEW and _others(question):
                refused = str(refusal)  # teachers share rows out, and need more of them than others do
            elif question.delta == 0:
                raise
            else:
                half = Wish(answered=0.5)
                advice = _lowered(ways_out(question, None, half))
                raise CannotCalibrate(f"{refusal} For {half}: {advice}") from None
    else:
        solution = solve(question, wish)
        question, proposals = solution.question, list(solution.proposals)
    return Answer(
        question,
        runnable_first(proposals, question, wish),
        adjacency,
        unit,
        solution,
        cells_offer(question),
        earlier,
        _others(question),
        refused,
    )


def _others(question: Question) -> tuple[LearningWay, ...]:
    return other_ways(question, cells_offer(question))


def runnable_first(plans: Iterable[Proposal], question: Question, wish: Wish | None = None) -> tuple[Proposal, ...]:
    """Return plans with those first that `mapl learn` can carry out, and that reach the wish where there is one."""

    def is_at_hand(plan: Proposal) -> bool:
        return not votes_alone(plan) and (wish is None or result(plan, question, wish) >= goal_of(wish))

    return tuple(sorted(plans, key=lambda plan: not is_at_hand(plan)))


def _basis(question: Question) -> str:
    """Name what forecasts rest on."""
    known = {
        "public sample": question.measured,
        "learning curve": question.curve,
        "public votes": question.public_votes,
        "declared agreement": question.agreement,
    }
    return next((name for name, given in known.items() if given is not None), "agreement assumed by default")


def votes_alone(plan: Proposal) -> bool:
    """Whether a plan is carried out on a file of votes: only `aggregate` has settings for a consensus test."""
    return plan.mechanism == "confident-max"


def _lowered(sentence: str) -> str:
    return sentence[0].lower() + sentence[1:]
