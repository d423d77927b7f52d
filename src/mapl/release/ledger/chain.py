"""The hash chain of every ledger: public entries whose counters only grow, each sealed to the one before it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from mapl.errors import BudgetExhausted, LedgerError, LedgerTampered, MaplError, PlanMismatch
from mapl.planning.plan import canonical
from mapl.release.ledger.limits import ONLY_IF
from mapl.release.ledger.limits import Limit as Limit
from mapl.release.ledger.limits import Limits as Limits
from mapl.types import Flags, Outcome

SCHEMA = 2
WITHOUT_ID = 1
"""The schema of chains that were begun before runs had ids; they stay readable, and can be gone on with."""

PLAN, START, ANSWERS, HALTED, KEYS = "plan", "start", "answers", "halted", "keys"
"""Kinds of entries: the plan itself, a stage's start, a block of answers, the block that ended a stage, and (of no
stage, counting nothing) a change of API keys."""

RUN_ID = "run_id"
"""Where the first entry has the id of the run."""

RELEASED = "released"
"""Under this name an entry holds the value that a stage of a single release published."""

NOTHING = "0" * 64
"""What the first entry names as the one before it."""


@dataclass(frozen=True, slots=True)
class Entry:
    """What is to be recorded: integers to count, and a public payload.

    ``limit`` lowers the stage's limit from here on; it can never be raised again.
    """

    kind: str
    stage: str
    answered: int = 0
    abstained: int = 0
    payload: Mapping[str, Any] = field(default_factory=dict)
    limit: Limit | None = None


@dataclass(frozen=True, slots=True)
class Answers:
    """The published outcomes of one block of questions, in order.

    ``labels`` are whole numbers of any fixed width. ``room`` is the number of questions the block had: a ledger
    stores as many bytes as they need, however many were taken, so that whether a block fits on a disk does not
    depend on its outcomes.
    """

    labels: NDArray[np.signedinteger[Any]]
    fallback: Flags | None
    room: int

    @classmethod
    def of(cls, outcome: Outcome, room: int, n_classes: int) -> Self:
        """Keep an outcome in as few bytes as the number of classes, which is public, needs."""
        return cls(outcome.labels.astype(np.min_scalar_type(-n_classes)), outcome.fallback, room)

    @property
    def width(self) -> int:
        """How many bytes a label takes."""
        return self.labels.dtype.itemsize

    @property
    def digest(self) -> str:
        """The SHA-256 of what was published."""
        labels, fallback = self.content(0)
        flags = "no" if fallback is None else "as many"
        seal = hashlib.sha256(f"{len(self.labels)} labels of {self.width} bytes, {flags} flags:".encode())
        seal.update(labels)
        seal.update(fallback or b"")
        return seal.hexdigest()

    def content(self, room: int) -> tuple[bytes, bytes | None]:
        """Return labels and fallback flags (one byte each) as bytes, padded to `room` questions."""
        labels = self.labels.astype(f"<i{self.width}", copy=False).tobytes().ljust(self.width * room, b"\0")
        if self.fallback is None:
            return labels, None
        return labels, self.fallback.astype(np.bool_, copy=False).tobytes().ljust(room, b"\0")

    @classmethod
    def read(cls, width: int, labels: bytes, fallback: bytes | None, taken: int) -> Self:
        """Take stored bytes apart again."""
        flags = None if fallback is None else np.frombuffer(fallback, dtype=np.bool_)[:taken]
        codes = np.frombuffer(labels, dtype=f"<i{width}")
        return cls(codes[:taken], flags, len(codes))


@dataclass(frozen=True, slots=True)
class Record:
    """One link of the chain. Everything in it is public: counters, limits, digests, never a secret or a vote."""

    number: int
    kind: str
    stage: str
    answered: int
    abstained: int
    all_answered: int
    all_abstained: int
    most_answered: int
    most_abstained: int
    payload: str
    answers: str
    previous: str
    hash: str

    @classmethod
    def sealed(cls, **content: Any) -> Self:
        """Close a record with the hash of its content, which names the hash of the record before it."""
        return cls(**content, hash=hashlib.sha256(canonical(content).encode()).hexdigest())

    @property
    def limit(self) -> Limit:
        return Limit(self.most_answered, self.most_abstained)

    def told(self) -> dict[str, Any]:
        """Return the public payload."""
        payload: dict[str, Any] = json.loads(self.payload)
        return payload

    def public(self) -> dict[str, Any]:
        """Return the record as plain values, for one line of JSON."""
        return {**asdict(self), "payload": self.told()}


@dataclass(frozen=True, slots=True)
class Tail:
    """What the next record depends on: the plan, the newest record, and the newest one of the same stage.

    ``awaited`` is the newest record of the stage that this one waits for (`find_awaited`), None without one.
    """

    genesis: Record
    head: Record
    of_stage: Record | None
    awaited: Record | None = None


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
