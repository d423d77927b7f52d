"""GET of what is public about a run: its budget, plan, ledger and report."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import orjson
from starlette.requests import Request
from starlette.responses import Response

from mapl.errors import InvalidData
from mapl.service.answering.body import JSON
from mapl.service.answering.clerk import STAGE

if TYPE_CHECKING:
    from mapl.service.service import Service

MOST_RECORDS = 1000
LARGEST = 2**53 - 1
REPORT_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'; base-uri 'none'"
)


async def budget(request: Request) -> Response:
    """Tell what is spent and what is left; every epsilon is at this delta, for this adjacency and unit."""
    service: Service = request.app.state.service
    state = await service.desk.consult(lambda ledger: ledger.spending(STAGE))
    return _json(await asyncio.to_thread(service.prices.told, state))


async def plan(request: Request) -> Response:
    """Return the plan that was fixed before the first question, and the columns that a question has."""
    service: Service = request.app.state.service
    return Response(service.plan, media_type=JSON)


async def ledger(request: Request) -> Response:
    """Return entries of the public chain, oldest first; ask again after the last number until there are none."""
    service: Service = request.app.state.service
    after = _whole(request, "after", default=-1, least=-1, most=LARGEST)
    limit = _whole(request, "limit", default=100, least=1, most=MOST_RECORDS)
    records = await service.desk.consult(lambda book: book.records(after, limit))
    return _json({"entries": [record.public() for record in records]})


async def report(request: Request) -> Response:
    """Return the report of all answers so far as one HTML page."""
    service: Service = request.app.state.service
    page = await service.report()
    headers = {"Content-Security-Policy": REPORT_POLICY}
    return Response(page, headers=headers, media_type="text/html; charset=utf-8")


def _json(content: object) -> Response:
    return Response(orjson.dumps(content), media_type=JSON)


def _whole(request: Request, name: str, *, default: int, least: int, most: int) -> int:
    """Read a whole number from the query, given at most once."""
    given = request.query_params.getlist(name)
    if not given:
        return default
    text = given[0]
    if len(given) == 1 and len(text) < 20 and text.isascii() and text.removeprefix("-").isdecimal():
        value = int(text)
        if least <= value <= most:
            return value
    raise InvalidData(f"{name} must be one whole number from {least} to {most}.")
