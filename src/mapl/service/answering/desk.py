"""The desk: one thread that owns the ledger and takes what waits as one group, callers in turns."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence, Sized
from dataclasses import dataclass
from functools import partial
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, Protocol, TypeVar

from mapl.release.ledger.inquiries import OnlineLedger
from mapl.service.answering.turns import Turns

T = TypeVar("T")

SHARE = 1.0
"""How much of the time that the last group took is spent on letting the next one gather, at most."""

RECENT = 1.0
"""Seconds for which somebody who was answered counts as one who asks."""

WORK_AT_ONCE = 512
"""Work between two groups takes as long as reading so many questions, or is one thing."""


class Questions(Protocol):
    """A request that holds some questions of somebody."""

    @property
    def caller(self) -> str: ...

    @property
    def rows(self) -> Sized: ...


class WaitingGroup(Protocol):
    """Who answers a group of requests; `ledger` is used by the desk's thread only."""

    ledger: OnlineLedger

    def answer(self, group: Sequence[Any]) -> Sequence[Any]: ...


class Overloaded(Exception):
    """More questions of a caller wait than are allowed to."""


class Closed(Exception):
    """The desk takes nothing any more."""


@dataclass(frozen=True, slots=True, repr=False)
class _Job:
    """A request of so many questions, or some other work with the ledger that takes as long as so many."""

    content: Any
    caller: str
    size: int
    line: Turns[_Job]
    done: asyncio.Future[Any]


class Desk:
    """Lets an event loop ask; while one group is voted on and recorded, the next one gathers.

    The group of all requests that wait is one entry of the ledger and one write to the disk, so a busy server
    pays for durability once per group. Callers take turns in it. Whoever sends large requests has them cut into
    slices (`answering.bulk`), one of which waits at a time: small requests come first, then one slice of somebody,
    then whatever is small and came meanwhile.

    Parameters
    ----------
    most_waiting
        How many questions of one caller may wait or be at work.
    most_in_group
        How many questions a group has at most, unless a single request has more.
    """

    def __init__(self, clerk: WaitingGroup, *, most_waiting: int, most_in_group: int) -> None:
        self._clerk, self._most_waiting, self._most_in_group = clerk, most_waiting, most_in_group
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._waiting: Counter[str] = Counter()  # changed on the event loop's thread only
        self._latest: dict[str, float] = {}  # when callers asked last; also there only
        # Used by the desk's thread only.
        self._asks, self._works, self._slices = Turns[_Job](), Turns[_Job](), Turns[_Job]()
        self._expected, self._patience = 0, 0.0
        self._open = True
        self._thread = Thread(target=self._work, name="mapl desk", daemon=True)

    def start(self) -> None:
        self._thread.start()

    @property
    def waiting(self) -> int:
        """How many questions wait or are at work."""
        return self._waiting.total()

    def alone(self, caller: str) -> bool:
        """Say whether nobody else has questions here, or had some a moment ago: who asks mostly asks again."""
        if any(one != caller for one in self._waiting):
            return False
        since = time.monotonic() - RECENT
        self._latest = {one: at for one, at in self._latest.items() if at > since}
        return all(one == caller for one in self._latest)

    @contextlib.contextmanager
    def room(self, caller: str, size: int) -> Iterator[None]:
        """Count questions of a caller as waiting; Overloaded where they would be too many."""
        if self._waiting[caller] + size > self._most_waiting:
            raise Overloaded
        self._waiting[caller] += size
        try:
            yield
        finally:
            self._latest[caller] = time.monotonic()
            self._waiting[caller] -= size
            if not self._waiting[caller]:
                del self._waiting[caller]

    async def ask(self, request: Questions) -> Any:
        """Have a request answered, for which there is `room`; what the clerk returns for it is returned here.

        Raises Closed where it is not taken at all, and whatever the clerk raised for its group.
        """
        # A caller that goes away does not take its question back: it waits in its line, or is recorded already.
        return await self._handed_in(request, request.caller, len(request.rows), asks=True)

    async def consult(
        self, work: Callable[[OnlineLedger], T], *, caller: str = "", size: int = 1, bulk: bool = False
    ) -> T:
        """Do something with the ledger between two groups, when it is its caller's turn; `bulk` comes last."""
        result: T = await self._handed_in(work, caller, size, bulk=bulk)
        return result

    def _handed_in(
        self, content: Any, caller: str, size: int, *, asks: bool = False, bulk: bool = False
    ) -> asyncio.Future[Any]:
        if not self._open:
            raise Closed
        done = asyncio.get_running_loop().create_future()
        # If its caller has gone, asyncio would log the words of an error, which may quote a row.
        done.add_done_callback(lambda settled: settled.cancelled() or settled.exception())
        line = self._asks if asks else self._slices if bulk else self._works
        self._jobs.put(_Job(content, caller, size, line, done))
        return done

    async def close(self) -> None:
        """Take nothing more, finish what waits, and close the ledger."""
        if self._open:
            self._open = False
            self._jobs.put(None)
            await asyncio.to_thread(self._end)

    def _end(self) -> None:
        self._thread.join()
        self._clerk.ledger.close()

    def _work(self) -> None:
        going = True
        while going or self._waits():
            going = self._gather(wait=going and not self._waits()) and going
            group = self._asks.take(self._most_in_group)
            if group:
                self._answer(group)
            for job in (*self._works.take(WORK_AT_ONCE), *self._slices.take(1)):
                _deliver([job], [_attempt(partial(job.content, self._clerk.ledger))])

    def _waits(self) -> bool:
        return bool(self._asks or self._works or self._slices)

    def _gather(self, *, wait: bool) -> bool:
        """Take what waits, for as long as there is nothing; return False when the last job was taken.

        Callers that were just answered mostly ask again. A moment is spent on waiting for as many as asked at once
        before, since otherwise they would fall apart into two groups that wait for each other, for ever.
        """
        deadline = None
        with contextlib.suppress(Empty):
            while True:
                here = len(self._asks) + len(self._works)
                job = self._jobs.get(timeout=None if wait else self._left(deadline, here))
                if job is None:
                    return False
                job.line.put(job.caller, job, job.size)
                wait = False
                deadline = time.monotonic() + self._patience if deadline is None else deadline
        return True

    def _left(self, deadline: float | None, taken: int) -> float:
        """Return how many seconds the next job is waited for; none where there is something to do meanwhile."""
        if deadline is None or taken >= self._expected or self._slices:
            return 0.0
        return max(0.0, deadline - time.monotonic())

    def _answer(self, group: list[_Job]) -> None:
        began = time.monotonic()
        outcome = _attempt(lambda: self._clerk.answer([job.content for job in group]))
        outcomes = [outcome] * len(group) if isinstance(outcome, _Failed) else outcome
        self._patience = SHARE * (time.monotonic() - began)
        self._expected = len(group) + self._jobs.qsize()
        _deliver(group, outcomes)


@dataclass(frozen=True, slots=True)
class _Failed:
    error: Exception


def _attempt(work: Callable[[], T]) -> T | _Failed:
    try:
        return work()
    except Exception as error:
        return _Failed(error)


def _deliver(jobs: Sequence[_Job], outcomes: Sequence[Any]) -> None:
    """Hand results over to the event loop, all in one call; nobody is there any more if it has ended."""
    with contextlib.suppress(RuntimeError):
        jobs[0].done.get_loop().call_soon_threadsafe(_settle, list(jobs), list(outcomes))


def _settle(jobs: list[_Job], outcomes: list[Any]) -> None:
    for job, outcome in zip(jobs, outcomes, strict=True):
        if job.done.done():
            continue
        if isinstance(outcome, _Failed):
            job.done.set_exception(outcome.error)
        else:
            job.done.set_result(outcome)
