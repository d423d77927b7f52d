"""The privacy statement of a run that releases sums."""

from __future__ import annotations

from mapl.noise import Coins
from mapl.release.loop import Released
from mapl.release.moment_sums import MomentSums
from mapl.release.statement.promise import Promise
from mapl.release.statement.statement import Counts, Spends, StageSpend, Statement, make_statement
from mapl.types import Budget

SUMMED = (
    "Private records were turned into short vectors by a map that was drawn from public rows, from the declared "
    "columns or from what had been released before; the vectors, with their labels, were added up, every sum got "
    "random noise, and model and labels were made of the noisy sums."
)
SUMS = "all noisy sums, the model and the labels"
"""What a run by moments releases."""


def state_sums(
    mechanism: MomentSums,
    stage: str,
    released: Released,
    budget: Budget,
    coins: Coins,
    *,
    n_classes: int,
    promise: Promise,
    plan_digest: str,
    ledger_head: str,
) -> Statement:
    """Describe a run that released noisy sums in a few rounds. All of it is known beforehand."""
    spend = StageSpend(stage, mechanism.name, budget.epsilon, budget.delta)
    return make_statement(
        SUMMED,
        Spends((spend,), budget.epsilon, budget.epsilon),
        promise,
        Counts.of(released, released.n_questions, {}),
        coins,
        mechanism=mechanism.name,
        parameters=mechanism.parameters,
        classes=n_classes,
        covers=SUMS,
        plan_digest=plan_digest,
        ledger_head=ledger_head,
    )
