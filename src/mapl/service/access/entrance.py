"""Who may come in: an API key in the header, or for the page's own routes a session; then scope and rate."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import Response

from mapl.release.ledger.inquiries import KeyRecord
from mapl.service.access.keys import KeyMaker
from mapl.service.access.rate import Buckets
from mapl.service.access.sessions import COOKIE, Session, Sessions
from mapl.service.problem import FORBIDDEN, TOO_MANY, UNAUTHENTICATED, Problem, again_later

if TYPE_CHECKING:
    from mapl.service.answering.desk import Desk
    from mapl.service.settings import ServerSettings

FRESH = 0.25
"""Seconds that the table of keys is kept in memory: a revoked key ends this much later at the latest."""

BEARER = "bearer "

Endpoint = Callable[[Request], Coroutine[Any, Any, Response]]


class Entrance:
    """Recognises callers by the ledger's table of keys, and lets each in so often."""

    def __init__(
        self, desk: Desk, service_key: bytes, settings: ServerSettings, shared: Path | None = None
    ) -> None:
        self.maker = KeyMaker.of(service_key)
        self.sessions = Sessions.of(service_key, shared)
        self._desk = desk
        self._buckets = Buckets(settings.rows_per_second, settings.burst)
        self._most_requests = settings.most_requests
        self._under_way: Counter[str] = Counter()
        self._records: Mapping[str, KeyRecord] = {}
        self._read_at = float("-inf")
        self._reading: asyncio.Task[None] | None = None

    async def bearer(self, request: Request) -> KeyRecord:
        """Return whose key the Authorization header holds, or refuse."""
        header = request.headers.get("authorization", "")
        if not header[: len(BEARER)].lower() == BEARER:
            raise _unknown("Send an API key in the header Authorization: Bearer mapl_...")
        return await self.owner(header[len(BEARER) :].strip())

    async def owner(self, token: str) -> KeyRecord:
        """Return whose API key this is, or refuse."""
        record = self.maker.recognised(token, await self._table(), now=time.time())
        if record is None:
            raise _unknown(
                "This API key is unknown, was revoked or has ended; ask whoever runs this server for another one."
            )
        return record

    async def signed_in(self, request: Request) -> KeyRecord | None:
        """Return who has signed in on the page, or None; a key that ends takes its sessions with it."""
        session = self.session(request)
        record = None if session is None else (await self._table()).get(session.key_id)
        return None if record is None or not record.valid(time.time()) else record

    def session(self, request: Request) -> Session | None:
        """Return the session of a request's cookie, whatever has become of its key."""
        return self.sessions.read(request.cookies.get(COOKIE, ""), now=time.time())

    @contextmanager
    def let_in(self, record: KeyRecord, scopes: tuple[str, ...]) -> Iterator[None]:
        """Count a request of a caller as under way; refuse one without a scope, too many, or too fast ones."""
        caller = record.id
        if not any(scope in record.scopes for scope in scopes):
            raise Problem(FORBIDDEN, f"This needs an API key with the scope {' or '.join(scopes)}.")
        if self._under_way[caller] >= self._most_requests:
            raise again_later(TOO_MANY, "Too many requests of this API key are under way; send this one later.")
        self.charge(caller, 1)
        self._under_way[caller] += 1
        try:
            yield
        finally:
            self._under_way[caller] -= 1
            if not self._under_way[caller]:
                del self._under_way[caller]

    def charge(self, caller: str, rows: int) -> None:
        """Count rows of a caller, or refuse them where they come too fast."""
        seconds = self._buckets.take(caller, rows, time.monotonic())
        if seconds:
            raise again_later(
                TOO_MANY, "Rows of this API key come too fast; slow down and send them again.", seconds
            )

    def forget(self) -> None:
        """Look at the table of keys again before the next call."""
        self._read_at = float("-inf")

    async def _table(self) -> Mapping[str, KeyRecord]:
        """Return all keys by id. Reading them all makes an unknown id cost what a known one does."""
        if time.monotonic() - self._read_at > FRESH:
            if self._reading is None:
                self._reading = asyncio.create_task(self._read())
            await asyncio.shield(self._reading)
        return self._records

    async def _read(self) -> None:
        try:
            begun = time.monotonic()
            records = await self._desk.consult(lambda ledger: ledger.keys())
            self._records, self._read_at = {record.id: record for record in records}, begun
        finally:
            self._reading = None


def admit_keys(endpoint: Endpoint, scopes: tuple[str, ...]) -> Endpoint:
    """Return an endpoint for keys with one of these scopes, shown in the header."""

    @wraps(endpoint)
    async def admitted(request: Request) -> Response:
        entrance: Entrance = request.app.state.service.entrance
        record = await entrance.bearer(request)
        request.scope["mapl.caller"] = record.id
        with entrance.let_in(record, scopes):
            return await endpoint(request)

    return admitted


def allow_on_page(*scopes: str) -> Callable[[Request], AsyncIterator[KeyRecord]]:
    """Return the dependency of one of the page's own routes: a session's cookie, or a key in the header.

    No other route looks at cookies, so a foreign page cannot make a browser call the API with one.
    """

    async def signed_in(request: Request) -> AsyncIterator[KeyRecord]:
        entrance: Entrance = request.app.state.service.entrance
        record = await entrance.signed_in(request)
        if record is None:
            record = await entrance.bearer(request)
        request.scope["mapl.caller"] = record.id
        with entrance.let_in(record, scopes):
            yield record

    return signed_in


def _unknown(detail: str) -> Problem:
    return Problem(UNAUTHENTICATED, detail, headers={"WWW-Authenticate": "Bearer"})
