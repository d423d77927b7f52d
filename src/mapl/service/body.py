"""Reading a request's body: so many bytes, JSON, and nothing but rows."""

from __future__ import annotations

import asyncio
import hmac
from hashlib import sha256
from typing import Any

import orjson
from starlette.requests import Request

from mapl.errors import InvalidData
from mapl.service.problem import MALFORMED, NOT_JSON, TOO_LARGE, Problem
from mapl.service.settings import Settings

LARGE = 1 << 16
"""Bytes that take so long to parse that the event loop should do something else meanwhile."""

JSON = "application/json"


async def body_of(request: Request, settings: Settings) -> bytes:
    """Read the body as far as it is allowed to go."""
    kind = request.headers.get("content-type", "")
    if kind != JSON and kind.partition(";")[0].strip().lower() != JSON:
        raise Problem(NOT_JSON, f"Send the body as {JSON}.")
    most = settings.most_body_bytes
    declared = request.headers.get("content-length", "0")
    if not declared.isdecimal() or int(declared) > most:
        raise _too_large(most)
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > most:
            raise _too_large(most)
        parts.append(part)
    return b"".join(parts)


async def rows_of(body: bytes, settings: Settings) -> list[Any]:
    """Return the rows that a body holds."""
    if len(body) < LARGE:
        return _rows(body, settings.most_rows)
    return await asyncio.to_thread(_rows, body, settings.most_rows)


def digest_of(secret: bytes, body: bytes) -> bytes:
    """Return 32 bytes that stand for a body; keyed, so that nobody can try out bodies."""
    return hmac.digest(secret, body, sha256)


def _rows(body: bytes, most: int) -> list[Any]:
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
