"""The one loop: a mechanism is admitted against the budget, then releases block by block until it halts."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from mapl.errors import GuaranteeBroken, InvalidParameter, MaplError
from mapl.mechanisms import AnyMechanism, Task, entry, make
from mapl.noise import Coins
from mapl.parameters import spell
from mapl.release.ledger.ledger import Ledger, Progress
from mapl.release.ledger.limits import Limit, Limits
from mapl.release.ledger.memory import MemoryLedger
from mapl.release.spend import Decision, begin, first_entry, spend
from mapl.release.statement.promise import TEACHER_PROMISE, Promise
from mapl.types import ABSTAIN, Budget, Flags, Labels, Outcome, State, positive_integer

BLOCK_ROWS = 1 << 14
"""Questions per block: few enough to stay in the processor's cache."""

ALMOST_SURE = 0.99
USEFUL = 0.5
"""Below this chance of answering even a unanimous vote, a run could only waste its budget."""

ENOUGH_TEACHERS = 4_000
"""How many teachers a needed number is looked for among, at least."""

EPSILONS = (1e-3, 1e3)
LEAST_DELTA = 1e-15
"""Probabilities are whole numerators over 2**62, and a budget far smaller than those could not be kept exactly."""


class QuestionBlock(Protocol):
    """A block of questions that some mechanism decides: votes, or values with their distances to instability."""

    @property
    def n_classes(self) -> int: ...

    def __len__(self) -> int: ...


class ManyQuestions(QuestionBlock, Protocol):
    """Questions that are taken block by block."""

    @property
    def n_teachers(self) -> int: ...

    def part(self, start: int, stop: int) -> QuestionBlock:
        """Return the questions from `start` to before `stop`."""


@dataclass(frozen=True, slots=True)
class Released:
    """What a run published: a label or ABSTAIN for every question it took, in order. Public.

    ``labels`` is shorter than ``n_questions`` when the mechanism halted early; ``fallback`` marks labels of
    a mechanism's second stage and is None for mechanisms without one.
    """

    labels: Labels
    fallback: Flags | None
    state: State
    n_questions: int

    @property
    def answered(self) -> int:
        return int(np.count_nonzero(self.labels != ABSTAIN))

    @property
    def abstained(self) -> int:
        return len(self.labels) - self.answered

    @property
    def not_asked(self) -> int:
        return self.n_questions - len(self.labels)

    @property
    def halted(self) -> bool:
        """Whether the mechanism stopped before it had taken every question."""
        return self.not_asked > 0


def aggregate(
    tallies: ManyQuestions,
    mechanism: AnyMechanism,
    coins: Coins,
    *,
    ledger: Ledger | None = None,
    stage: str = "labels",
    on_progress: Callable[[int], None] | None = None,
    block_rows: int = BLOCK_ROWS,
) -> Released:
    """Release the questions block by block until all are taken or the mechanism halts.

    A block is decided in memory, recorded in one durable step, and only then made public. With a ledger that holds
    part of the run already, its answers are returned as they were published and no question is asked twice.

    Parameters
    ----------
    ledger
        Where spend, state and answers are recorded, opened with the run's plan; without one, in memory.
    stage
        The stage of the plan that this release is.
    on_progress
        Called after every block with the number of questions taken so far, which is public.
    block_rows
        How many questions are decided and recorded at once.
    """
    positive_integer(block_rows=block_rows)
    _priced_for(mechanism, tallies.n_classes)
    record = _in_memory(stage, Limit.of(mechanism.parameters, len(tallies))) if ledger is None else ledger
    started = _begin(record, mechanism, coins, stage, tallies.n_teachers, tallies.n_classes, len(tallies))
    state, taken = started.state, len(started.labels)
    for start in range(taken, len(tallies), block_rows):
        if state.halted:
            break
        block = tallies.part(start, start + block_rows)
        outcome = step(record, mechanism, state, block, coins, stage=stage)
        state, taken = outcome.state, taken + len(outcome.labels)
        if on_progress is not None:
            on_progress(taken)
        if len(outcome.labels) < len(block):
            break
    recorded = record.progress(stage)
    # The secret of a run stays behind: what is returned here is public.
    return Released(recorded.labels, recorded.fallback, replace(recorded.state, secret=None), len(tallies))


def begin_stage(
    ledger: Ledger, mechanism: AnyMechanism, coins: Coins, task: Task, *, stage: str = "labels"
) -> Progress:
    """Begin a stage whose questions are yet to come, or find out where it stands; its secret is recorded first."""
    return _begin(ledger, mechanism, coins, stage, task.n_teachers, task.n_classes, task.n_queries)


def step(
    ledger: Ledger,
    mechanism: AnyMechanism,
    state: State,
    block: QuestionBlock,
    coins: Coins,
    *,
    stage: str = "labels",
    payload: Mapping[str, Any] | Callable[[Outcome], Mapping[str, Any]] | None = None,
) -> Outcome:
    """Decide one block and record it; its labels are public on return, its state is for the next step only.

    Parameters
    ----------
    payload
        What else is recorded with the block, such as which questions it holds. It must be public before the block
        is, or be made of the block's outcome, which is about to be.
    """
    _priced_for(mechanism, block.n_classes)
    outcome = mechanism.release(state, block, coins)
    more = (payload(outcome) if callable(payload) else payload) or {}
    spend(
        ledger,
        stage,
        Decision.of(outcome, state, n_asked=len(block), n_classes=block.n_classes, payload=more),
    )
    return outcome


def _begin(
    ledger: Ledger,
    mechanism: AnyMechanism,
    coins: Coins,
    stage: str,
    n_teachers: int,
    n_classes: int,
    n_questions: int,
) -> Progress:
    limit = Limit.of(mechanism.parameters, n_questions)
    facts = {"teachers": n_teachers, "classes": n_classes, "questions": n_questions}
    start = first_entry(stage, mechanism.name, mechanism.parameters, coins, limit=limit, **facts)
    return begin(ledger, start, lambda: mechanism.start(coins))


def _in_memory(stage: str, limit: Limit) -> Ledger:
    ledger = MemoryLedger()
    ledger.open("a single release without a plan", Limits.of({stage: limit}))
    return ledger


def _priced_for(mechanism: AnyMechanism, n_classes: int) -> None:
    if getattr(mechanism, "n_classes", n_classes) != n_classes:
        raise GuaranteeBroken(
            f"{mechanism.name} was priced for {getattr(mechanism, 'n_classes', None)} classes and the votes have "
            f"{n_classes}; calibrate it for this task."
        )


def admit(mechanism: AnyMechanism, task: Task, *, promise: Promise = TEACHER_PROMISE) -> str | None:
    """Let a mechanism run only within its budget and only if it can answer anything; return a warning, if any.

    Everything here is computed from public facts: budget, numbers of teachers, classes and questions.

    Parameters
    ----------
    promise
        Whose adjacency and unit a refusal names beside its epsilon.
    """
    within_budget(mechanism, task.budget, promise=promise)
    return useless(mechanism, task, promise=promise)


def refuse_senseless(name: str, budget: Budget) -> None:
    """Refuse a budget that promises nothing or cannot be kept; the plurality, which costs infinity, has none."""
    if name == "majority":
        return
    if math.isinf(budget.epsilon):
        raise InvalidParameter(
            "epsilon is infinite, which promises nothing; give a finite epsilon, or take "
            f"{spell('mechanism', 'majority')} to release the plurality without any privacy."
        )
    low, high = EPSILONS
    if not low <= budget.epsilon <= high:
        raise InvalidParameter(
            f"epsilon is {budget.epsilon:g}; it must lie between {low:g} and {high:g}, usually between 0.1 and 10."
        )
    if 0 < budget.delta < LEAST_DELTA:
        raise InvalidParameter(f"delta is {budget.delta:g}; it must be 0 or at least {LEAST_DELTA:g}.")


def within_budget(mechanism: AnyMechanism, budget: Budget, *, promise: Promise = TEACHER_PROMISE) -> None:
    """Refuse a mechanism whose whole run would cost more than the budget."""
    refuse_senseless(mechanism.name, budget)
    claimed = mechanism.epsilon(None, budget.delta)
    if not claimed <= budget.epsilon:
        raise GuaranteeBroken(
            f"A whole run of {mechanism.name} with these settings costs epsilon {claimed:.6g}; allowed is "
            f"{budget.epsilon:g} (both at delta {budget.delta:g}; {promise.terms}). Nothing was released. Raise "
            f"{spell('epsilon')}, ask fewer questions ({spell('queries')}), or choose more noise or fewer "
            "abstentions."
        )


def useless(mechanism: AnyMechanism, task: Task, *, promise: Promise = TEACHER_PROMISE) -> str | None:
    """Refuse a run that could not even answer unanimous votes; only warn for mechanisms kept for comparison."""
    kind = entry(mechanism.name).kind
    chance = mechanism.chance_if_unanimous(task.n_teachers, task.n_classes)
    if kind == "none" or chance >= USEFUL:
        return None
    distance = distance_needed(mechanism, task)
    needed = "" if distance is None else f" At least {2 * distance + 1} teachers would be needed."
    message = (
        f"Even a unanimous vote of {task.n_teachers} teachers would be answered rightly by {mechanism.name} with "
        f"a probability of only {chance:.2g}, at epsilon {task.budget.epsilon:g} and delta {task.budget.delta:g} "
        f"({promise.terms}).{needed}"
    )
    if kind == "paper":
        return message
    raise InvalidParameter(
        f"{message} Raise the budget, train more teachers, or allow fewer abstentions or queries."
    )


def distance_needed(mechanism: AnyMechanism, task: Task) -> int | None:
    """Return the distance to instability that is answered almost surely, or None where none is known.

    A table is cut where K teachers cannot reach. If that is before "almost surely", the mechanism is calibrated
    once more with the same limits for plenty of teachers; its design order is left free, since the best one
    depends on how far a table reaches.
    """
    if mechanism.chance_if_unanimous(task.n_teachers, task.n_classes) >= ALMOST_SURE:
        return mechanism.required_distance(ALMOST_SURE)
    plenty = max(4 * task.n_teachers, ENOUGH_TEACHERS)
    parameters = mechanism.parameters
    same = {s: parameters[s] for s in entry(mechanism.name).settings if s in parameters and s != "order"}
    try:
        longer = make(mechanism.name, replace(task, n_teachers=plenty), **same)
    except MaplError:
        return None
    reached = longer.chance_if_unanimous(plenty, task.n_classes) >= ALMOST_SURE
    return longer.required_distance(ALMOST_SURE) if reached else None
