"""What a site states about its own release, and what is stated about all of them together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

from mapl.federation.agreement import CELLS, MOMENTS, VOTES, SitesPlan
from mapl.noise import Coins
from mapl.planning.plan import Plan
from mapl.release.cell_counts import CellCounts
from mapl.release.ledger.ledger import Ledger
from mapl.release.loop import Released
from mapl.release.moment_sums import MomentSums
from mapl.release.statement.promise import Promise
from mapl.release.statement.statement import Counts, Spends, StageSpend, Statement, add_costs, make_statement
from mapl.types import Budget

HOW = {
    CELLS: "The private records of {who} were counted, class by class, in cells of a map that was drawn from "
    "public rows; every count got random noise before it left {where}{then}.",
    MOMENTS: "Private records of {who} were turned into short vectors by a map that was drawn from public rows "
    "or from what had been released before; the vectors, with their labels, were added up, and every sum got "
    "random noise before it left {where}{then}.",
    VOTES: "Teachers learned from disjoint parts of the private records of {who} and voted on public rows; every "
    "count of votes got random noise before it left {where}{then}.",
}
COVERS = {CELLS: "all noisy counts", MOMENTS: "all noisy sums", VOTES: "all noisy counts of votes"}

COORDINATOR = (
    "Every site added noise for its whole promise before anything left it, so nobody, the coordinator included, "
    "has to be trusted with what a site released."
)
SITES = (
    "Every site carried out the plan as mapl does, on its own records. What a site does otherwise concerns the "
    "people of that site only.",
    "Which sites were left out was decided by public facts, such as that they did not answer.",
)


class PlannedAnswers(Protocol):
    """What a site goes by, whatever it releases."""

    @property
    def plan(self) -> Plan: ...

    @property
    def promise(self) -> Promise: ...


def state_site(
    agreed: SitesPlan,
    site: str,
    mechanism: CellCounts | MomentSums,
    planned: PlannedAnswers,
    coins: Coins,
    ledger: Ledger,
) -> Statement:
    """State what the answers of one site cost the people of that site, all rounds together."""
    (stage,), promise = planned.plan.stages, planned.promise
    spend = StageSpend(stage.name, mechanism.name, stage.budget.epsilon, stage.budget.delta)
    return make_statement(
        HOW[agreed.method].format(who=f"the site {site}", where="it", then=""),
        Spends((spend,), stage.budget.epsilon, stage.budget.epsilon),
        replace(promise, assumptions=(*_at_several(agreed, stage.budget), *promise.assumptions)),
        Counts(0, 0, 0),
        coins,
        mechanism=mechanism.name,
        parameters=mechanism.parameters,
        classes=len(agreed.classes),
        cells=mechanism.n_cells if isinstance(mechanism, CellCounts) else None,
        teachers=planned.plan.n_teachers,
        covers=f"{COVERS[agreed.method]} of this site",
        plan_digest=planned.plan.digest,
        ledger_head=ledger.head,
    ).recorded_by(ledger)


def state_together(
    agreed: SitesPlan,
    sites: tuple[str, ...],
    mechanism: CellCounts | MomentSums,
    planned: PlannedAnswers,
    coins: Coins,
) -> Callable[[Released], Statement]:
    """State what all answers together cost a person, who may be at as many sites as was agreed."""
    (stage,), k, promise = planned.plan.stages, agreed.sites_per_person, planned.promise
    budget = stage.budget
    epsilon, delta = (add_costs([one] * k) for one in (budget.epsilon, budget.delta))
    spend = StageSpend(stage.name, mechanism.name, epsilon, delta)
    where, at = f"the sites {', '.join(sites)}", f"at {_so_many(k)}"
    promise = replace(
        promise,
        unit=f"{promise.unit}, {at}",
        adjacency=f"{promise.adjacency}; {at}",
        checked=(COORDINATOR, *promise.checked),
        assumptions=(*_at_several(agreed, budget), *SITES, *promise.assumptions),
    )
    return lambda released: make_statement(
        HOW[agreed.method].format(
            who=where, where="its site", then=", and labels and student were made of their sums"
        ),
        Spends((spend,), epsilon, agreed.budget.epsilon),
        promise,
        Counts.of(released, released.n_questions, {}),
        coins,
        mechanism=mechanism.name,
        parameters={**mechanism.parameters, "sites": len(sites), "epsilon of each site": budget.epsilon},
        classes=len(agreed.classes),
        cells=mechanism.n_cells if isinstance(mechanism, CellCounts) else None,
        teachers=planned.plan.n_teachers * len(sites),
        covers=f"{COVERS[agreed.method]} of all sites, the model and the labels",
        plan_digest=planned.plan.digest,
        ledger_head=None,
    )


def _at_several(agreed: SitesPlan, budget: Budget) -> tuple[str, ...]:
    """Say at how many sites a person may be, and what more sites cost."""
    k = agreed.sites_per_person
    if k == len(agreed.sites):
        return ()
    return (
        f"Nobody has records at more than {k} of the sites. The releases of further sites add "
        f"up: epsilon {budget.epsilon:g} and delta {budget.delta:g} for every site that somebody is at.",
    )


def _so_many(k: int) -> str:
    return "one site" if k == 1 else f"up to {k} sites"
