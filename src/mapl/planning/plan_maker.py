"""Making a plan: every kind of run hands in its terms and its stages, and nobody else builds plans."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from mapl.planning.budgets.large_delta import refuse_large
from mapl.planning.budgets.several_runs import ContinuedBudget
from mapl.planning.plan import Plan, Stage
from mapl.types import Budget


@dataclass(frozen=True, slots=True)
class Terms:
    """How much a run may cost whom: its budget, the neighbouring tables, the unit, and the runs it goes on from."""

    budget: Budget
    adjacency: str
    unit: str
    together: ContinuedBudget | None = None

    def __post_init__(self) -> None:
        refuse_large(self.budget.delta)


def make_plan(
    terms: Terms,
    stages: Iterable[Stage],
    why: Iterable[str],
    *,
    classes: tuple[str, ...],
    n_queries: int,
    n_teachers: int = 0,
) -> Plan:
    """Make the plan of any kind of run; it refuses stages that add up to more than the budget.

    Parameters
    ----------
    stages
        What is released, in this order, and what each release may cost.
    why
        The reasons for what was chosen; empty ones are left out.
    n_teachers
        0 for a run that has none.

    Examples
    --------
    >>> terms = Terms(Budget(1.0, 0.0), "add-remove", "record")
    >>> stage = Stage("counts", "cell-counts", {"entries": 8}, terms.budget)
    >>> make_plan(terms, [stage], ["cells as asked", "", "8 cells"], classes=("no", "yes"), n_queries=40).why
    'cells as asked; 8 cells'
    """
    return Plan(
        classes=classes,
        n_teachers=n_teachers,
        adjacency=terms.adjacency,
        unit=terms.unit,
        n_queries=n_queries,
        budget=terms.budget,
        stages=tuple(stages),
        why="; ".join(words for words in why if words),
        together=terms.together,
    )
