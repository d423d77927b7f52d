"""Large requests: read, answered and recorded slice by slice, so that everybody else comes in between.

The request as a whole is stored before its first slice, so that its name stands for it in every process that serves
the ledger. A slice that was answered is counted and can be asked again for free: whoever is cut off in the middle
sends the request again and pays for the rest only. No slice is begun for a caller that has left.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import numpy as np
from starlette.requests import ClientDisconnect

from mapl.errors import InvalidData
from mapl.release.ledger.inquiries import Inquiry, OnlineLedger, Refused, Reply
from mapl.service.answering.clerk import Clerk, RowsAsked, RowsRead
from mapl.service.answering.desk import Desk
from mapl.service.answering.slice_pace import SlicePace, answering_weight
from mapl.types import Labels

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Bulk:
    """Has requests answered that are too large for one group; every slice waits until small requests are done."""

    desk: Desk
    clerk: Clerk
    most_in_slice: int
    pace: SlicePace

    @classmethod
    def of(cls, desk: Desk, clerk: Clerk, most_in_slice: int) -> Bulk:
        """Cut requests into slices of at most so many rows while others ask."""
        return cls(desk, clerk, most_in_slice, SlicePace(most_in_slice))

    async def answer(self, asked: RowsAsked) -> Reply | Refused | InvalidData:
        """Answer a request, as the clerk would in one piece; ClientDisconnect once its caller has left."""
        recall = partial(self.clerk.recall, asked.caller, asked.name, asked.body)
        told = await self._at_desk(lambda _: recall(), asked.caller)
        return await self._answer_in_slices(asked) if told is None else told

    async def _answer_in_slices(self, asked: RowsAsked) -> Reply | Refused | InvalidData:
        try:
            read = await self._read(asked)
        except InvalidData as refusal:
            return refusal
        if await self._asks_too_much(asked.caller, read.inquiry.questions):
            return Refused.CALLER_LIMIT
        # Before its first slice: a name that stands for another request is refused, and nothing of it is spent.
        refused = await self._at_desk(lambda _: self.clerk.claim(read.inquiry), asked.caller)
        if refused is not None:
            return refused
        weight = answering_weight(self.clerk.run.plan.n_teachers)
        labels: list[Labels] = []
        start = 0
        while start < len(read.rows):
            part = read.part(start, start + self.pace.rows(alone=self.desk.alone(asked.caller), weight=weight))
            await _refuse_absent(asked)
            told = await self._at_desk(partial(self._answer, part), asked.caller)
            if isinstance(told, Refused):
                return told
            labels.append(told.labels)
            start += len(part.rows)
        reply = Reply(read.inquiry.id, np.concatenate(labels))
        refused = await self._at_desk(lambda _: self.clerk.keep(read.inquiry, reply), asked.caller)
        return reply if refused is None else refused

    async def count_different(self, asked: RowsAsked) -> int:
        """Return how many different questions a request holds, whoever asked them before; nothing is asked."""
        return len(set((await self._read(asked)).inquiry.questions))

    async def _read(self, asked: RowsAsked) -> RowsRead:
        """Read all rows before the first is answered: nothing is spent on a request that is not as declared."""
        parts: list[RowsRead] = []
        start = 0
        while start < len(asked.rows):
            stop = min(start + self.pace.rows(alone=self.desk.alone(asked.caller)), len(asked.rows))
            await _refuse_absent(asked)
            parts.append(await self._at_desk(partial(self._read_part, asked, start, stop), asked.caller))
            start = stop
        questions = tuple(question for part in parts for question in part.inquiry.questions)
        whole = Inquiry(self.clerk.id(asked), asked.caller, asked.body, questions)
        return RowsRead(whole, np.concatenate([part.rows for part in parts]))

    def _read_part(self, asked: RowsAsked, start: int, stop: int, _: OnlineLedger) -> RowsRead:
        with self.pace.timing(stop - start):
            return self.clerk.read(asked, start, stop)

    def _answer(self, part: RowsRead, _: OnlineLedger) -> Reply | Refused:
        (told,) = self.clerk.answer([part])
        assert not isinstance(told, InvalidData)  # its rows were read before
        return told

    async def _asks_too_much(self, caller: str, questions: Sequence[bytes]) -> bool:
        """Say whether a caller with a cap of its own asks more new questions than it may."""
        key = await self._at_desk(lambda ledger: ledger.key(caller), caller)
        if key is None or key.most is None:
            return False
        new = set(questions)
        for start in range(0, len(questions), self.most_in_slice):
            new -= await self._at_desk(partial(_seen, questions[start : start + self.most_in_slice]), caller)
        return len(new) > key.most - key.taken

    async def _at_desk(self, work: Callable[[OnlineLedger], T], caller: str) -> T:
        return await self.desk.consult(work, caller=caller, bulk=True)


async def _refuse_absent(asked: RowsAsked) -> None:
    """Stop where nobody is there any more to be told; what was answered before is recorded, and stays so."""
    if await asked.gone():
        raise ClientDisconnect


def _seen(questions: Sequence[bytes], ledger: OnlineLedger) -> set[bytes]:
    return ledger.seen([Inquiry("", "", b"", tuple(questions))])[1]
