"""The answer to a question of planning, as a value: ranked proposals, and everything that an epsilon names."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from mapl.errors import CannotCalibrate
from mapl.planning.cells_offer import CellsOffer, cells_offer
from mapl.planning.earlier_runs import EarlierRuns
from mapl.planning.proposal import Proposal
from mapl.planning.question import Question, Wish
from mapl.planning.search import search
from mapl.planning.solve import Solution, solve, ways_out

SCHEMA = 1


@dataclass(frozen=True, slots=True)
class Answer:
    """Plans for a question; ``solution`` where a quantity was solved for, ``earlier`` where runs went before.

    The question's budget is that of the new run: what earlier runs have promised is not in it.
    """

    question: Question
    proposals: tuple[Proposal, ...]
    adjacency: str
    unit: str
    solution: Solution | None = None
    cells: CellsOffer | None = None
    earlier: EarlierRuns | None = None

    @property
    def best(self) -> Proposal:
        return self.proposals[0]

    @property
    def terms(self) -> str:
        """What every printed epsilon names."""
        return f"delta {self.question.delta:g}; adjacency: {self.adjacency}; unit: {self.unit}"

    def command(self, plan: Proposal) -> str:
        """Return the command that carries a plan out; only `aggregate` has settings for a consensus test."""
        question = self.question
        options = {
            "epsilon": question.epsilon,
            "delta": question.delta,
            "mechanism": plan.mechanism,
            "queries": plan.asked,
            "max-abstentions": plan.max_abstentions,
        }
        if plan.mechanism == "confident-max":
            verb = f"mapl aggregate VOTES-OF-{plan.n_teachers}-TEACHERS"
            options |= {
                "threshold": plan.parameters["threshold"],
                "sigma-test": _wider(plan.parameters["sigma_test"]),
                "sigma": _wider(plan.parameters["sigma"]),
            }
        else:
            verb = "mapl learn PRIVATE --public PUBLIC --label COLUMN --out RUN"
            options |= {"teachers": plan.n_teachers, "rows": question.rows}
        if question.adjacency == "labels":
            verb = verb.replace("--public PUBLIC", "--label-private")
        written = [f"--{name} {_written(value)}" for name, value in options.items() if value is not None]
        return " ".join([verb, *written])

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as plain values; docs/plan.md explains the fields, and their meaning stays."""
        question, solution = self.question, self.solution
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
            "agreement": None if question.agreement is None else str(question.agreement),
            "solved_for": None if solution is None else solution.unknown,
            "value": None if solution is None else solution.value,
            "wish": None if solution is None else asdict(solution.wish),
            "proposals": [self._proposal(rank, one) for rank, one in enumerate(self.proposals, start=1)],
            "cells": None if self.cells is None else {**asdict(self.cells), "delta": 0.0},
            "earlier": None
            if self.earlier is None
            else {
                "epsilon": self.earlier.epsilon,
                "delta": self.earlier.delta,
                "runs": [{"run": r.name, "epsilon": r.epsilon, "delta": r.delta} for r in self.earlier.runs],
            },
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
            "calibrated": plan.calibrated,
            "assumes": list(plan.assumes),
            "command": self.command(plan),
        }


def answered(
    question: Question, wish: Wish | None, *, adjacency: str, unit: str, earlier: EarlierRuns | None = None
) -> Answer:
    """Search for plans, and where there is a wish solve for what was left open.

    Parameters
    ----------
    adjacency, unit
        In words, as a statement has them; the question has their short names.
    """
    solution = None
    if wish is None:
        try:
            proposals = search(question)
        except CannotCalibrate as refusal:
            if question.delta == 0:
                raise
            half = Wish(answered=0.5)
            raise CannotCalibrate(f"{refusal} For {half}: {_lowered(ways_out(question, None, half))}") from None
    else:
        solution = solve(question, wish)
        question, proposals = solution.question, solution.proposals
    return Answer(question, tuple(proposals), adjacency, unit, solution, cells_offer(question), earlier)


def _lowered(sentence: str) -> str:
    return sentence[0].lower() + sentence[1:]


def _wider(sigma: float) -> float:
    """Round noise up to four digits: a little more is paid for, a little less is not."""
    scale = 10.0 ** (math.floor(math.log10(sigma)) - 3)
    return math.ceil(sigma / scale) * scale


def _written(value: Any) -> str:
    return f"{value:.12g}" if isinstance(value, float) else str(value)
