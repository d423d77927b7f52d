"""What the other way, counting in cells, would take: told beside the plans for teachers."""

from __future__ import annotations

from dataclasses import dataclass

from mapl.planning.planner.question import Question
from mapl.planning.rules.cells import cells_for
from mapl.planning.rules.method import FEWEST_CELLS, ONE_CELL_EACH


@dataclass(frozen=True, slots=True)
class CellsOffer:
    """How many cells a budget buys, and what has to hold for them to be worth it."""

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
    if n_cells < FEWEST_CELLS:
        return None
    return CellsOffer(
        n_cells,
        question.epsilon,
        f"{why}, because {ONE_CELL_EACH}",
        (
            "The questions are public rows that lie where the private ones do.",
            "The rows hold no text: distances between texts mean little.",
            "Every unit counts with one record.",
            "Records of a cell are alike, which is a hope where public rows are few.",
        ),
    )
