"""The hash chain of every ledger: public entries whose counters only grow, each sealed to the one before it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any

from mapl.errors import BudgetExhausted, LedgerError, LedgerTampered, MaplError, PlanMismatch
from mapl.planning.plan import canonical
from mapl.release.ledger.chain.entries import ANSWERS, HALTED, KEYS, PLAN, RELEASED, START, Entry, Record, Tail
from mapl.release.ledger.limits import ONLY_IF, Limit, Limits

SCHEMA = 2
WITHOUT_ID = 1
"""The schema of chains that were begun before runs had ids; they stay readable, and can be gone on with."""

RUN_ID = "run_id"
"""Where the first entry has the id of the run."""

NOTHING = "0" * 64
"""What the first entry names as the one before it."""


def genesis(plan_digest: str, limits: Limits, run_id: str | None) -> Record:
    """Return the record that a chain of this plan begins with; the id of its run tells it from every other."""
    counters = dict.fromkeys(
        ("number", "answered", "abstained", "all_answered", "all_abstained", "most_answered", "most_abstained"), 0
    )
    named = {"schema": WITHOUT_ID} if run_id is None else {"schema": SCHEMA, RUN_ID: run_id}
    payload = canonical({"plan": plan_digest, **limits.payload(), **named})
    return Record.sealed(**counters, kind=PLAN, stage="", payload=payload, answers="", previous=NOTHING)


def run_id_of(first: Record) -> str | None:
    """Return the id that a chain began with, None for one of a mapl that had none."""
    found = first.told().get(RUN_ID)
    return None if found is None else str(found)


def follow(tail: Tail | None, entry: Entry, answers: str) -> Record:
    """Return the record that an entry becomes, or refuse it: this is where the budget is counted.

    `answers` is the digest of the published outcomes, empty where there are none.
    """
    if tail is None:
        raise LedgerError("The ledger has no plan yet; call its `open` with the plan's digest and limits first.")
    if entry.kind == KEYS:
        return _changed_keys(tail, entry, answers)
    before = tail.of_stage
    allowed = _allowed(tail, entry.stage) if before is None else before.limit
    limit = entry.limit or allowed
    if not limit <= allowed:
        raise PlanMismatch(
            f"Stage {entry.stage!r} asks for limits of {limit.answered} answers and {limit.abstained} abstentions; "
            f"the plan allows {allowed.answered} and {allowed.abstained}. Use the settings of the plan."
        )
    if (entry.kind == START) != (before is None) or entry.kind not in (START, ANSWERS, HALTED):
        raise LedgerError(
            f"An entry {entry.kind!r} does not fit here; a stage has one start, then blocks of answers."
        )
    if before is None:
        _refuse_unmet(tail, entry.stage)
    if before is not None and before.kind == HALTED:
        raise BudgetExhausted(f"Stage {entry.stage!r} has ended; nothing more will be released in it.")
    block = Limit(entry.answered, entry.abstained)  # refuses anything but whole numbers of at least 0
    answered = block.answered + (before.all_answered if before else 0)
    abstained = block.abstained + (before.all_abstained if before else 0)
    if not Limit(answered, abstained) <= limit:
        raise BudgetExhausted(
            f"Stage {entry.stage!r} may publish {limit.answered} answers and {limit.abstained} abstentions, and "
            "this would be more; nothing was released. A new budget needs a new plan, and budgets add up."
        )
    return Record.sealed(
        number=tail.head.number + 1,
        kind=entry.kind,
        stage=entry.stage,
        answered=int(entry.answered),
        abstained=int(entry.abstained),
        all_answered=int(answered),
        all_abstained=int(abstained),
        most_answered=int(limit.answered),
        most_abstained=int(limit.abstained),
        payload=canonical(entry.payload),
        answers=answers,
        previous=tail.head.hash,
    )


def _changed_keys(tail: Tail, entry: Entry, answers: str) -> Record:
    if entry.stage or entry.answered or entry.abstained or answers:
        raise LedgerError("A change of keys counts nothing and is of no stage.")
    counters = dict.fromkeys(
        ("answered", "abstained", "all_answered", "all_abstained", "most_answered", "most_abstained"), 0
    )
    return Record.sealed(
        number=tail.head.number + 1,
        kind=KEYS,
        stage="",
        **counters,
        payload=canonical(entry.payload),
        answers="",
        previous=tail.head.hash,
    )


def same_plan(first: Record, plan_digest: str, limits: Limits, *, fresh: bool) -> None:
    """Refuse another plan than the one that a chain began with, and that one too where a fresh chain is wanted."""
    if fresh:
        raise PlanMismatch(
            "The ledger belongs to an earlier run, finished or not, and what it recorded there is spent. This run "
            "needs a new ledger of its own; the budgets of both add up."
        )
    if first != genesis(plan_digest, limits, run_id_of(first)):
        raise PlanMismatch(
            "The ledger belongs to another plan. Go on with the plan it was opened for, or begin a new run; the "
            "budgets of both add up."
        )


def check(records: Iterable[Record]) -> None:
    """Make every record again from the ones before it, and refuse the chain at the first difference."""
    first: Record | None = None
    head: Record | None = None
    stages: dict[str, Record] = {}
    for record in records:
        try:
            if first is None or head is None:
                again = genesis(record.told()["plan"], Limits.told(record.told()), run_id_of(record))
            else:
                entry = Entry(
                    *(record.kind, record.stage, record.answered, record.abstained, record.told(), record.limit)
                )
                awaited = stages.get(find_awaited(first, record.stage))
                again = follow(Tail(first, head, stages.get(record.stage), awaited), entry, record.answers)
        except (MaplError, ValueError, KeyError, TypeError, AttributeError):
            raise broken_chain() from None
        if again != record:
            raise broken_chain()
        first, head = first or record, record
        if record.stage:
            stages[record.stage] = record


def check_export(lines: Iterable[Mapping[str, Any]]) -> str:
    """Check an exported chain, for instance the lines of ledger.jsonl, and return its head."""
    names = [f.name for f in fields(Record)]
    try:
        records = [
            Record(**{name: line[name] for name in names if name != "payload"}, payload=canonical(line["payload"]))
            for line in lines
        ]
    except (KeyError, TypeError):
        raise broken_chain() from None
    if not records:
        raise broken_chain()
    check(records)
    return records[-1].hash


def broken_chain() -> LedgerTampered:
    """Return the error of a chain whose entries do not follow from one another."""
    return LedgerTampered(
        "The ledger's hash chain is broken: an entry was changed, removed or rolled back. Nothing more is released "
        "from it; restore the newest copy of the file, and count everything that was ever published as spent."
    )


def find_awaited(first: Record, stage: str) -> str:
    """Name the stage that one of a chain's stages waits for, empty where it waits for none."""
    return str(first.told().get(ONLY_IF, {}).get(stage, [""])[0])


def _refuse_unmet(tail: Tail, stage: str) -> None:
    """Refuse a stage whose condition is not met: another one was chosen, or nothing yet."""
    condition = tail.genesis.told().get(ONLY_IF, {}).get(stage)
    if condition is None:
        return
    found = None if tail.awaited is None else tail.awaited.told().get(RELEASED)
    if tail.awaited is None or tail.awaited.kind != HALTED or [tail.awaited.stage, found] != condition:
        raise PlanMismatch(
            f"Stage {stage!r} waits for stage {condition[0]!r} to release {condition[1]}, and it has not; nothing "
            "was released. Carry out what was chosen, and nothing else."
        )


def _allowed(tail: Tail, stage: str) -> Limit:
    stages = tail.genesis.told()["limits"]
    if stage not in stages:
        raise PlanMismatch(f"The plan has no stage {stage!r}; it has {', '.join(stages)}.")
    return Limit(*stages[stage])
