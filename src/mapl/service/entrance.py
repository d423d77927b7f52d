"""Who may come in: an API key in the header, or for the page's own routes a session; then scope and rate."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Mapping
from functools import wraps
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import Response

from mapl.release.online import KeyRecord
from mapl.service.keys import KeyMaker
from mapl.service.problem import FORBIDDEN, TOO_MANY, UNAUTHENTICATED, Problem, again_later
from mapl.service.rate import Buckets
from mapl.service.sessions import COOKIE, Sessions

if TYPE_CHECKING:
    from mapl.service.desk import Desk
    from mapl.service.settings import Settings

FRESH = 0.25
"""Seconds that the table of keys is kept in memory: a revoked key ends this much later at the latest."""

BEARER = "bearer "

Endpoint = Callable[[Request], Coroutine[Any, Any, Response]]


class Entrance:
    """Recognises callers by the ledger's table of keys, and lets each in so often."""

    def __init__(self, desk: Desk, service_key: bytes, settings: Settings) -> None:
        self.maker = KeyMaker.of(service_key)
        self.sessions = Sessions.of(service_key)
        self._desk = desk
        self._buckets = Buckets(settings.requests_per_second, settings.burst)
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
        record = self.maker.recognised(token, await self._table())
        if record is None:
            raise _unknown("This API key is unknown or was revoked; ask whoever runs this server for another one.")
        return record

    async def signed_in(self, request: Request) -> KeyRecord | None:
        """Return who has signed in on the page, or None; a revoked key ends its sessions."""
        key_id = self.sessions.caller(request.cookies.get(COOKIE, ""), now=time.time())
        record = None if key_id is None else (await self._table()).get(key_id)
        return None if record is None or record.revoked else record

    def let_in(self, record: KeyRecord, scopes: tuple[str, ...]) -> None:
        """Refuse a caller without one of the scopes, or one that calls too often."""
        if not any(scope in record.scopes for scope in scopes):
            raise Problem(FORBIDDEN, f"This needs an API key with the scope {' or '.join(scopes)}.")
        if not self._buckets.take(record.id, time.monotonic()):
            raise again_later(TOO_MANY, "Calls of this API key come too fast; slow down and send it again.")

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


def admitting(endpoint: Endpoint, scopes: tuple[str, ...]) -> Endpoint:
    """Return an endpoint for keys with one of these scopes, shown in the header."""

    @wraps(endpoint)
    async def admitted(request: Request) -> Response:
        entrance: Entrance = request.app.state.service.entrance
        record = await entrance.bearer(request)
        request.scope["mapl.caller"] = record.id
        entrance.let_in(record, scopes)
        return await endpoint(request)

    return admitted


def allowed_on_page(*scopes: str) -> Callable[[Request], Coroutine[Any, Any, KeyRecord]]:
    """Return the dependency of one of the page's own routes: a session's cookie, or a key in the header.

    No other route looks at cookies, so a foreign page cannot make a browser call the API with one.
    """

    async def signed_in(request: Request) -> KeyRecord:
        entrance: Entrance = request.app.state.service.entrance
        record = await entrance.signed_in(request)
        if record is None:
            record = await entrance.bearer(request)
        request.scope["mapl.caller"] = record.id
        entrance.let_in(record, scopes)
        return record

    return signed_in


def _unknown(detail: str) -> Problem:
    return Problem(UNAUTHENTICATED, detail, headers={"WWW-Authenticate": "Bearer"})
