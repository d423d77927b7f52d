"""POST and GET of answers: the only routes that spend, and where a reply waits for its tick."""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Awaitable
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import Response

from mapl.errors import InvalidData
from mapl.release.ledger.inquiries import NOT_ASKED, Refused, Reply
from mapl.service.answering.body import JSON, LARGE, digest_of, json_body, rows_in
from mapl.service.answering.clerk import RowsAsked
from mapl.service.problem import CALLER_LIMIT, EXHAUSTED, NOT_FOUND, OTHER_BODY, Problem
from mapl.service.seen_entries import HEADER

if TYPE_CHECKING:
    from mapl.service.service import Service

NAME = "Idempotency-Key"
LONGEST_NAME = 255
ID = re.compile("[0-9a-f]{64}")

REFUSALS = {
    Refused.OTHER_BODY: (OTHER_BODY, f"Send the body that this {NAME} was used with, or choose another key."),
    Refused.CALLER_LIMIT: (
        CALLER_LIMIT,
        "This request has more new questions than this API key may still ask; it was not answered.",
    ),
}
Outcome = Reply | Refused | InvalidData

GONE = "No new question is answered any more. Questions that were answered before still are."


async def ask(request: Request) -> Response:
    """Answer questions privately; each new one spends from the budget that all callers share.

    A question that was answered before, by whomever it was asked, gets the same answer and costs nothing.
    """
    service: Service = request.app.state.service
    came = asyncio.get_running_loop().time()
    name = _name(request)
    await service.progress.refuse_behind(request.headers.get(HEADER, ""), service.desk)
    async with json_body(request) as body:
        reply = await reply_at_tick(service, _outcome(request, service, name, body), came)
    return Response(service.form.write(reply), headers=service.progress.now(), media_type=JSON)


async def reply_at_tick(service: Service, outcome: Awaitable[Outcome], came: float) -> Reply:
    """Return what a request that came at this time is told, at a tick; or refuse it."""
    try:
        told = await outcome
    finally:
        await _next_tick(came, service.settings.tick)
    if isinstance(told, InvalidData):
        raise told
    if isinstance(told, Refused):
        raise Problem(*REFUSALS[told])
    if told.labels[0] == NOT_ASKED and (told.labels == NOT_ASKED).all():
        raise Problem(EXHAUSTED, GONE)
    return told


async def get_stored_answer(request: Request) -> Response:
    """Return an answer that the same API key got before; free."""
    service: Service = request.app.state.service
    id, caller = request.path_params["id"], request.scope["mapl.caller"]
    reply = None
    if ID.fullmatch(id):
        reply = await service.desk.consult(lambda _: service.bulk.clerk.stored(id, caller), caller=caller)
    if reply is None:
        raise Problem(NOT_FOUND, "This API key has no answer of that id.")
    return Response(service.form.write(reply), headers=service.progress.now(), media_type=JSON)


async def _outcome(request: Request, service: Service, name: str | None, body: bytearray) -> Outcome:
    caller, digest = request.scope["mapl.caller"], digest_of(service.body_secret, body)
    if len(body) >= LARGE:
        # What this very request was told before can be looked up without reading a row of it.
        told = await service.desk.consult(lambda _: service.bulk.clerk.recall(caller, name, digest), caller=caller)
        if told is not None:
            return told
    async with rows_in(request, body) as rows:
        return await service.answer(RowsAsked(caller, name, digest, rows, request.is_disconnected))


def _name(request: Request) -> str | None:
    names = request.headers.getlist(NAME)
    if len(names) > 1:  # which of them a proxy or a client meant, nobody can tell
        raise InvalidData(f"The request has {len(names)} headers {NAME}; send one, or none.")
    if not names:
        return None
    name = names[0]
    if 1 <= len(name) <= LONGEST_NAME and name.isascii() and name.isprintable():
        return name
    raise InvalidData(f"The {NAME} must be 1 to {LONGEST_NAME} printable ASCII characters.")


async def _next_tick(came: float, tick: float) -> None:
    """Wait until a whole number of ticks has passed since a request came, whatever became of it."""
    passed = asyncio.get_running_loop().time() - came
    # The event loop's timers count whole milliseconds; rounding up keeps a reply from leaving early.
    await asyncio.sleep(math.ceil((math.ceil(passed / tick) * tick - passed) * 1000) / 1000)
