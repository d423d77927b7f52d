"""Reading a request's body: so many bytes in so many seconds, JSON, and nothing but rows."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Any

import orjson
from starlette.requests import Request

from mapl.errors import InvalidData
from mapl.service.access.keys import keyed_digest
from mapl.service.problem import MALFORMED, NOT_JSON, TOO_LARGE, TOO_SLOW, Problem

if TYPE_CHECKING:
    from mapl.service.service import Service

LARGE = 1 << 16
"""Bytes that take so long to parse that the event loop should do something else meanwhile."""

JSON = "application/json"


def json_body(request: Request) -> AbstractAsyncContextManager[bytearray]:
    """Read a body of JSON as far as it is allowed to go, and hold it."""
    service: Service = request.app.state.service
    kind = request.headers.get("content-type", "")
    if kind != JSON and kind.partition(";")[0].strip().lower() != JSON:
        raise Problem(NOT_JSON, f"Send the body as {JSON}.")
    return body_of(request, most=service.settings.most_body_bytes)


@asynccontextmanager
async def body_of(request: Request, *, most: int) -> AsyncIterator[bytearray]:
    """Read a body within limits of size and time, and hold it; nothing is parsed before all of it is here."""
    service: Service = request.app.state.service
    caller, settings = request.scope.get("mapl.caller"), service.settings
    declared = request.headers.get("content-length", "0")
    if not declared.isdecimal() or int(declared) > most:
        raise _too_large(most)
    with service.room.body(caller or "") as arriving:
        try:
            async with asyncio.timeout(settings.head_seconds if caller is None else settings.body_seconds):
                async for part in request.stream():
                    if len(arriving.content) + len(part) > most:
                        raise _too_large(most)
                    arriving.add(part)
        except TimeoutError:
            raise Problem(
                TOO_SLOW, "The body did not arrive in time; send it again, or in smaller parts."
            ) from None
        yield arriving.content


@asynccontextmanager
async def rows_in(request: Request, body: bytearray) -> AsyncIterator[list[Any]]:
    """Parse the rows that a body holds, when there is room for them, and hold them."""
    service: Service = request.app.state.service
    async with service.room.parsing(body):
        most = service.settings.most_rows
        rows = _rows(body, most) if len(body) < LARGE else await asyncio.to_thread(_rows, body, most)
        if len(rows) > 1:
            service.entrance.charge(request.scope["mapl.caller"], len(rows) - 1)
        yield rows


def digest_of(secret: bytes, body: bytes | bytearray) -> bytes:
    """Return 32 bytes that stand for a body; keyed, so that nobody can try out bodies."""
    return keyed_digest(secret, body)


def _rows(body: bytearray, most: int) -> list[Any]:
    try:
        content = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise Problem(
            MALFORMED,
            "The body is not JSON in UTF-8, or it holds NaN or a number that is too large; null is a missing cell.",
        ) from None
    if not isinstance(content, dict) or content.keys() != {"rows"} or not isinstance(content["rows"], list):
        raise InvalidData('The body must be {"rows": [...]} and hold nothing else.')
    rows: list[Any] = content["rows"]
    if not 1 <= len(rows) <= most:
        raise InvalidData(f"There are {len(rows)} rows; send 1 to {most} at once.")
    return rows


def _too_large(most: int) -> Problem:
    return Problem(TOO_LARGE, f"The body may have up to {most} bytes; send the rows in several requests.")
