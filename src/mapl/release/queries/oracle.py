"""Answers to any stable query, one by one or many at once, through the same loop, plan, ledger and statement."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any

import numpy as np

from mapl.errors import BudgetExhausted, InvalidParameter
from mapl.mechanisms import AnyMechanism, Task, make
from mapl.noise import Coins, SystemCoins
from mapl.planning.plan import Stage
from mapl.planning.plan_maker import Terms, make_plan
from mapl.release.ledger.chain import START
from mapl.release.ledger.ledger import Ledger, NeverCopied
from mapl.release.ledger.limits import Limits
from mapl.release.ledger.memory import MemoryLedger
from mapl.release.loop import Released, begin_stage, step, within_budget
from mapl.release.queries.query import StableQuery, ask, name_of
from mapl.release.queries.terms import refuse_other_data, refuse_other_terms
from mapl.release.statement.plain_words import in_plain_words
from mapl.release.statement.promise import Promise
from mapl.release.statement.stable_promise import HOW, stable_promise
from mapl.release.statement.statement import Statement, statement_of
from mapl.types import ABSTAIN, RECORD, Adjacency, Budget, Distances, Labels, Outcome, Silent, positive_integer

STAGE = "answers"
NAMES, VALUES = "names", "values"
"""Under these names an entry of the ledger says what its block asked, and the values that were answered."""

ONCE = "stable-once"
SERIES = ("ladder", "threshold-ladder")
FEW = 20
"""Beyond this many declined questions a threshold ladder is never the better one."""
MECHANISMS = (ONCE, *SERIES, "stable-queries")
"""Those that look at values and distances only."""

REACH = 10_000
"""Tables of chances are built as if for this many votes: they go as far as a mechanism ever needs."""

ALMOST_SURE = 0.99
USUAL_SHARE = 10
"""Unless told otherwise, one question in ten may be declined."""


@dataclass(frozen=True, slots=True, repr=False)
class Block:
    """Stable queries that are decided together; which value is answered is told by its query's name. Private."""

    distances: Distances

    @property
    def values(self) -> Labels:
        return np.zeros(len(self.distances), dtype=np.int32)

    @property
    def n_classes(self) -> int:
        return 2

    def __len__(self) -> int:
        return len(self.distances)

    def __repr__(self) -> str:
        return f"Block({len(self)} queries, private)"


class StableOracle(Silent, NeverCopied):
    """Keep private data and answer stable queries as they come, until too many had to be declined.

    Parameters
    ----------
    data
        What queries are asked about; mapl hands it on to them and looks at nothing.
    epsilon, delta
        The budget of all answers together.
    n_queries
        How many different questions are answered or declined at most.
    max_abstentions
        How many may be declined; answers are free, so that this is what the budget is spent on. One in ten if None.
    mechanism
        "stable-once" for one question, "ladder", "threshold-ladder" or "stable-queries"; "auto" takes the one that
        answers at the smallest distance.
    adjacency, unit
        Whom the contract of the queries is kept for: "add-remove", "replace-one" or "labels", and the column of
        ids, None for one record.
    promise
        Other words for that; made from adjacency and unit if None.
    ledger
        Where spend and answers are recorded, in memory if None. One that holds part of this run is gone on with:
        what was answered is told again, and the data is not asked.
    coins
        The operating system's if None.

    Notes
    -----
    *Guarantee.* (epsilon, delta)-differential privacy of all answers together, also if queries depend on earlier
    answers, for queries that keep their contract. Proof: docs/proofs/stable-queries.md.

    Examples
    --------
    >>> from mapl.release import Named, StableOracle, leader
    >>> def top(data):
    ...     return leader({one: data.count(one) for one in set(data)}, moves=1)
    >>> oracle = StableOracle(["red"] * 900 + ["blue"] * 500, epsilon=1.0, delta=1e-6)
    >>> oracle.answer(Named("top colour", top))
    ['red']
    """

    def __init__(
        self,
        data: Any,
        *,
        epsilon: float,
        delta: float,
        n_queries: int = 1,
        max_abstentions: int | None = None,
        mechanism: str = "auto",
        adjacency: Adjacency = "add-remove",
        unit: str | None = None,
        promise: Promise | None = None,
        ledger: Ledger | None = None,
        coins: Coins | None = None,
    ) -> None:
        positive_integer(n_queries=n_queries)
        refuse_other_data(data, unit=unit)
        self._adjacency, self._unit = adjacency, unit
        self._data, self._coins = data, SystemCoins() if coins is None else coins
        self._promise = stable_promise(adjacency, unit) if promise is None else promise
        self._task = Task(Budget(epsilon, delta), REACH, 2, n_queries)
        self._mechanism = _calibrated(mechanism, self._task, max_abstentions)
        within_budget(self._mechanism, self._task.budget, promise=self._promise)
        self.plan = make_plan(
            Terms(self._task.budget, adjacency, RECORD if unit is None else unit),
            [Stage(STAGE, self._mechanism.name, dict(self._mechanism.parameters), self._task.budget)],
            [f"stable queries by {self._mechanism.name}"],
            classes=("answered", "declined"),
            n_queries=n_queries,
        )
        self._ledger: Ledger = MemoryLedger() if ledger is None else ledger
        self._ledger.open(self.plan.digest, Limits.of_plan(self.plan))
        self._state = begin_stage(self._ledger, self._mechanism, self._coins, self._task, stage=STAGE).state
        self._said, self._turned_away = _recorded(self._ledger), set[str]()
        self._lock = Lock()

    def answer(self, *queries: StableQuery[Any]) -> list[Any]:
        """Return the value of every query, None where it was declined. Spends, except for names asked before.

        New queries are decided and recorded as one block. None also stands for what was not asked because the
        budget ended within it; ``statement`` tells how many.

        Raises
        ------
        BudgetExhausted
            If the budget was gone before the first new query.
        """
        named = {name_of(query): query for query in queries}
        for query in queries:
            refuse_other_terms(query, adjacency=self._adjacency, unit=self._unit)
        with self._lock:
            new = [name for name in named if name not in self._said]
            if new:
                self._ask({name: named[name] for name in new})
            return [self._said.get(name_of(query)) for query in queries]

    def _ask(self, new: Mapping[str, StableQuery[Any]]) -> None:
        left = 0 if self._state.halted else self._task.n_queries - len(self._said)
        self._turned_away.update(list(new)[left:])
        if left <= 0:
            raise BudgetExhausted(
                f"The budget is gone: {self._state.answered} questions were answered and {self._state.abstained} "
                "declined. What was asked before is still answered; new questions need a new budget on top."
            )
        names = list(new)[:left]
        replies = [ask(new[name], self._data) for name in names]

        def told(outcome: Outcome) -> dict[str, Any]:
            passed = np.flatnonzero(outcome.labels != ABSTAIN).tolist()
            return {NAMES: names[: len(outcome.labels)], VALUES: {names[i]: replies[i][0] for i in passed}}

        block = Block(np.array([distance for _, distance in replies], dtype=np.int64))
        outcome = step(self._ledger, self._mechanism, self._state, block, self._coins, stage=STAGE, payload=told)
        self._state = outcome.state
        for name, (value, _), label in zip(names, replies, outcome.labels.tolist(), strict=False):
            self._said[name] = None if label == ABSTAIN else value
        self._turned_away.update(name for name in names if name not in self._said)

    @property
    def required_distance(self) -> int | None:
        """The distance to instability at which a question is answered almost surely (99%). Public."""
        return self._mechanism.required_distance(ALMOST_SURE)

    @property
    def statement(self) -> Statement:
        """What may be printed about the answers so far."""
        progress = self._ledger.progress(STAGE)
        state = replace(progress.state, secret=None)
        n_questions = len(progress.labels) + len(self._turned_away)
        said = statement_of(
            self._mechanism,
            self._task,
            Released(progress.labels, None, state, n_questions),
            self._coins,
            promise=self._promise,
            stage=STAGE,
            plan_digest=self.plan.digest,
            ledger_head=self._ledger.head,
        ).recorded_by(self._ledger)
        words = in_plain_words(HOW, self._promise, said.stages, said.delta, said.guaranteed_epsilon, said.epsilon)
        return replace(said, teachers=0, classes=0, in_plain_words=words if said.private else said.in_plain_words)


@dataclass(frozen=True, slots=True)
class Answered:
    """Values of stable queries, None for what was declined, and what may be printed about them. Public."""

    values: tuple[Any, ...]
    statement: Statement

    @property
    def value(self) -> Any:
        """The value of the first query, for whoever asked one."""
        return self.values[0]


def answer(
    query: StableQuery[Any] | Sequence[StableQuery[Any]],
    data: Any,
    *,
    epsilon: float,
    delta: float,
    **settings: Any,
) -> Answered:
    """Answer one stable query about private data, or some at once, and forget the data.

    Parameters
    ----------
    settings
        As in `StableOracle`.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from mapl.release import TopCategory, answer
    >>> people = pa.table({"city": ["Oslo"] * 300 + ["Rome"] * 200})
    >>> answer(TopCategory("city"), people, epsilon=1.0, delta=1e-6).value
    'Oslo'
    """
    queries: list[Any] = list(query) if isinstance(query, Sequence) else [query]
    oracle = StableOracle(data, epsilon=epsilon, delta=delta, **{"n_queries": len(queries), **settings})
    return Answered(tuple(oracle.answer(*queries)), oracle.statement)


def _calibrated(name: str, task: Task, max_abstentions: int | None) -> AnyMechanism:
    """Make the mechanism, by public facts alone."""
    if name not in ("auto", *MECHANISMS):
        raise InvalidParameter(
            f"mechanism is {name!r}; choose auto, {', '.join(MECHANISMS[:-1])} or {MECHANISMS[-1]}."
        )
    if name == ONCE and task.n_queries > 1:
        raise InvalidParameter(f"{ONCE} answers one question, and {task.n_queries} are planned; take the ladder.")
    if name == ONCE or (name == "auto" and task.n_queries == 1):
        return make(ONCE, task)
    limit = math.ceil(task.n_queries / USUAL_SHARE) if max_abstentions is None else max_abstentions
    if name != "auto":
        return make(name, task, max_abstentions=limit)
    made = [make(one, task, max_abstentions=limit) for one in SERIES[: 1 + (limit <= FEW)]]
    return min(made, key=lambda one: one.required_distance(ALMOST_SURE) or math.inf)


def _recorded(ledger: Ledger) -> dict[str, Any]:
    """Return what was asked and answered already, by name."""
    said: dict[str, Any] = {}
    for record in ledger.entries():
        if record.stage == STAGE and record.kind != START:
            told = record.told()
            said |= {name: told[VALUES].get(name) for name in told[NAMES]}
    return said
