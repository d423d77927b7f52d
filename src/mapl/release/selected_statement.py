"""The privacy statement of a run in which several methods were tried and one was chosen privately."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from mapl.noise import Coins
from mapl.planning.plan import together
from mapl.release.best_of import BestOf
from mapl.release.cell_statement import COUNTED
from mapl.release.ledger_part import stage_of
from mapl.release.promise import Promise
from mapl.release.selection_promise import selection_assumptions
from mapl.release.statement import VOTE, StageSpend, Statement, added, in_plain_words, noise_of, not_private
from mapl.types import Budget

TRAINED, ASIDE = "those the methods learned from", "those set aside to compare the methods"
"""The two disjoint parts of the units of such a run."""

SELECTED = (
    "{how} This was one of {n} methods ({names}) that were all carried out; which one to publish was a random "
    "draw that favours the one whose student is right about more of the private units that had been set aside."
)


def selected_statement(
    tried: Mapping[str, Statement],
    winner: str,
    best: BestOf,
    budget: Budget,
    coins: Coins,
    *,
    promise: Promise,
    stage: str,
    plan_digest: str,
    ledger_head: str,
) -> Statement:
    """Describe a run by its winner's statement, at the price of everything that was tried and of the choice."""
    own = tried[winner]
    choice = StageSpend(stage, best.name, best.epsilon, 0.0, ASIDE)
    each = {
        name: tuple(replace(spend, name=stage_of(name, spend.name), units=TRAINED) for spend in said.stages)
        for name, said in tried.items()
    }
    stages = (*(spend for spends in each.values() for spend in spends), choice)
    spent = [*((TRAINED, said.epsilon) for said in tried.values()), (ASIDE, best.epsilon)]
    epsilon = together(spent, added)
    guaranteed = together(((spend.units, spend.epsilon) for spend in stages), added)
    delta = together(((spend.units, spend.delta) for spend in stages), added)
    how = SELECTED.format(how=VOTE if own.cells is None else COUNTED, n=len(tried), names=", ".join(tried))
    others = tuple(spend for spend in stages if spend not in each[winner])
    private = all(said.private for said in tried.values())
    return replace(
        own,
        epsilon=epsilon,
        guaranteed_epsilon=guaranteed,
        budget_epsilon=float(budget.epsilon),
        delta=delta,
        noise=noise_of(coins, guaranteed),
        private=private,
        assumptions=selection_assumptions(said.assumptions for said in tried.values()),
        in_plain_words=in_plain_words(how, promise, (*others, *each[winner]), delta, guaranteed, epsilon)
        if private
        else not_private(coins),
        stages=stages,
        plan_digest=plan_digest,
        ledger_head=ledger_head,
        selected=winner,
    )


def published_stages(statement: Mapping[str, Any]) -> list[str]:
    """Name the stages whose outcomes a run published, by its statement: those of the chosen method."""
    names = [str(stage.get("name")) for stage in statement.get("stages") or ()]
    selected = statement.get("selected")
    return names if selected is None else [name for name in names if name.startswith(stage_of(selected, ""))]
