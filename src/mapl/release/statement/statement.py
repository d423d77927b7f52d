"""The privacy statement of a run: what was released, what it cost, and on which assumptions that holds."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from fractions import Fraction
from typing import Any, Self

from mapl import __version__
from mapl.mechanisms import AnyMechanism, Task
from mapl.noise import Coins
from mapl.planning.budgets.several_runs import Promised
from mapl.planning.plan import EVERYBODY, plain
from mapl.release.ledger.ledger import Ledger
from mapl.release.loop import Released, distance_needed
from mapl.release.statement.plain_words import LABELS, VOTE, in_plain_words, noise_of, not_private
from mapl.release.statement.promise import TEACHER_PROMISE, Promise

__all__ = ["TEACHER_PROMISE", "Promise", "StageSpend", "Statement", "statement_of", "to_json"]

SCHEMA = 4
LIMITS = ("max_abstentions", "max_answers", "max_queries", "n_queries")
"""Parameters that end a run."""


@dataclass(frozen=True, slots=True)
class StageSpend:
    """What one stage of a run costs at most the units that it is about; parts of different names are disjoint."""

    name: str
    mechanism: str
    epsilon: float
    delta: float
    units: str = EVERYBODY


@dataclass(frozen=True, slots=True)
class TogetherStated:
    """The promise of all runs together: this one and those before it, each with the whole budget of its plan.

    ``allowed_epsilon`` and ``allowed_delta`` are what had been allowed for all of them; adjacency and unit are
    those of every one of the runs.
    """

    epsilon: float
    delta: float
    allowed_epsilon: float
    allowed_delta: float
    adjacency: str
    unit: str
    earlier_runs: tuple[Promised, ...]


@dataclass(frozen=True, slots=True)
class Statement:
    """What may be printed about a run; every field is public.

    ``epsilon`` is what the published outcomes cost; ``guaranteed_epsilon`` is what the run could have cost at
    most, fixed before the first question. Both are at ``delta``, for the named adjacency and unit, and are sums
    over all ``stages``, of which those about the dearest part count where there are parts; mechanism, parameters
    and counts are those of the stage that released the labels. ``selected`` names the method whose outcome is
    published where several were tried; ``together`` says what the run promises with the earlier runs that it went
    on from, None where there are none. ``run_id`` is the random id in the first entry of the run's ledger, None
    without a ledger. ``adjacency_kind`` is the short name of the adjacency, None in statements of mapl 0.1. mapl
    ``checked`` what stands there; the ``assumptions`` are for people to see to.
    """

    mechanism: str
    parameters: dict[str, Any]
    epsilon: float
    guaranteed_epsilon: float
    budget_epsilon: float
    delta: float
    adjacency: str
    unit: str
    teachers: int
    cells: int | None
    classes: int
    queries: int
    planned_queries: int
    answered: int
    abstained: int
    halted: bool
    not_asked: int
    usage: dict[str, Any]
    required_distance_99: int | None
    noise: str
    private: bool
    assumptions: tuple[str, ...]
    in_plain_words: str
    stages: tuple[StageSpend, ...]
    plan_digest: str | None
    ledger_head: str | None
    mapl_version: str
    schema: int
    selected: str | None = None
    together: TogetherStated | None = None
    run_id: str | None = None
    adjacency_kind: str | None = None
    checked: tuple[str, ...] = ()

    def to_json(self) -> str:
        """Return the statement as JSON text, without bare infinities."""
        return to_json(asdict(self), indent=2)

    def recorded_by(self, ledger: Ledger) -> Self:
        """Return it with the id of the run that a ledger records."""
        return replace(self, run_id=ledger.run_id)


@dataclass(frozen=True, slots=True)
class Spends:
    """What a run costs: every stage at most, what the published outcomes have used of it, and what was allowed."""

    stages: tuple[StageSpend, ...]
    used: float
    allowed: float

    @property
    def guaranteed(self) -> float:
        return add_costs(spend.epsilon for spend in self.stages)

    @property
    def delta(self) -> float:
        return add_costs(spend.delta for spend in self.stages)


@dataclass(frozen=True, slots=True)
class Counts:
    """How many questions were planned, taken and answered. ``usage`` are the counters that limits are about."""

    queries: int
    planned: int
    answered: int
    abstained: int = 0
    halted: bool = False
    not_asked: int = 0
    usage: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, released: Released, planned: int, limits: Mapping[str, Any]) -> Self:
        """Count what a run released."""
        usage = {
            "answered": released.state.answered,
            "abstained": released.state.abstained,
            "fallback": 0 if released.fallback is None else int(released.fallback.sum()),
            "limits": dict(limits),
        }
        return cls(
            released.n_questions,
            planned,
            released.answered,
            released.abstained,
            released.halted,
            released.not_asked,
            usage,
        )


def make_statement(
    how: str,
    spends: Spends,
    promise: Promise,
    counts: Counts,
    coins: Coins,
    *,
    mechanism: str,
    parameters: Mapping[str, Any],
    classes: int,
    teachers: int = 0,
    cells: int | None = None,
    distance: int | None = None,
    covers: str = LABELS,
    plan_digest: str | None,
    ledger_head: str | None,
) -> Statement:
    """Make a statement of any kind of run; nothing is read but public facts and published outcomes.

    Parameters
    ----------
    how
        How what was released came about, in words that need no mathematics.
    mechanism, parameters
        What released the labels, or whatever else a run is about.
    distance
        The distance to instability that is answered almost surely, where there is such a thing.
    covers
        What the promise is about: all that was released.
    plan_digest, ledger_head
        What ties the statement to the run's plan and to its record of spending.
    """
    private = coins.private and math.isfinite(spends.guaranteed)
    words = in_plain_words(how, promise, spends.stages, spends.delta, spends.guaranteed, spends.used, covers)
    return Statement(
        mechanism=mechanism,
        parameters=dict(parameters),
        epsilon=spends.used,
        guaranteed_epsilon=spends.guaranteed,
        budget_epsilon=float(spends.allowed),
        delta=spends.delta,
        adjacency=promise.adjacency,
        unit=promise.unit,
        teachers=teachers,
        cells=cells,
        classes=classes,
        queries=counts.queries,
        planned_queries=counts.planned,
        answered=counts.answered,
        abstained=counts.abstained,
        halted=counts.halted,
        not_asked=counts.not_asked,
        usage=dict(counts.usage),
        required_distance_99=distance,
        noise=noise_of(coins, spends.guaranteed),
        private=private,
        assumptions=promise.assumptions,
        in_plain_words=words if private else not_private(coins),
        stages=spends.stages,
        plan_digest=plan_digest,
        ledger_head=ledger_head,
        mapl_version=__version__,
        schema=SCHEMA,
        adjacency_kind=promise.kind,
        checked=promise.checked,
    )


def statement_of(
    mechanism: AnyMechanism,
    task: Task,
    released: Released,
    coins: Coins,
    *,
    promise: Promise = TEACHER_PROMISE,
    earlier: tuple[StageSpend, ...] = (),
    stage: str = "labels",
    plan_digest: str | None = None,
    ledger_head: str | None = None,
) -> Statement:
    """Describe a run in which teachers voted.

    Parameters
    ----------
    promise
        The neighbouring data sets and the unit that are promised, and on which assumptions.
    earlier
        Stages of the same run that released something before the labels; their budgets come on top of the task's.
    plan_digest, ledger_head
        What ties the statement to the run's plan and to its record of spending.
    """
    delta, parameters = task.budget.delta, mechanism.parameters
    before = [spend.epsilon for spend in earlier]
    spends = Spends(
        stages=(*earlier, StageSpend(stage, mechanism.name, mechanism.epsilon(None, delta), delta)),
        used=add_costs([*before, mechanism.epsilon(released.state, delta)]),
        allowed=add_costs([*before, task.budget.epsilon]),
    )
    limits = {name: parameters[name] for name in LIMITS if name in parameters}
    return make_statement(
        VOTE,
        spends,
        promise,
        Counts.of(released, task.n_queries, limits),
        coins,
        mechanism=mechanism.name,
        parameters=parameters,
        classes=task.n_classes,
        teachers=task.n_teachers,
        distance=distance_needed(mechanism, task),
        plan_digest=plan_digest,
        ledger_head=ledger_head,
    )


def add_costs(parts: Iterable[float]) -> float:
    """Add costs up; where the sum is no floating-point number, the next larger one is said."""
    given = list(parts)
    total = math.fsum(given)
    if math.isfinite(total) and Fraction(total) < sum(map(Fraction, given)):
        return math.nextafter(total, math.inf)
    return total


def to_json(value: dict[str, Any], *, indent: int | None = None) -> str:
    """Write JSON that any parser reads: infinities become text, what is not a number becomes null."""
    return json.dumps(plain(value), indent=indent, allow_nan=False, ensure_ascii=False)
