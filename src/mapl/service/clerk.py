"""The clerk: questions in, votes, one durable exchange with the ledger, replies out."""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import numpy as np

from mapl.data.rows import take
from mapl.errors import InvalidData
from mapl.noise import Coins
from mapl.release.online import Inquiry, OnlineLedger, Refused, Reply
from mapl.service.keys import derived
from mapl.service.noted_head import NotedHead
from mapl.types import Outcome, State, Tallies

if TYPE_CHECKING:
    from mapl.data.rows import Rows
    from mapl.pipeline.online import OnlineRun
    from mapl.teachers.panel import Panel

STAGE = "labels"


@dataclass(frozen=True, slots=True, repr=False)
class Asked:
    """One request as it came: who asks, under which Idempotency-Key if any, and the rows as JSON has them."""

    caller: str
    name: str | None
    body: bytes
    rows: list[Any]

    def __repr__(self) -> str:
        return f"Asked({len(self.rows)} rows)"


@dataclass(slots=True, repr=False)
class Clerk:
    """Answers a group of requests with one entry of the ledger. Not for several threads at once.

    Nothing leaves here before the ledger has returned, and nothing is spent on a request that is refused.
    """

    run: OnlineRun
    ledger: OnlineLedger
    coins: Coins
    noted: NotedHead | None = None
    _secret: bytes = field(init=False)
    _panel: Panel = field(init=False)

    def __post_init__(self) -> None:
        self._panel = self.run.panel  # read now, so that the first question does not wait for it
        self._secret = derived(self.run.service_key, "requests")

    def answer(self, group: Sequence[Asked]) -> list[Reply | Refused | InvalidData]:
        """Answer every request of a group, in order; on a LedgerError nothing was recorded and nothing released."""
        refusals, rows = self._conformed(group)
        sound = [asked for asked, refusal in zip(group, refusals, strict=True) if refusal is None]
        replies = iter(self._replies(sound, rows))
        return [next(replies) if refusal is None else refusal for refusal in refusals]

    def _conformed(self, group: Sequence[Asked]) -> tuple[list[InvalidData | None], Rows]:
        """Read the rows of all requests at once; if some cannot be read, find out whose they are."""
        try:
            return [None] * len(group), self.run.conformed([row for asked in group for row in asked.rows])
        except InvalidData:
            refusals = [self._refusal(asked) for asked in group]
        sound = [
            row for asked, refusal in zip(group, refusals, strict=True) if refusal is None for row in asked.rows
        ]
        return refusals, self.run.conformed(sound) if sound else None

    def _refusal(self, asked: Asked) -> InvalidData | None:
        try:
            self.run.conformed(asked.rows)
        except InvalidData as refusal:
            return refusal
        return None

    def _replies(self, sound: Sequence[Asked], rows: Rows) -> list[Reply | Refused]:
        if not sound:
            return []
        digests = self.run.digests(rows)
        inquiries, start = [], 0
        for asked in sound:
            end = start + len(asked.rows)
            inquiries.append(Inquiry(self._id(asked), asked.caller, asked.body, tuple(digests[start:end])))
            start = end
        replies, known = self.ledger.seen(inquiries)
        fresh = [one for one, reply in zip(inquiries, replies, strict=True) if reply is None]
        exchanged = iter(self._exchanged(fresh, known, digests, rows) if fresh else ())
        return [next(exchanged) if reply is None else reply for reply in replies]

    def _exchanged(
        self, fresh: Sequence[Inquiry], known: set[bytes], digests: Sequence[bytes], rows: Rows
    ) -> list[Reply | Refused]:
        """Have the teachers vote on what nobody has asked before, and let the ledger decide and record it."""
        where = {digest: place for place, digest in reversed(list(enumerate(digests)))}
        asked = dict.fromkeys(digest for inquiry in fresh for digest in inquiry.questions)
        unseen = [digest for digest in asked if digest not in known]
        counts = (
            self._counts(take(rows, np.array([where[one] for one in unseen], dtype=np.int64))) if unseen else None
        )
        places = {digest: place for place, digest in enumerate(unseen)}

        def decide(state: State, questions: Sequence[bytes]) -> Outcome:
            assert counts is not None  # what is new now was unseen before: a ledger forgets nothing
            block = Tallies(counts[[places[one] for one in questions]])
            return self.run.mechanism.release(state, block, self.coins)

        replies = self.ledger.exchange(STAGE, fresh, decide, n_classes=len(self.run.classes))
        if self.noted is not None:
            self.noted.note(self.ledger)
        return replies

    def _counts(self, rows: Rows) -> Any:
        return self._panel.votes(rows).counts

    def _id(self, asked: Asked) -> str:
        """Name an answer after its caller and its Idempotency-Key, or without one after its body."""
        kind, name = (b"body", asked.body) if asked.name is None else (b"name", asked.name.encode())
        return hmac.digest(self._secret, b"\0".join((asked.caller.encode(), kind, name)), sha256).hex()

    def __repr__(self) -> str:
        return "Clerk(...)"
