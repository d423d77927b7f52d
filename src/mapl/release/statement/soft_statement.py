"""The privacy statement of a run that released soft labels."""

from __future__ import annotations

from dataclasses import replace

from mapl.mechanisms import Task
from mapl.mechanisms.scores.noisy_shares import NoisyShares
from mapl.noise import Coins
from mapl.release.soft_labels import MEANS, MEDIANS, SoftDesign, SoftLabels
from mapl.release.statement.plain_words import in_plain_words
from mapl.release.statement.promise import Promise
from mapl.release.statement.statement import StageSpend, Statement, statement_of
from mapl.types import Budget

SCORES = (
    "The soft labels were made of the scores of models (teachers), each trained on its own part of the private "
    "data: {made_of}."
)
MEDIAN, SUM = "of their rounded median", "of their sum with random noise"
SUMS = "for every class, of the sum of its scores with random noise"


def state_soft_labels(
    design: SoftDesign,
    task: Task,
    budgets: dict[str, Budget],
    released: SoftLabels,
    coins: Coins,
    *,
    promise: Promise,
    plan_digest: str | None = None,
    ledger_head: str | None = None,
) -> Statement:
    """Describe a run by its last stage, with an earlier stage's whole price on top.

    Parameters
    ----------
    budgets
        What the plan allows each stage, by its name.
    """
    earlier: tuple[StageSpend, ...] = ()
    if design.means is None:
        mechanism, stage = design.medians, MEDIANS
    else:
        mechanism, stage = design.means, MEANS
        if design.medians is not None:
            delta = budgets[MEDIANS].delta
            earlier = (StageSpend(MEDIANS, design.medians.name, design.medians.epsilon(None, delta), delta),)
    assert mechanism is not None
    told = statement_of(
        mechanism,
        replace(task, budget=budgets[stage]),
        released.released(),
        coins,
        promise=promise,
        earlier=earlier,
        stage=stage,
        plan_digest=plan_digest,
        ledger_head=ledger_head,
    )
    if isinstance(mechanism, NoisyShares):  # its ledger counts numbers, and the limit is about those
        told = replace(told, usage={**told.usage, "unit": f"numbers, {mechanism.n_shares} for every row"})
    if not told.private:
        return told
    scores = SCORES.format(made_of=_made_of(design))
    words = in_plain_words(scores, promise, told.stages, told.delta, told.guaranteed_epsilon, told.epsilon)
    return replace(told, in_plain_words=words)


def _made_of(design: SoftDesign) -> str:
    """Say what was released of the scores, and nothing that was not."""
    if isinstance(design.means, NoisyShares):
        return SUMS
    ways = ((MEDIAN, design.medians), (SUM, design.means))
    return ", or ".join(words for words, mechanism in ways if mechanism is not None)
