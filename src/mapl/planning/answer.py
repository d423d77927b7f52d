"""The answer to a question of planning, as a value: ranked proposals, and everything that an epsilon names."""

from __future__ import annotations

import math
import shlex
from dataclasses import asdict, dataclass
from decimal import ROUND_DOWN, Context
from typing import Any

from mapl.errors import CannotCalibrate
from mapl.planning.agreement import Agreement
from mapl.planning.cells_offer import CellsOffer, cells_offer
from mapl.planning.earlier_runs import EarlierRuns
from mapl.planning.proposal import Proposal
from mapl.planning.question import Question, Wish
from mapl.planning.search import search
from mapl.planning.solve import Solution, solve, ways_out
from mapl.types import ADJACENCY, UNIT

SCHEMA = 1
RECORD = "record"
"""The unit of a table without a column of ids."""
MOST_CLASSES_NAMED = 4


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
        """Return the command that carries a plan out under the promise that was planned for; see `caution`.

        Words in capitals are for the user to fill in. Budgets round down: more than what is left is never spent.
        """
        question, budget, earlier = self.question, self.question.budget, ""
        if self.earlier is not None and not votes_alone(plan):
            # `learn` takes what earlier runs have promised off the total by itself.
            budget = self.earlier.together_with(budget)
            given = [shlex.quote(run.name) for run in self.earlier.runs if run.told_by is None]
            earlier = "".join(f" --continue {name}" for name in given)
        options: dict[str, Any] = {
            "epsilon": not_above(budget.epsilon),
            "delta": not_above(budget.delta),
            "mechanism": plan.mechanism,
            "queries": plan.asked,
            "max-abstentions": plan.max_abstentions,
        }
        if votes_alone(plan):
            verb = f"mapl aggregate VOTES-OF-{plan.n_teachers}-TEACHERS"
            options |= {
                "threshold": plan.parameters["threshold"],
                "sigma-test": _wider(plan.parameters["sigma_test"]),
                "sigma": _wider(plan.parameters["sigma"]),
            }
        else:
            rows = "--label-private" if question.adjacency == "labels" else "--public PUBLIC"
            classes = _classes(question.n_classes)
            verb = f"mapl learn PRIVATE {rows} --label COLUMN --classes {classes} --out RUN{earlier}"
            options |= {
                "teachers": plan.n_teachers,
                "rows": question.rows,
                "unit": None if question.unit == RECORD else shlex.quote(question.unit),
                "adjacency": question.adjacency if question.adjacency == "replace-one" else None,
            }
        written = [f"--{name} {_written(value)}" for name, value in options.items() if value is not None]
        return " ".join([verb, *written])

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
                "total": asdict(self.earlier.together_with(question.budget)),
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
            "student_forecast": plan.student_forecast,
            "calibrated": plan.calibrated,
            "assumes": list(plan.assumes),
            "command": self.command(plan),
            "caution": self.caution(plan),
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


def votes_alone(plan: Proposal) -> bool:
    """Whether a plan is carried out on a file of votes: only `aggregate` has settings for a consensus test."""
    return plan.mechanism == "confident-max"


def not_above(value: float, digits: int = 12) -> str:
    """Write a budget in a few digits, rounded down: what is left must never be exceeded.

    Examples
    --------
    >>> not_above(0.3), not_above(1e-6), not_above(0.19999999999999996), not_above(0.61237, 3)
    ('0.3', '1e-06', '0.199999999999', '0.612')
    """
    # By its shortest spelling, which is read back as the same float.
    rounded = Context(prec=digits, rounding=ROUND_DOWN).create_decimal(repr(float(value)))
    return f"{float(rounded):.{digits}g}"


def _classes(n: int) -> str:
    """Return names for the user to replace, as many as there are classes if they are few."""
    return ",".join("ABCD"[:n]) if n <= MOST_CLASSES_NAMED else f"NAMES-OF-{n}-CLASSES"


def _lowered(sentence: str) -> str:
    return sentence[0].lower() + sentence[1:]


def _wider(sigma: float) -> float:
    """Round noise up to four digits: a little more is paid for, a little less is not."""
    scale = 10.0 ** (math.floor(math.log10(sigma)) - 3)
    return math.ceil(sigma / scale) * scale


def _written(value: Any) -> str:
    return f"{value:.12g}" if isinstance(value, float) else str(value)
