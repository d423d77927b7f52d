"""POST and GET of answers: the only routes that spend, and where a reply waits for its tick."""

from __future__ import annotations

import asyncio
import math
import re
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import Response

from mapl.errors import InvalidData
from mapl.release.online import NOT_ASKED, Refused, Reply
from mapl.service.body import JSON, body_of, digest_of, rows_of
from mapl.service.clerk import Asked
from mapl.service.problem import CALLER_LIMIT, EXHAUSTED, NOT_FOUND, OTHER_BODY, Problem

if TYPE_CHECKING:
    from mapl.service.service import Service

NAME = "Idempotency-Key"
LONGEST_NAME = 255
ID = re.compile("[0-9a-f]{64}")

REFUSALS = {
    Refused.OTHER_BODY: (OTHER_BODY, f"Send the body that this {NAME} was used with, or choose another key."),
    Refused.CALLER_LIMIT: (
        CALLER_LIMIT,
        "This request has more new questions than this API key may still ask; nothing was spent on it.",
    ),
}
GONE = "No new question is answered any more. Questions that were answered before still are."


async def ask(request: Request) -> Response:
    """Answer questions privately; each new one spends from the budget that all callers share.

    A question that was answered before, by whomever it was asked, gets the same answer and costs nothing.
    """
    service: Service = request.app.state.service
    came = asyncio.get_running_loop().time()
    name = _name(request)
    body = await body_of(request, service.settings)
    rows = await rows_of(body, service.settings)
    asked = Asked(request.scope["mapl.caller"], name, digest_of(service.body_secret, body), rows)
    outcome = await replied(service, asked, came)
    return Response(service.form.write(outcome), media_type=JSON)


async def replied(service: Service, asked: Asked, came: float) -> Reply:
    """Have a request that came at this time answered, at a tick; or refuse it."""
    try:
        outcome = await service.desk.ask(asked)
    finally:
        await _next_tick(came, service.settings.tick)
    if isinstance(outcome, InvalidData):
        raise outcome
    if isinstance(outcome, Refused):
        raise Problem(*REFUSALS[outcome])
    reply: Reply = outcome
    if (reply.labels == NOT_ASKED).all():
        raise Problem(EXHAUSTED, GONE)
    return reply


async def stored(request: Request) -> Response:
    """Return an answer that the same API key got before; free."""
    service: Service = request.app.state.service
    id, caller = request.path_params["id"], request.scope["mapl.caller"]
    reply = await service.desk.consult(lambda ledger: ledger.reply(id, caller)) if ID.fullmatch(id) else None
    if reply is None:
        raise Problem(NOT_FOUND, "This API key has no answer of that id.")
    return Response(service.form.write(reply), media_type=JSON)


def _name(request: Request) -> str | None:
    name = request.headers.get(NAME)
    if name is None or (1 <= len(name) <= LONGEST_NAME and name.isascii() and name.isprintable()):
        return name
    raise InvalidData(f"The {NAME} must be 1 to {LONGEST_NAME} printable ASCII characters.")


async def _next_tick(came: float, tick: float) -> None:
    """Wait until a whole number of ticks has passed since a request came, whatever became of it."""
    passed = asyncio.get_running_loop().time() - came
    # The event loop's timers count whole milliseconds; rounding up keeps a reply from leaving early.
    await asyncio.sleep(math.ceil((math.ceil(passed / tick) * tick - passed) * 1000) / 1000)
