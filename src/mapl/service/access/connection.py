"""A connection with limits: heads and bodies that do not end are cut, and so is whoever does not read a reply.

uvicorn waits for a head, for the rest of a refused body and for a reader as long as they like to take; behind a
proxy that is the proxy's care, but a server must stand without one.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable
from functools import partial
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from mapl.service.problem import MEDIA_TYPE, OVERLOADED, again_later, render_problem
from mapl.service.settings import ServerSettings

MOST_HEAD_BYTES = 64 << 10
REFUSED = (
    b"HTTP/1.1 %b\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: 0\r\nconnection: close\r\n"
    b"retry-after: 1\r\n\r\n"
)
TOO_LONG = REFUSED % b"431 Request Header Fields Too Large"
TOO_LATE = REFUSED % b"408 Request Timeout"

_FULL = bytes(render_problem(again_later(OVERLOADED, "The server is too busy; send the request again later.")).body)
FULL = (
    b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: %b\r\ncontent-length: %d\r\nconnection: close\r\n"
    b"cache-control: no-store\r\nretry-after: 1\r\n\r\n%b"
) % (MEDIA_TYPE.encode(), len(_FULL), _FULL)
"""Said to whoever comes when all places are taken, before the request is read."""

DAWDLING = 1.0
"""Seconds that a connection may wait for its request without being the one that goes where places are needed."""

TURNED_AWAY = 2
"""So many times the most connections are open while some of them are being told that there is no place."""


def protocol_within(settings: ServerSettings) -> Any:
    """Return what uvicorn takes for its `http`: how connections with these limits are made."""
    return partial(LimitedConnection, limits=settings, places=Places(settings.most_connections))


class Places:
    """Who gives way when more connections are open than there are places; one for all connections of a worker."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._looks_again = 0.0

    def longest_dawdler(self, connections: Iterable[Any]) -> LimitedConnection | None:
        """Return who has waited longest without a whole request, if anybody dawdles.

        Looking through thousands for every one that comes would cost more than they do; where nobody was found,
        nobody is for a moment.
        """
        now = time.monotonic()
        if now < self._looks_again:
            return None
        found = [one for one in connections if isinstance(one, LimitedConnection) and one.dawdles(now)]
        if not found:
            self._looks_again = now + DAWDLING / 20
        return min(found, key=lambda one: one.waits_since, default=None)


class LimitedConnection(HttpToolsProtocol):
    """One connection. A deadline runs while a head, or what is left of a refused body, is waited for.

    Another one runs while a reply is not read: further requests that come meanwhile must not end it.
    """

    def __init__(self, *given: Any, limits: ServerSettings, places: Places, **named: Any) -> None:
        super().__init__(*given, **named)
        self.limits, self._places = limits, places
        self._turned_away = False
        self.whole = False  # whether a request is here to its last byte
        self.waits_since = time.monotonic()  # for bytes of its other side
        self._in_head, self._head_bytes = True, 0
        self._deadline: asyncio.TimerHandle | None = None
        self._unread: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._await_head()
        if len(self.connections) > self._places.most:
            self._find_place()

    def connection_lost(self, exc: Exception | None) -> None:
        self._set_deadline(None)
        self._reads_again()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._turned_away:
            return  # it is taken from the wire: a connection that ends with unread bytes loses what was said
        super().data_received(data)
        if self._in_head:
            self._head_bytes += len(data)
            if self._head_bytes > MOST_HEAD_BYTES and not self.transport.is_closing():
                self._refuse(TOO_LONG)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._await_head()

    def on_headers_complete(self) -> None:
        self._in_head, self._head_bytes = False, 0
        self._set_deadline(None)
        super().on_headers_complete()

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._in_head:  # nobody needs what may follow a body
            super().on_header(name, value)

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self.whole = True
        if self.cycle.response_complete:  # the rest of a refused body has come after all
            self._set_deadline(None)
            self.on_response_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if not self.whole:  # the other side may read the refusal while it still sends, for a while
            self._unset_keepalive_if_required()
            self._set_deadline(self.limits.head_seconds)
        self.waits_since = time.monotonic()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._reads_again()
        self._unread = self.loop.call_later(self.limits.body_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._reads_again()

    def shutdown(self) -> None:
        """End what is not a whole request: nobody has begun to answer it."""
        if self.cycle is not None and not self.cycle.response_complete and not self.whole:
            self.transport.close()
        else:
            super().shutdown()

    @property
    def idle(self) -> bool:
        """Whether no whole request is being answered here."""
        return self.cycle is None or self.cycle.response_complete or not self.whole

    def _await_head(self) -> None:
        self.whole, self._in_head = False, True
        self.waits_since = time.monotonic()
        self._set_deadline(self.limits.head_seconds)

    def dawdles(self, now: float) -> bool:
        """Say whether it sends a request in bits, or none for a while; what came just now may not be read yet."""
        return not self._turned_away and self.idle and (self._head_bytes > 0 or now - self.waits_since > DAWDLING)

    def _find_place(self) -> None:
        """Take the place of whoever dawdles; where nobody does, this one is told to come again."""
        other = self._places.longest_dawdler(self.connections)
        if other is not None:
            other.give_way()
        elif len(self.connections) > TURNED_AWAY * self._places.most:
            self.give_way()
        else:
            self._turned_away = True
            self.transport.write(FULL)
            self.transport.write_eof()
            self._set_deadline(DAWDLING)  # for the other side to read it, and to end

    def give_way(self) -> None:
        """End at once; whoever has sent nothing that was read is told why, though it may be lost on the way."""
        between_requests = self.cycle is None or (self.cycle.response_complete and self.whole)
        if between_requests and not self._head_bytes:
            self._refuse(FULL)
        else:
            self.transport.abort()

    def _reads_again(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
        self._unread = None

    def _set_deadline(self, seconds: float | None) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline = None if seconds is None else self.loop.call_later(seconds, self._too_late)

    def _too_late(self) -> None:
        if self._in_head and self._head_bytes and not self.transport.is_closing():
            self._refuse(TOO_LATE)
        else:
            self.transport.abort()

    def _refuse(self, said: bytes) -> None:
        self._set_deadline(None)
        self.transport.write(said)
        self.transport.close()
