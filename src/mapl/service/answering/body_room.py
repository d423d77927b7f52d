"""How much memory requests may take: bytes of bodies that are here, and what they are read into.

A few megabytes of JSON can become hundreds of megabytes of objects. What a body would become is estimated from the
number of its separators, which takes milliseconds, before anything is parsed.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field

from mapl.service.problem import OVERLOADED, TOO_LARGE, Problem, again_later

SHARE = 2
"""One caller may fill this part of the room for bodies, so that there is some left for others."""

SMALL = 64
"""What takes less than this part of the room need not wait in line for it."""

COST = {b",": 40, b"[": 80, b"{": 80, b'"': 32, b":": 64}
"""Bytes that a value of JSON takes in Python, by what it is separated or begun with; never less than it does."""


@dataclass(slots=True)
class BodyRoom:
    """Counts bytes. Bodies beyond the room are refused; parsing waits in line.

    Parameters
    ----------
    most
        How many bytes of bodies may be here at once, and how many bytes they may be read into at once.
    """

    most: int
    _received: Counter[str] = field(default_factory=Counter)
    _parsed: int = 0
    _line: deque[tuple[int, asyncio.Future[None]]] = field(default_factory=deque)

    @contextmanager
    def body(self, caller: str) -> Iterator[ArrivingBody]:
        """Hold the bytes of a body that arrives for as long as it is needed."""
        arriving = ArrivingBody(self, caller)
        try:
            yield arriving
        finally:
            self._received[caller] -= len(arriving.content)
            if not self._received[caller]:
                del self._received[caller]

    def add(self, caller: str, size: int) -> None:
        """Take in so many bytes of a caller's body, or refuse."""
        if self._received[caller] + size > self.most // SHARE or self._received.total() + size > self.most:
            raise again_later(OVERLOADED, "Too many large requests are under way; send this one again later.")
        self._received[caller] += size

    @asynccontextmanager
    async def parsing(self, body: bytearray) -> AsyncIterator[None]:
        """Wait until there is room for what a body is read into, and hold it; refuse what never fits."""
        cost = parsed_size(body)
        if cost > self.most:
            raise Problem(TOO_LARGE, "The body holds too many cells for one request; send fewer rows at once.")
        if not self._fits(cost) or (self._line and cost > self.most // SMALL):
            turn = asyncio.get_running_loop().create_future()
            self._line.append((cost, turn))
            try:
                await turn
            except asyncio.CancelledError:
                if turn.done() and not turn.cancelled():
                    self._free(cost)
                raise
        else:
            self._parsed += cost
        try:
            yield
        finally:
            self._free(cost)

    def _fits(self, cost: int) -> bool:
        return self._parsed + cost <= self.most

    def _free(self, cost: int) -> None:
        self._parsed -= cost
        while self._line and (self._line[0][1].done() or self._fits(self._line[0][0])):
            waited_for, turn = self._line.popleft()
            if not turn.done():
                self._parsed += waited_for
                turn.set_result(None)


@dataclass(slots=True, repr=False)
class ArrivingBody:
    """What has arrived of a body."""

    room: BodyRoom
    caller: str
    content: bytearray = field(default_factory=bytearray)

    def add(self, part: bytes) -> None:
        """Take in the next part of it."""
        self.room.add(self.caller, len(part))
        self.content += part


def parsed_size(body: bytearray) -> int:
    """Estimate how many bytes of memory a JSON text is read into; of other texts anything may be said.

    >>> parsed_size(bytearray(b'{"rows": [[1.5, null]]}'))
    431
    """
    wide = 1 if body.isascii() else 4
    return wide * len(body) + sum(cost * body.count(sign) for sign, cost in COST.items())
