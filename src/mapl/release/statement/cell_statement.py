"""The privacy statement of a run that counts in cells."""

from __future__ import annotations

from dataclasses import dataclass

from mapl.noise import Coins
from mapl.release.cell_counts import CellCounts
from mapl.release.loop import Released
from mapl.release.statement.promise import Promise
from mapl.release.statement.statement import Counts, Spends, StageSpend, Statement, add_costs, make_statement
from mapl.types import Budget

COUNTED = (
    "The private records were counted, class by class, in cells of a map that was drawn from public rows, "
    "or from what had been released before; every count got random noise, and labels and student were made of the "
    "noisy counts."
)


@dataclass(frozen=True, slots=True)
class Spent:
    """One release of counts: the stage of the plan, and what released it."""

    stage: str
    mechanism: CellCounts


def state_counts(
    rounds: tuple[Spent, ...],
    released: Released,
    budget: Budget,
    coins: Coins,
    *,
    promise: Promise,
    plan_digest: str,
    ledger_head: str,
) -> Statement:
    """Describe a run that released noisy counts, once or twice. All of it is known beforehand."""
    stages = tuple(StageSpend(one.stage, one.mechanism.name, one.mechanism.epsilon, 0.0) for one in rounds)
    last = rounds[-1].mechanism
    return make_statement(
        COUNTED,
        Spends(stages, add_costs(spend.epsilon for spend in stages), budget.epsilon),
        promise,
        Counts.of(released, released.n_questions, {}),
        coins,
        mechanism=last.name,
        parameters=last.parameters,
        classes=last.n_classes,
        cells=last.n_cells,
        plan_digest=plan_digest,
        ledger_head=ledger_head,
    )
