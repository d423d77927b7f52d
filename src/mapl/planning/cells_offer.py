"""What the other way, counting in cells, would take: told beside the plans for teachers."""

from __future__ import annotations

from dataclasses import dataclass

from mapl.planning.cells_rule import cells_for
from mapl.planning.method_rule import Facts, method_for
from mapl.planning.question import Question


@dataclass(frozen=True, slots=True)
class CellsOffer:
    """How many cells a budget buys. There is no forecast of accuracy: it depends on where public rows lie."""

    n_cells: int
    epsilon: float
    why: str
    assumes: tuple[str, ...]


def cells_offer(question: Question) -> CellsOffer | None:
    """Return what counting in cells would be like, None where public facts speak against it.

    The questions stand for the public rows: every one of them may become a cell.
    """
    asked = question.teachers, question.max_abstentions, question.agreement, question.public_votes
    if question.epsilon is None or question.queries is None or any(one is not None for one in asked):
        return None
    n_cells, why = cells_for(question.rows, question.queries, question.epsilon)
    method, reason = method_for(Facts(n_public=question.queries, n_cells=n_cells, kinds=(), n_switches=0))
    if method != "cells":
        return None
    return CellsOffer(
        n_cells,
        question.epsilon,
        f"{why}, {reason.removeprefix('cells, ')}",
        (
            "The questions are public rows that lie where the private ones do.",
            "The rows hold no text: distances between texts mean little.",
            "Every unit counts with one record.",
            "There is no model of the student's accuracy; in our benchmarks it was higher than with teachers.",
        ),
    )
