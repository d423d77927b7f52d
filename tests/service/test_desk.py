"""The desk: groups form while others are answered, nothing waits without bound, and an end is orderly."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Event
from typing import Any

import pytest

from mapl.errors import LedgerError
from mapl.release.memory_ledger import MemoryLedger
from mapl.service.desk import Closed, Desk, Overloaded


@dataclass(frozen=True)
class Request:
    rows: list[Any]


@dataclass
class SlowClerk:
    """Answers each request with its number of rows, after it was let go."""

    ledger: Any = field(default_factory=MemoryLedger)
    go: Event = field(default_factory=Event)
    groups: list[list[int]] = field(default_factory=list)
    error: Exception | None = None

    def answer(self, group: Sequence[Request]) -> list[int]:
        self.groups.append([len(one.rows) for one in group])
        assert self.go.wait(10)
        if self.error is not None:
            raise self.error
        return [len(one.rows) for one in group]


def desk_of(clerk: SlowClerk, *, most_waiting: int = 100, most_in_group: int = 10) -> Desk:
    desk = Desk(clerk, most_waiting=most_waiting, most_in_group=most_in_group)
    desk.start()
    return desk


async def begun(clerk: SlowClerk) -> None:
    while not clerk.groups:
        await asyncio.sleep(0.001)


def test_what_waits_is_one_group_and_no_group_is_too_large() -> None:
    async def scene() -> None:
        clerk = SlowClerk()
        desk = desk_of(clerk)
        first = asyncio.create_task(desk.ask(Request([0])))
        await begun(clerk)
        others = [asyncio.create_task(desk.ask(Request([0] * n))) for n in (3, 3, 3, 3, 25, 1)]
        await asyncio.sleep(0)
        assert desk.waiting == 39
        clerk.go.set()
        assert await asyncio.gather(first, *others) == [1, 3, 3, 3, 3, 25, 1]
        assert clerk.groups == [[1], [3, 3, 3], [3], [25], [1]]
        assert desk.waiting == 0
        await desk.close()

    asyncio.run(scene())


def test_more_than_may_wait_is_turned_away() -> None:
    async def scene() -> None:
        clerk = SlowClerk()
        desk = desk_of(clerk, most_waiting=5)
        waiting = asyncio.create_task(desk.ask(Request([0] * 5)))
        await begun(clerk)
        with pytest.raises(Overloaded):
            await desk.ask(Request([0]))
        clerk.go.set()
        assert await waiting == 5
        assert await desk.ask(Request([0] * 5)) == 5
        await desk.close()

    asyncio.run(scene())


def test_a_failure_is_told_to_its_group_and_the_desk_goes_on() -> None:
    async def scene() -> None:
        clerk = SlowClerk(error=LedgerError("the disk is full"))
        clerk.go.set()
        desk = desk_of(clerk)
        for _ in range(2):
            with pytest.raises(LedgerError, match="the disk is full"):
                await desk.ask(Request([0]))
        with pytest.raises(LedgerError, match="no plan yet"):
            await desk.consult(lambda ledger: ledger.head)
        clerk.error = None
        assert await desk.ask(Request([0, 0])) == 2
        assert desk.waiting == 0
        await desk.close()

    asyncio.run(scene())


def test_a_caller_that_goes_away_leaves_its_question_behind() -> None:
    async def scene() -> None:
        clerk = SlowClerk()
        desk = desk_of(clerk)
        gone = asyncio.create_task(desk.ask(Request([0])))
        await begun(clerk)
        gone.cancel()
        with pytest.raises(asyncio.CancelledError):
            await gone
        clerk.go.set()
        assert await desk.consult(lambda ledger: ledger.entries()) == []
        assert clerk.groups == [[1]]
        await desk.close()

    asyncio.run(scene())


def test_closing_finishes_what_waits_and_takes_nothing_more() -> None:
    async def scene() -> None:
        clerk = SlowClerk()
        desk = desk_of(clerk)
        asked = [asyncio.create_task(desk.ask(Request([0] * 6))) for _ in range(3)]
        await begun(clerk)
        closing = asyncio.create_task(desk.close())
        await asyncio.sleep(0)
        with pytest.raises(Closed):
            await desk.ask(Request([0]))
        clerk.go.set()
        await closing
        assert await asyncio.gather(*asked) == [6, 6, 6]
        await desk.close()

    asyncio.run(scene())
