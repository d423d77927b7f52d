"""The desk: one thread that owns the ledger and takes everything that waits as one group."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, Protocol, TypeVar

from mapl.release.online import OnlineLedger

T = TypeVar("T")

SHARE = 1.0
"""How much of the time that the last group took is spent on letting the next one gather, at most."""


class Questions(Protocol):
    """A request that holds some questions."""

    @property
    def rows(self) -> list[Any]: ...


class Group(Protocol):
    """Who answers a group of requests; `ledger` is used by the desk's thread only."""

    ledger: OnlineLedger

    def answer(self, group: Sequence[Any]) -> Sequence[Any]: ...


class Overloaded(Exception):
    """More questions wait than are allowed to."""


class Closed(Exception):
    """The desk takes nothing any more."""


@dataclass(frozen=True, slots=True, repr=False)
class _Job:
    """A request of so many questions, or (with none) some other work with the ledger."""

    content: Any
    size: int
    done: asyncio.Future[Any]


class Desk:
    """Lets an event loop ask; while one group is voted on and recorded, the next one gathers.

    The group of all requests that wait is one entry of the ledger and one write to the disk, so a busy server
    pays for durability once per group.

    Parameters
    ----------
    most_waiting
        How many questions may wait or be at work.
    most_in_group
        How many questions a group has at most, unless a single request has more.
    """

    def __init__(self, clerk: Group, *, most_waiting: int, most_in_group: int) -> None:
        self._clerk, self._most_waiting, self._most_in_group = clerk, most_waiting, most_in_group
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._waiting = 0  # changed on the event loop's thread only
        self._expected, self._patience = 0, 0.0
        self._open = True
        self._thread = Thread(target=self._work, name="mapl desk", daemon=True)

    def start(self) -> None:
        self._thread.start()

    @property
    def waiting(self) -> int:
        """How many questions wait or are at work."""
        return self._waiting

    async def ask(self, request: Questions) -> Any:
        """Have a request answered; what the clerk returns for it is returned here.

        Raises Overloaded or Closed where it is not taken at all, and whatever the clerk raised for its group.
        """
        size = len(request.rows)
        if self._waiting + size > self._most_waiting:
            raise Overloaded
        self._waiting += size
        try:
            # A caller that goes away does not take its question back: it may be recorded already.
            return await asyncio.shield(self._handed_in(request, size))
        finally:
            self._waiting -= size

    async def consult(self, work: Callable[[OnlineLedger], T]) -> T:
        """Do something with the ledger between two groups."""
        result: T = await self._handed_in(work, 0)
        return result

    def _handed_in(self, content: Any, size: int) -> asyncio.Future[Any]:
        if not self._open:
            raise Closed
        done = asyncio.get_running_loop().create_future()
        # If its caller has gone, asyncio would log the words of an error, which may quote a row.
        done.add_done_callback(lambda settled: settled.cancelled() or settled.exception())
        self._jobs.put(_Job(content, size, done))
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
        taken: deque[_Job] = deque()
        going = True
        while going or taken:
            going = self._gather(taken, wait=going and not taken) and going
            group: list[_Job] = []
            size = 0
            while taken and taken[0].size and (not group or size + taken[0].size <= self._most_in_group):
                size += taken[0].size
                group.append(taken.popleft())
            if group:
                self._answer(group)
            elif taken:
                job = taken.popleft()
                _deliver([job], [_attempt(partial(job.content, self._clerk.ledger))])

    def _gather(self, taken: deque[_Job], *, wait: bool) -> bool:
        """Take what waits, for as long as there is nothing; return False when the last job was taken.

        Callers that were just answered mostly ask again. A moment is spent on waiting for as many as asked at once
        before, since otherwise they would fall apart into two groups that wait for each other, for ever.
        """
        deadline = None
        with contextlib.suppress(Empty):
            while True:
                job = self._jobs.get(timeout=None if wait else self._left(deadline, len(taken)))
                if job is None:
                    return False
                taken.append(job)
                wait = False
                deadline = time.monotonic() + self._patience if deadline is None else deadline
        return True

    def _left(self, deadline: float | None, taken: int) -> float:
        """Return how many seconds the next job is waited for."""
        if deadline is None or taken >= self._expected:
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
