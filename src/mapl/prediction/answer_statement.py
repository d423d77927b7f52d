"""What is promised of single answers and of a released hypothesis, and the statement of what was told."""

from __future__ import annotations

import math
from typing import Any

from mapl import __version__
from mapl.noise import Coins
from mapl.planning.plan import Plan
from mapl.prediction.one_release import STAGE as DRAW
from mapl.prediction.padded_price import Adjacency
from mapl.prediction.spending import STAGE, Answering
from mapl.release.promise import NOT_COVERED, Promise, chosen_without_looking, one_person, stays_private
from mapl.release.statement import SCHEMA, StageSpend, Statement, in_plain_words, noise_of, not_private
from mapl.types import State

ANSWERED = (
    "Every answer was drawn by fresh random coins from rules that fit the private records; the rules themselves "
    "stay hidden."
)
DRAWN = (
    "One rule out of a list that was made from public rows alone was drawn at random, the likelier the fewer "
    "private records it gets wrong; everything said since follows from that rule."
)
CHECKED = (
    "Checked by mapl: method, price and number of answers were fixed in the plan from public facts, and every "
    "answer was on record before it was told.",
    "Checked by mapl: every new question got coins of its own, and the same question always the same answer.",
)
DRAWN_ONCE = (
    "Checked by mapl: the list of rules was made from public rows, no private record had a part in it, and one "
    "draw was made.",
)


def answers_promise(adjacency: Adjacency, checked: tuple[str, ...] = CHECKED) -> Promise:
    """Return the promise to every record of a hidden sample."""
    replaced = adjacency == "replace-one"
    return Promise(
        adjacency="one record is replaced by any other; how many there are is the same in both tables, not hidden"
        if replaced
        else "one record is added to the private table or removed from it",
        unit="one record, that is one row of the private table",
        assumptions=(
            *checked,
            *(("For you to see to: the number of private records may be known to anybody.",) if replaced else ()),
            one_person(None),
            chosen_without_looking("the hypothesis class and the method, "),
            stays_private("records, fitted predictor, ledger"),
            *NOT_COVERED,
        ),
        words="any one record said something entirely different"
        if replaced
        else "any one record been left out of the private table or added to it",
    )


def answers_statement(
    answering: Answering, plan: Plan, state: State, coins: Coins, *, adjacency: Adjacency, ledger_head: str
) -> Statement:
    """Describe the answers so far; nothing is read but the plan and their number."""
    delta = plan.budget.delta
    return _statement(
        plan,
        StageSpend(STAGE, answering.name, answering.epsilon(None, delta), delta),
        dict(answering.parameters),
        coins,
        how=ANSWERED,
        promise=answers_promise(adjacency),
        epsilon=answering.epsilon(state, delta),
        answered=state.answered,
        ledger_head=ledger_head,
    )


def drawn_statement(plan: Plan, coins: Coins, *, adjacency: Adjacency, ledger_head: str) -> Statement:
    """Describe the release of one hypothesis, which is purely private whatever delta was allowed."""
    stage = plan.stage(DRAW)
    return _statement(
        plan,
        StageSpend(stage.name, stage.mechanism, float(stage.budget.epsilon), 0.0),
        dict(stage.parameters),
        coins,
        how=DRAWN,
        promise=answers_promise(adjacency, DRAWN_ONCE),
        epsilon=float(stage.budget.epsilon),
        answered=plan.n_queries,
        ledger_head=ledger_head,
    )


def _statement(
    plan: Plan,
    spend: StageSpend,
    parameters: dict[str, Any],
    coins: Coins,
    *,
    how: str,
    promise: Promise,
    epsilon: float,
    answered: int,
    ledger_head: str,
) -> Statement:
    private = coins.private and math.isfinite(spend.epsilon)
    words = in_plain_words(how, promise, (spend,), spend.delta, spend.epsilon, epsilon)
    return Statement(
        mechanism=spend.mechanism,
        parameters=parameters,
        epsilon=epsilon,
        guaranteed_epsilon=spend.epsilon,
        budget_epsilon=float(plan.budget.epsilon),
        delta=spend.delta,
        adjacency=promise.adjacency,
        unit=promise.unit,
        teachers=0,
        cells=None,
        classes=len(plan.classes),
        queries=answered,
        planned_queries=plan.n_queries,
        answered=answered,
        abstained=0,
        halted=False,
        not_asked=0,
        usage={"answered": answered, "abstained": 0, "fallback": 0, "limits": {"n_queries": plan.n_queries}},
        required_distance_99=None,
        noise=noise_of(coins, spend.epsilon),
        private=private,
        assumptions=promise.assumptions,
        in_plain_words=words if private else not_private(coins),
        stages=(spend,),
        plan_digest=plan.digest,
        ledger_head=ledger_head,
        mapl_version=__version__,
        schema=SCHEMA,
    )
