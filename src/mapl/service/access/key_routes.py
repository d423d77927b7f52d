"""Keys over the API: what admins do on the page or with `mapl keys`, for machines."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import orjson
from starlette.requests import Request
from starlette.responses import Response

from mapl.errors import InvalidData, InvalidParameter
from mapl.release.ledger.inquiries import Author
from mapl.service.access import rotation
from mapl.service.access.key_life import end_of_key
from mapl.service.access.keys import key_in_public
from mapl.service.answering.body import JSON, json_body
from mapl.service.problem import MALFORMED, NOT_FOUND, Problem

if TYPE_CHECKING:
    from mapl.release.ledger.inquiries import KeyRecord
    from mapl.service.service import Service

FIELDS = ("name", "scopes", "most", "expires")
ENDS = ("expires", "overlap")
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


async def rotate_key(request: Request) -> Response:
    """Replace an API key by a new one, which the reply holds, this once; the old one ends now, or after a while."""
    service: Service = request.app.state.service
    async with json_body(request) as body:
        expires, overlap = (_end(text) for text in _ends(body))
    old, by = await _named(service, request.path_params["id"]), author_of(request)
    try:
        token, record = await service.desk.consult(
            lambda ledger: rotation.rotate_key(
                ledger, service.entrance.maker, old.id, expires=expires, until=overlap, by=by, now=time.time()
            )
        )
    except InvalidParameter as refusal:
        raise InvalidData(str(refusal)) from None
    service.entrance.forget()
    return _json({**key_in_public(record), "key": token})


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
    await _named(service, id)
    await service.desk.consult(lambda ledger: ledger.revoke_key(id, by=by))
    service.entrance.forget()
    return await _named(service, id)


async def _named(service: Service, id: str) -> KeyRecord:
    """Return a key, or say that there is none."""
    known = id.isascii() and id.isalnum()
    record = await service.desk.consult(lambda ledger: ledger.key(id)) if known else None
    if record is None:
        raise Problem(NOT_FOUND, "There is no API key of that id.")
    return record


def author_of(request: Request) -> Author:
    """Return whose key changes keys, and when, for the log."""
    return Author(f"API key {request.scope['mapl.caller']}", int(time.time()))


def _wanted(body: bytearray) -> tuple[str, list[str], int | None, str | None]:
    given = _fields(body, FIELDS)
    name: Any = given.get("name")
    scopes: Any = given.get("scopes")
    most: Any = given.get("most")
    ends: Any = given.get("expires")
    texts = isinstance(name, str) and isinstance(scopes, list) and all(isinstance(one, str) for one in scopes)
    whole = most is None or (isinstance(most, int) and not isinstance(most, bool) and most < 1 << 53)
    if not texts or not whole or not _time_or_none(ends):
        raise InvalidData(
            "name must be text, scopes a list of texts, most a whole number or null, and expires such as 90d, a "
            "day, a time, or null."
        )
    return name, scopes, most, ends


def _ends(body: bytearray) -> tuple[str | None, str | None]:
    given = _fields(body, ENDS)
    expires, overlap = (given.get(name) for name in ENDS)
    if not _time_or_none(expires) or not _time_or_none(overlap):
        raise InvalidData("expires and overlap must be such as 90d, a day, a time, or null.")
    return expires, overlap


def _fields(body: bytearray, names: Sequence[str]) -> dict[str, Any]:
    try:
        given = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise Problem(MALFORMED, "The body is not JSON in UTF-8.") from None
    if not isinstance(given, dict) or not given.keys() <= set(names):
        raise InvalidData(f"The body must be a JSON object of {', '.join(names)} and hold nothing else.")
    return given


def _time_or_none(given: Any) -> bool:
    return given is None or (isinstance(given, str) and len(given) <= LONGEST_TIME)


def _end(text: str | None) -> int | None:
    try:
        return None if text is None else end_of_key(text, time.time())
    except InvalidParameter as refusal:
        raise InvalidData(str(refusal)) from None


def _json(content: object) -> Response:
    return Response(orjson.dumps(content), media_type=JSON)
