"""Keys over the API: what admins do on the page or with `mapl keys`, for machines."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import orjson
from starlette.requests import Request
from starlette.responses import Response

from mapl.errors import InvalidData, InvalidParameter
from mapl.release.ledger.inquiries import Author
from mapl.service.access.key_life import end_of_key
from mapl.service.access.keys import key_in_public
from mapl.service.answering.body import JSON, json_body
from mapl.service.problem import MALFORMED, NOT_FOUND, Problem

if TYPE_CHECKING:
    from mapl.release.ledger.inquiries import KeyRecord
    from mapl.service.service import Service

FIELDS = ("name", "scopes", "most", "expires")
LONGEST_TIME = 40


async def list_keys(request: Request) -> Response:
    """Return all API keys, revoked ones too; the keys themselves are nowhere."""
    service: Service = request.app.state.service
    keys = await service.desk.consult(lambda ledger: ledger.keys(), caller=request.scope["mapl.caller"])
    return _json({"keys": [key_in_public(record) for record in keys]})


async def create_key(request: Request) -> Response:
    """Make an API key; the reply holds it, this once."""
    service: Service = request.app.state.service
    async with json_body(request) as body:
        name, scopes, most, ends = _wanted(body)
    try:
        token, record = await new_key(service, name, scopes, most, ends, by=author_of(request))
    except InvalidParameter as refusal:
        raise InvalidData(str(refusal)) from None
    return _json({**key_in_public(record), "key": token})


async def revoke_key(request: Request) -> Response:
    """Revoke an API key for good; it ends within a second, with its sessions on the page."""
    service: Service = request.app.state.service
    return _json(key_in_public(await end_key(service, request.path_params["id"], by=author_of(request))))


async def new_key(
    service: Service, name: str, scopes: list[str], most: int | None, ends: str | None, *, by: Author
) -> tuple[str, KeyRecord]:
    """Make a key and put it on record; InvalidParameter where it cannot be one."""
    expires = None if ends is None else end_of_key(ends, time.time())
    token, record = service.entrance.maker.new(name, scopes, most=most, expires=expires)
    await service.desk.consult(lambda ledger: ledger.add_key(record, by=by))
    service.entrance.forget()
    return token, record


async def end_key(service: Service, id: str, *, by: Author) -> KeyRecord:
    """Revoke a key, or say that there is none."""
    if not id.isascii() or not id.isalnum() or await service.desk.consult(lambda ledger: ledger.key(id)) is None:
        raise Problem(NOT_FOUND, "There is no API key of that id.")
    await service.desk.consult(lambda ledger: ledger.revoke_key(id, by=by))
    service.entrance.forget()
    record = await service.desk.consult(lambda ledger: ledger.key(id))
    assert record is not None  # keys are never removed
    return record


def author_of(request: Request) -> Author:
    """Return whose key changes keys, and when, for the log."""
    return Author(f"API key {request.scope['mapl.caller']}", int(time.time()))


def _wanted(body: bytearray) -> tuple[str, list[str], int | None, str | None]:
    try:
        given = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise Problem(MALFORMED, "The body is not JSON in UTF-8.") from None
    if not isinstance(given, dict) or not given.keys() <= set(FIELDS):
        raise InvalidData(f"The body must be a JSON object of {', '.join(FIELDS)} and hold nothing else.")
    name: Any = given.get("name")
    scopes: Any = given.get("scopes")
    most: Any = given.get("most")
    ends: Any = given.get("expires")
    texts = isinstance(name, str) and isinstance(scopes, list) and all(isinstance(one, str) for one in scopes)
    whole = most is None or (isinstance(most, int) and not isinstance(most, bool) and most < 1 << 53)
    time_or_none = ends is None or (isinstance(ends, str) and len(ends) <= LONGEST_TIME)
    if not texts or not whole or not time_or_none:
        raise InvalidData(
            "name must be text, scopes a list of texts, most a whole number or null, and expires such as 90d, a "
            "day, a time, or null."
        )
    return name, scopes, most, ends


def _json(content: object) -> Response:
    return Response(orjson.dumps(content), media_type=JSON)
