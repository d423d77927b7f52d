"""What every request passes: the name of the host, headers, counters, the line in the log.

Pure ASGI, since this is on the way of every answer. Errors end here: what they say may quote a row, so neither a
caller nor a log ever sees their words.
"""

from __future__ import annotations

import logging
import re
import secrets
import time
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mapl.service.problem import FAULT, WRONG_HOST, Problem, render_problem
from mapl.service.settings import ServerSettings
from mapl.service.watching.log_lines import FIELDS
from mapl.service.watching.metrics import Traffic
from mapl.service.watching.spans import Spans

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

REQUEST_ID = b"x-request-id"
"""A request may bring an id along, as proxies do; it stands in the log, and goes back with the reply."""

GIVEN_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")

UNMATCHED = "unmatched"


class Guard:
    """Wraps the application.

    Parameters
    ----------
    straight
        By method and path, who serves what need not pass through the application.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        settings: ServerSettings,
        traffic: Traffic,
        spans: Spans | None = None,
        straight: Mapping[tuple[str, str], ASGIApp] | None = None,
    ) -> None:
        self._app, self._settings, self._traffic, self._spans = app, settings, traffic, spans
        self._straight = straight or {}
        self._hosts = frozenset(host.lower().encode() for host in settings.hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        status, began, request = 0, seconds(), request_id(scope)

        async def sent(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*_with_defaults(message["headers"]), (REQUEST_ID, request.encode())]
            await send(message)

        try:
            refusal = self._refusal(scope)
            if refusal is None:
                await self._way(scope)(scope, receive, sent)
            else:
                await render_problem(refusal)(scope, receive, sent)
        except ClientDisconnect:
            pass  # nobody is there to be told
        except Exception as error:
            FAULTS.error("%s", place_of(error), extra={FIELDS: {"request": request}})
            if not status:
                await render_problem(Problem(FAULT, "The fault is in the server's log."))(scope, receive, sent)
        finally:
            self._note(scope, status, request, seconds() - began)

    def _way(self, scope: Scope) -> ASGIApp:
        """Return who serves a request: the application, or for some methods and paths a straight way."""
        path = scope["path"].removeprefix(scope.get("root_path", ""))
        return self._straight.get((scope["method"], path), self._app)

    def _refusal(self, scope: Scope) -> Problem | None:
        if self._hosts and _host(scope) not in self._hosts:
            return Problem(WRONG_HOST, "Call this server by one of the names it was started with.")
        return None

    def _note(self, scope: Scope, status: int, request: str, took: float) -> None:
        route = getattr(scope.get("route"), "path", UNMATCHED)
        method = scope["method"] if route != UNMATCHED else "ANY"
        self._traffic.count(method, route, status, took)
        if self._spans is not None:
            self._spans.note(method, route, status, took)
        if self._settings.access_log:
            line: dict[str, Any] = {"method": method, "route": route, "status": status}
            line |= {"caller": scope.get("mapl.caller"), "request": request, "milliseconds": round(1000 * took, 1)}
            ACCESS.info("%s", "request", extra={FIELDS: line})


def seconds() -> float:
    """Return the time by which requests are measured."""
    return time.perf_counter()


def request_id(scope: Scope) -> str:
    """Return the id that a request came with, or a new one."""
    given = next((value for name, value in scope["headers"] if name == REQUEST_ID), b"")
    return str(given.decode()) if GIVEN_ID.fullmatch(given) else secrets.token_hex(8)


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
