"""The clerk: questions in, votes, one durable exchange with the ledger, replies out."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from mapl.errors import InvalidData
from mapl.noise import Coins
from mapl.release.ledger.exchange import reply_to
from mapl.release.ledger.inquiries import NOT_ASKED, Inquiry, OnlineLedger, Refused, Reply
from mapl.service.access.keys import derive_key, keyed_digest
from mapl.service.watching.witness import Witness
from mapl.types import Outcome, State, Tallies

if TYPE_CHECKING:
    from mapl.pipeline.online.questions import Questions
    from mapl.pipeline.online.run import OnlinePanel, OnlineRun

STAGE = "labels"
T = TypeVar("T")


async def _never() -> bool:
    return False


@dataclass(frozen=True, slots=True, repr=False)
class RowsAsked:
    """One request as it came: who asks, under which Idempotency-Key if any, and the rows as JSON has them.

    ``gone`` says whether its caller has left meanwhile, so that nobody is there to be told.
    """

    caller: str
    name: str | None
    body: bytes
    rows: list[Any]
    gone: Callable[[], Awaitable[bool]] = _never

    def __repr__(self) -> str:
        return f"RowsAsked({len(self.rows)} rows)"


@dataclass(frozen=True, slots=True, repr=False)
class RowsRead:
    """A request, or a slice of one, whose rows are read: as the ledger knows it, and as teachers take it."""

    inquiry: Inquiry
    rows: Questions

    @property
    def caller(self) -> str:
        return self.inquiry.caller

    def part(self, start: int, stop: int) -> RowsRead:
        """Return a slice of it, which is answered and counted, and stored as part of the whole only."""
        whole = self.inquiry
        some = whole.questions[start:stop]
        return RowsRead(
            Inquiry(f"{whole.id}:{start}", whole.caller, whole.body, some, kept=False), self.rows[start:stop]
        )

    def __repr__(self) -> str:
        return f"RowsRead({len(self.rows)} rows)"


@dataclass(slots=True, repr=False)
class Clerk:
    """Answers a group of requests with one entry of the ledger. Not for several threads at once.

    Nothing leaves here before the ledger has returned, and nothing is spent on a request that is refused.
    """

    run: OnlineRun
    ledger: OnlineLedger
    coins: Coins
    witness: Witness = field(default_factory=Witness)
    _secret: bytes = field(init=False)
    _panel: OnlinePanel = field(init=False)

    def __post_init__(self) -> None:
        self._panel = self.run.panel  # read now, so that the first question does not wait for it
        self._secret = derive_key(self.run.service_key, "requests")

    def answer(self, group: Sequence[RowsAsked | RowsRead]) -> list[Reply | Refused | InvalidData]:
        """Answer every request of a group, in order; on a LedgerError nothing was recorded and nothing released."""
        read = self._read_all(group)
        replies = iter(self._replies([one for one in read if isinstance(one, RowsRead)]))
        return [next(replies) if isinstance(one, RowsRead) else one for one in read]

    def read(self, asked: RowsAsked, start: int, stop: int) -> RowsRead:
        """Read a slice of a request; InvalidData with the number of the first row that cannot be read."""
        rows = asked.rows[start:stop]
        try:
            questions = self.run.conformed(rows)
        except InvalidData:
            raise self._refusal(rows, start) from None
        slice_of = Inquiry(
            f"{self.id(asked)}:{start}", asked.caller, asked.body, tuple(self.run.digests(questions)), kept=False
        )
        return RowsRead(slice_of, questions)

    def recall(self, caller: str, name: str | None, body: bytes) -> Reply | Refused | None:
        """Return what this very request was told before, which its name or its body tells without reading a row."""
        asked = RowsAsked(caller, name, body, [])
        inquiry = Inquiry(self.id(asked), caller, body, ())
        return self._final(lambda: self.ledger.recall([inquiry])[0])

    def stored(self, id: str, caller: str) -> Reply | None:
        """Return an answer that the same caller got before, by its id."""
        return self._final(lambda: self.ledger.reply(id, caller))

    def claim(self, whole: Inquiry) -> Refused | None:
        """Store a request before its first slice, so that its id stands for it in every worker and at every server.

        Where nothing new is answered any more there is nothing to claim: those who come too late leave no trace,
        and cannot fill the disk.
        """
        refused = None if self._ended() else self.ledger.store(whole)
        self.witness.note(self.ledger)
        return refused

    def keep(self, whole: Inquiry, reply: Reply) -> Refused | None:
        """Store a request whose slices are all answered, if it was not claimed; one that reached nothing is not."""
        reached = (reply.labels != NOT_ASKED).any()
        refused = self.ledger.store(whole) if reached else None
        self.witness.note(self.ledger)
        return refused

    def id(self, asked: RowsAsked) -> str:
        """Name an answer after its caller and its Idempotency-Key, or without one after its body."""
        kind, name = (b"body", asked.body) if asked.name is None else (b"name", asked.name.encode())
        return keyed_digest(self._secret, b"\0".join((asked.caller.encode(), kind, name))).hex()

    def _read_all(self, group: Sequence[RowsAsked | RowsRead]) -> list[RowsRead | InvalidData]:
        """Read the rows of all requests at once; if some cannot be read, find out whose they are."""
        asked = [one for one in group if isinstance(one, RowsAsked)]
        try:
            read: list[RowsRead | InvalidData] = list(self._inquiries(asked))
        except InvalidData:
            read = []
            for one in asked:
                try:
                    read += self._inquiries([one])
                except InvalidData:
                    read.append(self._refusal(one.rows))
        were_asked = iter(read)
        return [one if isinstance(one, RowsRead) else next(were_asked) for one in group]

    def _inquiries(self, group: Sequence[RowsAsked]) -> list[RowsRead]:
        if not group:
            return []
        questions = self.run.conformed([row for asked in group for row in asked.rows])
        digests = self.run.digests(questions)
        read, start = [], 0
        for asked in group:
            end = start + len(asked.rows)
            inquiry = Inquiry(self.id(asked), asked.caller, asked.body, tuple(digests[start:end]))
            read.append(RowsRead(inquiry, questions[start:end]))
            start = end
        return read

    def _refusal(self, rows: Sequence[Any], start: int = 0) -> InvalidData:
        """Say which row is the first that cannot be read, and why; where `rows` begin with row `start`."""
        low, high = 0, len(rows)  # it is in rows[low:high]
        words = ""
        while True:
            middle = (low + high) // 2 if high - low > 1 else high
            try:
                self.run.conformed(rows[low:middle])
                low = middle
            except InvalidData as refusal:
                high, words = middle, str(refusal)
                if high - low == 1:
                    return InvalidData(f"Row {start + high}: {words}")
            if low == high:  # all can be read one by one, and not together
                return InvalidData(words or "The rows cannot be read together; send them one by one.")

    def _replies(self, sound: Sequence[RowsRead]) -> list[Reply | Refused]:
        if not sound:
            return []
        inquiries = [one.inquiry for one in sound]
        replies, known = self.ledger.seen(inquiries)
        if any(map(_is_part, replies)) and self._ended():
            replies, known = self.ledger.seen(inquiries)  # what was read first may be older than the end
        elif any(map(_is_part, replies)):
            replies = [None if _is_part(one) else one for one in replies]  # they go on where they were left off
        free = [one for one in inquiries if not one.kept and known.issuperset(one.questions)]
        outcomes = self.ledger.known({question for one in free for question in one.questions}) if free else {}
        told = {one.id: reply_to(one, outcomes) for one in free}
        replies = [told.get(one.id, reply) for one, reply in zip(inquiries, replies, strict=True)]
        fresh = [one for one, reply in zip(inquiries, replies, strict=True) if reply is None]
        exchanged = iter(self._exchanged(fresh, known, sound) if fresh else ())
        self.witness.note(self.ledger)  # before anything leaves, also what another process had recorded
        return [next(exchanged) if reply is None else reply for reply in replies]

    def _exchanged(
        self, fresh: Sequence[Inquiry], known: set[bytes], sound: Sequence[RowsRead]
    ) -> list[Reply | Refused]:
        """Have the teachers vote on what nobody has asked before, and let the ledger decide and record it."""
        rows = np.concatenate([one.rows for one in sound])
        digests = [digest for one in sound for digest in one.inquiry.questions]
        where = {digest: place for place, digest in reversed(list(enumerate(digests)))}
        asked = dict.fromkeys(digest for inquiry in fresh for digest in inquiry.questions)
        unseen = [digest for digest in asked if digest not in known]
        counts = self._counts(rows[[where[one] for one in unseen]]) if unseen else None
        places = {digest: place for place, digest in enumerate(unseen)}

        def decide(state: State, questions: Sequence[bytes]) -> Outcome:
            assert counts is not None  # what is new now was unseen before: a ledger forgets nothing
            block = Tallies(counts[[places[one] for one in questions]])
            return self.run.mechanism.release(state, block, self.coins)

        return self.ledger.exchange(STAGE, fresh, decide, n_classes=len(self.run.classes))

    def _final(self, read: Callable[[], T]) -> T | None:
        """Read a stored reply, and pass over one of a large request that is still at work, or was cut off."""
        reply: T | None = read()
        if _is_part(reply):
            reply = read() if self._ended() else None  # again: what was read first may be older than the end
        self.witness.note(self.ledger)  # another process may have recorded it, and died before it left
        return reply

    def _ended(self) -> bool:
        """Say whether no new question is put to the mechanism any more, so that every stored reply is final."""
        return self.ledger.left(STAGE) == 0

    def _counts(self, rows: Questions) -> Any:
        return self._panel.votes(rows).counts

    def __repr__(self) -> str:
        return "Clerk(...)"


def _is_part(reply: object) -> bool:
    """Say whether some questions of a stored request were not put to the mechanism."""
    return isinstance(reply, Reply) and bool((reply.labels == NOT_ASKED).any())
