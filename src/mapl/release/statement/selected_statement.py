"""The privacy statement of a run in which several methods were tried and one was chosen privately."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from mapl.noise import Coins
from mapl.release.best_of import BestOf
from mapl.release.ledger.part import stage_of
from mapl.release.moment_sums import MomentSums
from mapl.release.statement.cell_statement import COUNTED
from mapl.release.statement.moment_statement import SUMMED, SUMS
from mapl.release.statement.plain_words import LABELS, VOTE, at_most, in_plain_words, noise_of, not_private
from mapl.release.statement.promise import Promise
from mapl.release.statement.statement import StageSpend, Statement, add_costs
from mapl.types import Budget

SELECTED = (
    "{how} This was one of {n} methods ({names}). First all {n} were tried, with a small share of the budget each, "
    "which cost every private unit epsilon {tried} together. Then one was chosen, by a random draw that favours "
    "the method whose student is right about more units, which cost epsilon {chose}. The chosen method alone was "
    "then carried out, which cost epsilon {own}, and that is what is published. The epsilon of this statement "
    "covers all three; together they keep to the delta, for the unit and neighbouring data sets named below."
)


def pilot_of(name: str) -> str:
    """Return what a method's stages are called where it was only tried."""
    return f"pilot {name}"


def _how(own: Statement) -> str:
    """Say how the winner's labels came about."""
    if own.mechanism == MomentSums.name:
        return SUMMED
    return VOTE if own.cells is None else COUNTED


def state_selection(
    tried: Mapping[str, Statement],
    winner: str,
    own: Statement,
    allowed: Iterable[tuple[Budget, Budget]],
    best: BestOf,
    budget: Budget,
    coins: Coins,
    *,
    promise: Promise,
    stage: str,
    plan_digest: str,
    ledger_head: str,
) -> Statement:
    """Describe a run by its winner's statement, at the price of all that was tried, the choice and the winner.

    Parameters
    ----------
    tried
        What every method released where it was tried.
    own
        What the winner released.
    allowed
        What each method was allowed where it was tried, and as a winner, which before the choice could have been
        any of them.
    """
    before = (
        *(_named(pilot_of(name), spend) for name, said in tried.items() for spend in said.stages),
        StageSpend(stage, best.name, best.epsilon, 0.0),
    )
    stages = (*before, *(_named(winner, spend) for spend in own.stages))
    tried_epsilon = [said.epsilon for said in tried.values()]
    epsilon = add_costs([*tried_epsilon, best.epsilon, own.epsilon])
    pilots, winners = zip(*allowed, strict=True)
    guaranteed = add_costs([*(one.epsilon for one in pilots), best.epsilon, max(one.epsilon for one in winners)])
    delta = add_costs([*(one.delta for one in pilots), max(one.delta for one in winners)])
    how = SELECTED.format(
        how=_how(own),
        n=len(tried),
        names=", ".join(tried),
        tried=at_most(add_costs(tried_epsilon)),
        chose=at_most(best.epsilon),
        own=at_most(own.epsilon),
    )
    covers = SUMS if own.mechanism == MomentSums.name else LABELS
    private = own.private and all(said.private for said in tried.values())
    return replace(
        own,
        epsilon=epsilon,
        guaranteed_epsilon=guaranteed,
        budget_epsilon=float(budget.epsilon),
        delta=delta,
        noise=noise_of(coins, guaranteed),
        private=private,
        assumptions=promise.assumptions,
        checked=promise.checked,
        in_plain_words=in_plain_words(how, promise, stages, delta, guaranteed, epsilon, covers)
        if private
        else not_private(coins),
        stages=stages,
        plan_digest=plan_digest,
        ledger_head=ledger_head,
        selected=winner,
    )


def _named(part: str, spend: StageSpend) -> StageSpend:
    """Return a method's stage as the whole run calls it."""
    return replace(spend, name=stage_of(part, spend.name))


def name_published_stages(statement: Mapping[str, Any]) -> list[str]:
    """Name the stages whose outcomes a run published, by its statement: those of the chosen method."""
    names = [str(stage.get("name")) for stage in statement.get("stages") or ()]
    selected = statement.get("selected")
    return names if selected is None else [name for name in names if name.startswith(stage_of(selected, ""))]
