"""What a ledger does for questions that come one by one: who asked what, what was answered, and who may ask."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol

from mapl.release.ledger.chain import Record
from mapl.release.ledger.head_mark import HeadMark
from mapl.release.ledger.ledger import Ledger
from mapl.types import Labels, Outcome, State

NOT_ASKED = -2
"""The code of a question that was not taken because the budget had ended."""

DIGEST_BYTES = 32


@dataclass(frozen=True, slots=True)
class Inquiry:
    """One request as a ledger knows it: digests, never rows.

    ``id`` is the public id of its answer, ``caller`` the id of an API key, ``body`` a digest of the whole request
    and ``questions`` one keyed digest of 32 bytes for each row, in order; a row may occur more than once. A slice
    of a larger request is not ``kept``: its questions are answered and counted, and the whole is stored in the end.
    """

    id: str
    caller: str
    body: bytes = field(repr=False)
    questions: tuple[bytes, ...] = field(repr=False)
    kept: bool = True


@dataclass(frozen=True, slots=True)
class Reply:
    """What an inquiry is told: a class number, ABSTAIN or NOT_ASKED for every question of it, in order."""

    id: str
    labels: Labels


class Refused(Enum):
    """Why an inquiry gets no reply; nothing of it was taken."""

    OTHER_BODY = "the id stands for another request already"
    CALLER_LIMIT = "its new questions would exceed the limit of its caller"


@dataclass(frozen=True, slots=True)
class KeyRecord:
    """An API key as a ledger keeps it: what it may do, and a digest that tells its token from others.

    ``most`` caps how many new questions its caller may ask, without a cap if None; ``taken`` counts them.
    ``expires`` is when it ends, in seconds since 1970, never if None: a matter of access, never of the budget.
    """

    id: str
    name: str
    scopes: tuple[str, ...]
    digest: bytes = field(repr=False)
    most: int | None = None
    revoked: bool = False
    taken: int = 0
    expires: int | None = None

    def valid(self, now: float) -> bool:
        """Say whether it still opens anything at a time."""
        return not self.revoked and (self.expires is None or now < self.expires)

    @property
    def room(self) -> int | None:
        """How many new questions its caller may still ask; None without a cap. A revoked key asks nothing new."""
        if self.revoked:
            return 0
        return None if self.most is None else self.most - self.taken


@dataclass(frozen=True, slots=True)
class Author:
    """Who changes keys, and when, in seconds since 1970: for whoever reads the log; nothing is decided by it."""

    name: str = ""
    at: int = 0


NOBODY = Author()

Decide = Callable[[State, Sequence[bytes]], Outcome]
"""Given the state under the ledger's lock and the questions that are really new, in order, what the mechanism
releases for them; shorter than the questions where it halts."""


class OnlineLedger(Ledger, Protocol):
    """A ledger whose one transaction is the whole exchange: look up, decide, count, store.

    Notes
    -----
    *Guarantee.* Every question has at most one published outcome, however often, by whomever and through however
    many processes it is asked; what `exchange` returns was counted before. Proof: docs/proofs/ledger.md.
    """

    def recall(self, inquiries: Sequence[Inquiry]) -> list[Reply | Refused | None]:
        """Return the stored replies without writing anything; None where an exchange is needed."""

    def seen(self, inquiries: Sequence[Inquiry]) -> tuple[list[Reply | Refused | None], set[bytes]]:
        """Return what `recall` does, and those questions that need no vote, in a single look."""

    def known(self, questions: Collection[bytes]) -> dict[bytes, int]:
        """Return the published outcomes of those questions that have one."""

    def exchange(
        self, stage: str, inquiries: Sequence[Inquiry], decide: Decide, *, n_classes: int
    ) -> list[Reply | Refused]:
        """Answer a group of inquiries in one transaction, durable on return; on an error nothing is recorded.

        The same id and body gets its stored reply, the same id with another body is refused, questions that were
        asked before are free. The others are put to `decide` once, as one block, as far as the stage's public
        number of questions and the callers' caps allow; where the stage has ended they are NOT_ASKED.

        Raises
        ------
        LedgerError
            If the ledger cannot be written, is locked, or the stage has not begun.
        """

    def store(self, inquiry: Inquiry) -> Refused | None:
        """Store an inquiry before its questions are put to `exchange` in parts, or after they were.

        From then on its id stands for it, in every process: with another body it is refused. The same may be stored
        again. Nothing is decided, looked up or counted; until all of its questions were put to `exchange`, or the
        stage has ended, some of them are NOT_ASKED in what `recall` and `reply` return.
        """

    def reply(self, id: str, caller: str) -> Reply | None:
        """Return the stored reply of a caller's own inquiry."""

    def keys(self) -> list[KeyRecord]:
        """Return all API keys, revoked ones too, in the order of their ids."""

    def key(self, id: str) -> KeyRecord | None:
        """Return one API key."""

    def add_key(self, key: KeyRecord, *, by: Author = NOBODY) -> None:
        """Store a new API key, and who made it; an id is given once."""

    def revoke_key(self, id: str, *, by: Author = NOBODY) -> None:
        """Revoke an API key for good."""

    def replace_key(self, id: str, new: KeyRecord, *, until: int | None = None, by: Author = NOBODY) -> KeyRecord:
        """Store a new API key in the place of another, in one step; that one is revoked, or ends at a time.

        Returns the new key as it is stored: with what is left of the other one's cap at this moment, or less.
        """

    def key_log(self) -> list[str]:
        """Return the lines of the log of keys, oldest first (`key_log.changes_in`)."""

    def spending(self, stage: str) -> State:
        """Return the public counters of a stage, without its secret."""

    def left(self, stage: str) -> int:
        """Return how many questions a stage may still take; 0 once it has ended, and from then on."""

    def records(self, after: int, limit: int) -> list[Record]:
        """Return up to `limit` entries whose number is above `after`, oldest first."""

    @property
    def mark(self) -> HeadMark | None:
        """The newest entry that this object has seen, without looking; it never goes back."""

    def look(self) -> HeadMark:
        """Look at the newest entry; LedgerRolledBack if it does not go on from what was seen before."""

    def holds(self, mark: HeadMark) -> bool:
        """Say whether an entry that was seen somewhere is part of the chain."""

    def shut(self) -> None:
        """Answer nothing new from here on, over restarts too, because entries are missing; until unlocked."""

    def alive(self) -> None:
        """Raise LedgerError if nothing could be recorded now; nothing is counted by asking."""

    def close(self) -> None:
        """Let go of file or connection; what was recorded stays."""
