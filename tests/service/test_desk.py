"""The desk: groups form while others are answered, nothing waits without bound, and an end is orderly."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Event
from typing import Any

import pytest

from mapl.errors import LedgerError
from mapl.release.ledger.memory import MemoryLedger
from mapl.service.answering.desk import Closed, Desk, Overloaded


@dataclass(frozen=True)
class Request:
    rows: list[Any]
    caller: str = "ann"


@dataclass
class SlowClerk:
    """Answers each request with its number of rows, after it was let go."""

    ledger: Any = field(default_factory=MemoryLedger)
    go: Event = field(default_factory=Event)
    groups: list[list[int]] = field(default_factory=list)
    error: Exception | None = None

    def answer(self, group: Sequence[Request]) -> list[int]:
        self.groups.append([len(one.rows) for one in group])
        assert self.go.wait(300)
        if self.error is not None:
            raise self.error
        return [len(one.rows) for one in group]


def desk_of(clerk: SlowClerk, *, most_waiting: int = 100, most_in_group: int = 10) -> Desk:
    desk = Desk(clerk, most_waiting=most_waiting, most_in_group=most_in_group)
    desk.start()
    return desk


async def asked(desk: Desk, request: Request) -> Any:
    with desk.room(request.caller, len(request.rows)):
        return await desk.ask(request)


async def begun(clerk: SlowClerk) -> None:
    while not clerk.groups:
        await asyncio.sleep(0.001)


def test_what_waits_is_one_group_and_no_group_is_too_large() -> None:
    async def scene() -> None:
        clerk = SlowClerk()
        desk = desk_of(clerk)
        first = asyncio.create_task(asked(desk, Request([0])))
        await begun(clerk)
        others = [asyncio.create_task(asked(desk, Request([0] * n))) for n in (3, 3, 3, 3, 25, 1)]
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
        waiting = asyncio.create_task(asked(desk, Request([0] * 5)))
        await begun(clerk)
        with pytest.raises(Overloaded):
            await asked(desk, Request([0]))
        clerk.go.set()
        assert await waiting == 5
        assert await asked(desk, Request([0] * 5)) == 5
        await desk.close()

    asyncio.run(scene())


def test_a_failure_is_told_to_its_group_and_the_desk_goes_on() -> None:
    async def scene() -> None:
        clerk = SlowClerk(error=LedgerError("the disk is full"))
        clerk.go.set()
        desk = desk_of(clerk)
        for _ in range(2):
            with pytest.raises(LedgerError, match="the disk is full"):
                await asked(desk, Request([0]))
        with pytest.raises(LedgerError, match="no plan yet"):
            await desk.consult(lambda ledger: ledger.head)
        clerk.error = None
        assert await asked(desk, Request([0, 0])) == 2
        assert desk.waiting == 0
        await desk.close()

    asyncio.run(scene())


def test_a_caller_that_goes_away_leaves_its_question_behind() -> None:
    async def scene() -> None:
        clerk = SlowClerk()
        desk = desk_of(clerk)
        gone = asyncio.create_task(asked(desk, Request([0])))
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
        waiting = [asyncio.create_task(asked(desk, Request([0] * 6))) for _ in range(3)]
        await begun(clerk)
        closing = asyncio.create_task(desk.close())
        await asyncio.sleep(0)
        with pytest.raises(Closed):
            await asked(desk, Request([0]))
        clerk.go.set()
        await closing
        assert await asyncio.gather(*waiting) == [6, 6, 6]
        await desk.close()

    asyncio.run(scene())


def test_callers_take_turns_and_one_that_floods_fills_its_own_line_only(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene() -> None:
        clerk = SlowClerk()
        desk = desk_of(clerk, most_waiting=60)
        first = asyncio.create_task(asked(desk, Request([0])))
        await begun(clerk)
        flood = [asyncio.create_task(asked(desk, Request([0] * 10, "eve"))) for _ in range(6)]
        await asyncio.sleep(0)
        with pytest.raises(Overloaded):
            await asked(desk, Request([0], "eve"))
        others = [asyncio.create_task(asked(desk, Request([0, 0], name))) for name in ("bob", "cid")]
        await asyncio.sleep(0)
        assert desk.alone("eve") is False
        clerk.go.set()
        await asyncio.gather(first, *flood, *others)
        # Those who came last with little wait for one group of the flood, not for six.
        assert clerk.groups == [[1], [10], [2, 2], *[[10]] * 5]
        monkeypatch.setattr("mapl.service.answering.desk.RECENT", 300.0)
        assert desk.alone("eve") is False  # bob and cid may well ask again
        monkeypatch.setattr("mapl.service.answering.desk.RECENT", 0.0)
        assert desk.alone("eve") is True
        await desk.close()

    asyncio.run(scene())


def test_work_with_the_ledger_comes_between_groups_and_in_turns() -> None:
    async def scene() -> None:
        clerk = SlowClerk()
        desk = desk_of(clerk)
        first = asyncio.create_task(asked(desk, Request([0])))
        await begun(clerk)
        done: list[tuple[str, int]] = []

        def work(name: str) -> Any:
            def note(_: Any) -> None:
                done.append((name, len(clerk.groups)))

            return asyncio.create_task(desk.consult(note, caller=name[:3], size=400))

        works = [work(name) for name in ("eve 1", "eve 2", "eve 3", "bob 1")]
        question = asyncio.create_task(asked(desk, Request([0, 0])))
        await asyncio.sleep(0)
        clerk.go.set()
        await asyncio.gather(first, *works, question)
        assert done == [
            ("eve 1", 2),
            ("bob 1", 2),
            ("eve 2", 2),
            ("eve 3", 2),
        ]  # after two groups had been answered
        await desk.close()

    asyncio.run(scene())


def test_a_slice_comes_after_everything_small_and_only_one_at_a_time() -> None:
    async def scene() -> None:
        clerk = SlowClerk()
        desk = desk_of(clerk)
        first = asyncio.create_task(asked(desk, Request([0])))
        await begun(clerk)
        done: list[str] = []

        def slice_of(caller: str) -> Any:
            def work(_: Any) -> None:
                done.append(f"{caller} after {len(clerk.groups)}")
                if not late.is_set():
                    # While the first slice is at work, somebody small comes.
                    late.set()
                    assert here.wait(300)

            return asyncio.create_task(desk.consult(work, caller=caller, bulk=True))

        late, here = Event(), Event()
        slices = [slice_of("eve"), slice_of("eve"), slice_of("mallory")]
        small = asyncio.create_task(asked(desk, Request([0, 0], "bob")))
        looked = asyncio.create_task(desk.consult(lambda _: done.append("looked"), caller="cid"))
        await asyncio.sleep(0)
        clerk.go.set()
        await asyncio.to_thread(late.wait, 300)
        later = asyncio.create_task(asked(desk, Request([0] * 3, "bob")))
        await asyncio.sleep(0)
        here.set()
        await asyncio.gather(first, *slices, small, looked, later)
        assert clerk.groups == [[1], [2], [3]]
        assert done == ["looked", "eve after 2", "mallory after 3", "eve after 3"]
        await desk.close()

    asyncio.run(scene())
