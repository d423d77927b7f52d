"""What a ledger records: an entry that is asked for, the block of answers beside it, and the sealed record."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from mapl.planning.plan import canonical
from mapl.release.ledger.limits import Limit
from mapl.types import Flags, Outcome

PLAN, START, ANSWERS, HALTED, KEYS = "plan", "start", "answers", "halted", "keys"
"""Kinds of entries: the plan itself, a stage's start, a block of answers, the block that ended a stage, and (of no
stage, counting nothing) a change of API keys."""

RELEASED = "released"
"""Under this name an entry holds the value that a stage of a single release published."""


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
