"""What the page's forms send: names and texts, and how they become a question."""

from __future__ import annotations

import asyncio
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from starlette.requests import Request

from mapl.data.column import Column
from mapl.data.schema import Schema
from mapl.errors import InvalidData
from mapl.service.problem import FORBIDDEN, MALFORMED, TOO_LARGE, Problem

MOST_BYTES = 1 << 20
MOST_FIELDS = 2_000
PATIENCE = 5.0
"""Seconds that a form may take to arrive: anybody may begin to send one, and it counts as a request under way."""

Fields = dict[str, list[str]]


async def fields_of(request: Request) -> Fields:
    """Read the fields of a form that this server's own page sent."""
    if not _from_here(request):
        raise Problem(FORBIDDEN, "This form was sent from another site.")
    try:
        async with asyncio.timeout(PATIENCE):
            body = await _body(request)
    except TimeoutError:
        raise Problem(MALFORMED, "The form did not arrive in time; send it again.") from None
    fields: Fields = {}
    try:
        for name, value in parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=MOST_FIELDS):
            fields.setdefault(name, []).append(value)
    except ValueError:
        raise InvalidData("The form cannot be read; send it from this server's page.") from None
    return fields


async def _body(request: Request) -> bytes:
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > MOST_BYTES:
            raise Problem(TOO_LARGE, f"A form may have up to {MOST_BYTES} bytes.")
    return body


def only(fields: Fields, name: str) -> str:
    """Return the one value of a field, empty where there is none."""
    return fields.get(name, [""])[0].strip()


def question_of(fields: Fields, schema: Schema) -> dict[str, Any]:
    """Return the row that the form of questions describes; what was left empty is missing, but not everything."""
    row = {column.name: _cell(only(fields, f"column-{i}"), column) for i, column in enumerate(schema.columns)}
    if all(cell is None for cell in row.values()):
        raise InvalidData("Everything is missing, so nothing was asked or spent; fill in what you know.")
    return row


def _cell(text: str, column: Column) -> Any:
    if text == "":
        return None
    if column.kind != "number":
        return text
    try:
        return float(text)
    except ValueError:
        return text  # which the run refuses, in words about this column


def _from_here(request: Request) -> bool:
    """Say whether this server's own page sent the form, as far as a browser tells; cookies add to that."""
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        return site in ("same-origin", "none")
    origin = request.headers.get("origin")
    return origin is None or urlsplit(origin).netloc == request.headers.get("host", "")
