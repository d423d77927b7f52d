"""What every request passes: the concurrency limit, the name of the host, headers, counters, the line in the log.

Pure ASGI, since this is on the way of every answer. Errors end here: what they say may quote a row, so neither a
caller nor a log ever sees their words.
"""

from __future__ import annotations

import logging
import traceback
from pathlib import Path
from typing import Any

import orjson
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mapl.service.metrics import Traffic
from mapl.service.problem import FAULT, OVERLOADED, WRONG_HOST, Problem, again_later, rendered
from mapl.service.settings import Settings

ACCESS = logging.getLogger("mapl.access")
FAULTS = logging.getLogger("mapl.faults")

HEADERS = (
    (b"cache-control", b"no-store"),
    (
        b"content-security-policy",
        b"default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    ),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
)
"""Sent with every response that does not say otherwise itself."""

UNLIMITED = ("/healthz", "/readyz")
"""Asked by whoever restarts servers; a busy one must not look dead."""

UNMATCHED = "unmatched"


class Guard:
    """Wraps the application."""

    def __init__(self, app: ASGIApp, *, settings: Settings, traffic: Traffic) -> None:
        self._app, self._settings, self._traffic = app, settings, traffic
        self._under_way = 0
        self._hosts = frozenset(host.lower().encode() for host in settings.hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        status = 0

        async def sent(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = _with_defaults(message["headers"])
            await send(message)

        self._under_way += 1
        try:
            refusal = self._refusal(scope)
            if refusal is None:
                await self._app(scope, receive, sent)
            else:
                await rendered(refusal)(scope, receive, sent)
        except ClientDisconnect:
            pass  # nobody is there to be told
        except Exception as error:
            FAULTS.error("%s", place_of(error))
            if not status:
                await rendered(Problem(FAULT, "The fault is in the server's log."))(scope, receive, sent)
        finally:
            self._under_way -= 1
            self._note(scope, status)

    def _refusal(self, scope: Scope) -> Problem | None:
        if self._hosts and _host(scope) not in self._hosts:
            return Problem(WRONG_HOST, "Call this server by one of the names it was started with.")
        if self._under_way > self._settings.most_requests and scope["path"] not in UNLIMITED:
            return again_later(OVERLOADED, "Too many requests are under way; send this one again later.")
        return None

    def _note(self, scope: Scope, status: int) -> None:
        route = getattr(scope.get("route"), "path", UNMATCHED)
        method = scope["method"] if route != UNMATCHED else "ANY"
        self._traffic.count(method, route, status)
        if self._settings.access_log:
            caller = scope.get("mapl.caller")
            line: dict[str, Any] = {"method": method, "route": route, "status": status, "caller": caller}
            ACCESS.info("%s", orjson.dumps(line).decode())


def place_of(error: BaseException) -> str:
    """Say where something failed without its words, which may quote private values."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} in {Path(frame.filename).name}, line {frame.lineno}"


def _host(scope: Scope) -> bytes:
    given = next((value for name, value in scope["headers"] if name == b"host"), b"")
    name, colon, port = given.lower().rpartition(b":")
    return bytes(name if colon and port.isdigit() else given.lower())


def _with_defaults(headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    given = {name for name, _ in headers}
    return [*headers, *(one for one in HEADERS if one[0] not in given)]
