"""The one way to spend: a stage is begun, something is decided, it is on record for good, and only then told.

Whatever a run releases goes through `spend` or `spend_once`. A server decides a group of questions under the lock
of its database (`mapl.release.ledger.exchange`); what is recorded of it is a `Decision` as well.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from mapl.errors import LedgerError, PlanMismatch
from mapl.noise import Coins
from mapl.planning.plan import canonical, plain
from mapl.release.ledger.chain import ANSWERS, HALTED, START, Answers, Entry, Record
from mapl.release.ledger.chain import RELEASED as RELEASED
from mapl.release.ledger.ledger import Ledger, Progress
from mapl.release.ledger.limits import Limit
from mapl.types import Outcome, Secret, Silent, State


@dataclass(frozen=True, slots=True, repr=False)
class Decision(Silent):
    """What was decided and is not public yet: what it counts, what will be told of it, what stays secret."""

    answered: int
    abstained: int = 0
    ended: bool = False
    answers: Answers | None = None
    payload: Mapping[str, Any] = field(default_factory=dict)
    secret: Secret | None = None

    @classmethod
    def of(
        cls, outcome: Outcome, before: State, *, n_asked: int, n_classes: int, payload: Mapping[str, Any]
    ) -> Self:
        """Take what a mechanism made of a block of questions; one that took fewer than it was asked has ended."""
        after = outcome.state
        return cls(
            after.answered - before.answered,
            after.abstained - before.abstained,
            after.halted or len(outcome.labels) < n_asked,
            Answers.of(outcome, n_asked, n_classes),
            payload,
            after.secret,
        )

    @classmethod
    def of_value(cls, value: Any) -> Self:
        """Take one plain value, which is all that its stage will ever release."""
        return cls(1, ended=True, payload={RELEASED: value})

    def entry(self, stage: str) -> Entry:
        """Return what a ledger records of it."""
        kind = HALTED if self.ended else ANSWERS
        return Entry(kind, stage, self.answered, self.abstained, payload=self.payload)


def first_entry(
    stage: str,
    mechanism: str,
    parameters: Mapping[str, Any],
    coins: Coins,
    *,
    limit: Limit | None = None,
    **facts: Any,
) -> Entry:
    """Return the entry that a stage begins with: public facts that have to stay the same when a run goes on."""
    payload = {"mechanism": mechanism, "parameters": dict(parameters), "private": coins.private, **facts}
    return Entry(START, stage, payload=payload, limit=limit)


def begin(ledger: Ledger, entry: Entry, start: Callable[[], State] = State) -> Progress:
    """Return where a stage stands; if it has not begun, draw its first state and record that before any question.

    A stage that was begun otherwise (another mechanism, other settings, other coins) is refused.
    """
    progress = ledger.progress(entry.stage)
    if progress.start is None:
        try:
            ledger.append(entry, secret=start().secret)
        except LedgerError:
            progress = ledger.progress(entry.stage)
            if progress.start is None:
                raise
            # Another process was quicker; its secret counts, and what was drawn here is forgotten.
        else:
            return ledger.progress(entry.stage)
    if canonical(progress.start) != canonical(entry.payload):
        now = plain(entry.payload)
        differing = sorted(k for k in {*progress.start, *now} if progress.start.get(k) != now.get(k))
        raise PlanMismatch(
            f"Stage {entry.stage!r} was begun with other settings ({', '.join(differing)} differ); go on with the "
            "ones it was begun with, or begin a new run. The budgets of both add up."
        )
    return progress


def spend(ledger: Ledger, stage: str, decision: Decision) -> None:
    """Record what was decided; on return it is on disk and may be told, on an error nothing was spent or told."""
    ledger.append(decision.entry(stage), secret=decision.secret, answers=decision.answers)


def spend_once(ledger: Ledger, entry: Entry, decide: Callable[[], Decision]) -> Record:
    """Begin a stage that releases once, have it decided unless it was before, and return what is on record.

    A killed run that goes on reads what it published; `decide` is not called again.
    """
    if not begin(ledger, entry).state.halted:
        spend(ledger, entry.stage, decide())
    return next(one for one in ledger.entries() if one.stage == entry.stage and one.kind == HALTED)
