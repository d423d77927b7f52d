"""The privacy statement of a run that counts in cells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mapl import __version__
from mapl.noise import Coins
from mapl.release.cell_counts import CellCounts
from mapl.release.loop import Released
from mapl.release.promise import Promise
from mapl.release.statement import SCHEMA, StageSpend, Statement, added, in_plain_words, noise_of, not_private
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


def cell_statement(
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
    epsilon = added(spend.epsilon for spend in stages)
    last = rounds[-1].mechanism
    parameters: dict[str, Any] = dict(last.parameters)
    return Statement(
        mechanism=last.name,
        parameters=parameters,
        epsilon=epsilon,
        guaranteed_epsilon=epsilon,
        budget_epsilon=budget.epsilon,
        delta=0.0,
        adjacency=promise.adjacency,
        unit=promise.unit,
        teachers=0,
        cells=last.n_cells,
        classes=last.n_classes,
        queries=released.n_questions,
        planned_queries=released.n_questions,
        answered=released.answered,
        abstained=released.abstained,
        halted=False,
        not_asked=0,
        usage={"answered": released.answered, "abstained": released.abstained, "fallback": 0, "limits": {}},
        required_distance_99=None,
        noise=noise_of(coins, epsilon),
        private=coins.private,
        assumptions=promise.assumptions,
        in_plain_words=in_plain_words(COUNTED, promise, stages, 0.0, epsilon, epsilon)
        if coins.private
        else not_private(coins),
        stages=stages,
        plan_digest=plan_digest,
        ledger_head=ledger_head,
        mapl_version=__version__,
        schema=SCHEMA,
    )
