"""What is promised of single answers and of a released hypothesis, and the statement of what was told."""

from __future__ import annotations

from typing import Any

from mapl.noise import Coins
from mapl.planning.plan import Plan
from mapl.prediction.spending.many_answers import STAGE, Answering
from mapl.prediction.spending.one_rule import STAGE as DRAW
from mapl.release.statement.promise import (
    NOT_COVERED,
    Promise,
    assume_chosen_without_looking,
    assume_kept_private,
    assume_one_person,
)
from mapl.release.statement.statement import Counts, Spends, StageSpend, Statement, make_statement
from mapl.types import RecordAdjacency, State

ANSWERED = (
    "Every answer was drawn by fresh random coins from rules that fit the private records; the rules themselves "
    "stay hidden."
)
DRAWN = (
    "One rule out of a list that was made from public rows alone was drawn at random, the likelier the fewer "
    "private records it gets wrong; everything said since follows from that rule."
)
CHECKED = (
    "Method, price and number of answers were fixed in the plan from public facts, and every "
    "answer was on record before it was told.",
    "Every new question got coins of its own, and the same question always the same answer.",
)
DRAWN_ONCE = (
    "The list of rules was made from public rows, no private record had a part in it, and one draw was made.",
)


def answers_promise(adjacency: RecordAdjacency, checked: tuple[str, ...] = CHECKED) -> Promise:
    """Return the promise to every record of a hidden sample."""
    replaced = adjacency == "replace-one"
    return Promise(
        adjacency="one record is replaced by any other; how many there are is the same in both tables, not hidden"
        if replaced
        else "one record is added to the private table or removed from it",
        unit="one record, that is one row of the private table",
        checked=checked,
        assumptions=(
            *(("The number of private records may be known to anybody.",) if replaced else ()),
            assume_one_person(None),
            assume_chosen_without_looking("the hypothesis class and the method, "),
            assume_kept_private("records, fitted predictor, ledger"),
            *NOT_COVERED,
        ),
        words="any one record said something entirely different"
        if replaced
        else "any one record been left out of the private table or added to it",
        kind=adjacency,
    )


def state_answers(
    answering: Answering, plan: Plan, state: State, coins: Coins, *, adjacency: RecordAdjacency, ledger_head: str
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


def state_drawn_rule(plan: Plan, coins: Coins, *, adjacency: RecordAdjacency, ledger_head: str) -> Statement:
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
    usage = {"answered": answered, "abstained": 0, "fallback": 0, "limits": {"n_queries": plan.n_queries}}
    return make_statement(
        how,
        Spends((spend,), epsilon, plan.budget.epsilon),
        promise,
        Counts(answered, plan.n_queries, answered, usage=usage),
        coins,
        mechanism=spend.mechanism,
        parameters=parameters,
        classes=len(plan.classes),
        plan_digest=plan.digest,
        ledger_head=ledger_head,
    )
