"""The routes of the page: each returns the whole page, or the part of it that htmx asked for."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import orjson
from fastapi import Depends, FastAPI
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from mapl.errors import InvalidData, InvalidParameter, LedgerTampered
from mapl.release.chain import Record
from mapl.release.online import KeyRecord, OnlineLedger
from mapl.service.answers import replied
from mapl.service.body import digest_of
from mapl.service.clerk import STAGE, Asked
from mapl.service.entrance import allowed_on_page
from mapl.service.keys import ADMIN, ASK, READ, SCOPES
from mapl.service.page.forms import fields_of, only, question_of
from mapl.service.page.history import AT_ONCE, History
from mapl.service.page.rendering import fragment, rendered, whole
from mapl.service.page.words import plan_in_words
from mapl.service.problem import NOT_FOUND, Problem
from mapl.service.sessions import COOKIE, SECONDS
from mapl.types import ABSTAIN

if TYPE_CHECKING:
    from mapl.service.service import Service

STATIC = {"htmx.min.js": "text/javascript", "page.css": "text/css"}
ANYBODY = (ASK, READ, ADMIN)


def add_page(app: FastAPI) -> None:
    """Give an application its page; no other route than these looks at its cookie."""
    app.state.history = History()
    routes: tuple[tuple[str, str, Callable[..., Awaitable[Response]], tuple[str, ...]], ...] = (
        ("GET", "/", home, ()),
        ("GET", "/static/{name}", static, ()),
        ("POST", "/page/sign-in", sign_in, ()),
        ("POST", "/page/sign-out", sign_out, ()),
        ("GET", "/page/budget", budget, ANYBODY),
        ("POST", "/page/question", question, (ASK,)),
        ("POST", "/page/keys", create_key, (ADMIN,)),
        ("POST", "/page/keys/{id}/revoke", revoke_key, (ADMIN,)),
        ("POST", "/page/ledger-check", check_ledger, (ADMIN,)),
    )
    for method, path, endpoint, scopes in routes:
        guard = [Depends(allowed_on_page(*scopes))] if scopes else []
        app.add_api_route(path, endpoint, methods=[method], dependencies=guard, include_in_schema=False)


async def home(request: Request) -> Response:
    """Show everything that the key may see, or ask for one."""
    caller = await _service(request).entrance.signed_in(request)
    if caller is None:
        return whole("sign_in.html", refused=False)
    return await _home(request, caller)


async def static(request: Request) -> Response:
    """Return one of the page's own files."""
    name = request.path_params["name"]
    if name not in STATIC:
        raise Problem(NOT_FOUND, "The page has no such file.")
    content = files(__package__).joinpath("static", name).read_bytes()
    return Response(content, media_type=STATIC[name], headers={"Cache-Control": "public, max-age=3600"})


async def sign_in(request: Request) -> Response:
    """Begin a session for the owner of an API key."""
    entrance = _service(request).entrance
    token = only(await fields_of(request), "key")
    try:
        record = await entrance.owner(token)
    except Problem:
        return whole("sign_in.html", refused=True, status=401)
    reply = RedirectResponse("/", status_code=303)
    reply.set_cookie(
        COOKIE,
        entrance.sessions.begun(record.id, now=time.time()),
        max_age=SECONDS,
        httponly=True,
        samesite="strict",
        secure="https" in (request.url.scheme, request.headers.get("x-forwarded-proto")),  # the proxy has TLS
    )
    return reply


async def sign_out(request: Request) -> Response:
    """End a session."""
    await fields_of(request)
    reply = RedirectResponse("/", status_code=303)
    reply.delete_cookie(COOKIE, httponly=True, samesite="strict")
    return reply


async def budget(request: Request) -> Response:
    """Return gauge and history as they are now."""
    return fragment("budget.html", **await _spent(request))


async def question(request: Request) -> Response:
    """Answer the question in the form; a new one spends."""
    service, came = _service(request), asyncio.get_running_loop().time()
    fields = await fields_of(request)
    try:
        row = question_of(fields, service.run.schema)
        body = digest_of(service.body_secret, orjson.dumps(row))
        reply = await replied(service, Asked(request.scope["mapl.caller"], None, body, [row]), came)
    except (InvalidData, Problem) as refusal:
        words = refusal.detail if isinstance(refusal, Problem) else str(refusal)
        return await _part(request, "answer.html", label=None, refusal=words)
    code = int(reply.labels[0])
    label = None if code == ABSTAIN else service.run.classes.names[code]
    answer = await _part(request, "answer.html", label=label, refusal=None)
    answer.headers["HX-Trigger"] = "asked"  # so that the gauges are renewed at once
    return answer


async def create_key(request: Request) -> Response:
    """Make an API key and show it, once."""
    service, fields = _service(request), await fields_of(request)
    try:
        cap = only(fields, "most")
        if cap and not (cap.isdecimal() and len(cap) <= len("1000000000000")):
            raise InvalidParameter("The cap must be a whole number of at least 1, or empty.")
        token, record = service.entrance.maker.new(
            only(fields, "name"), fields.get("scope", []), most=int(cap) if cap else None
        )
    except InvalidParameter as refusal:
        return await _part(request, "keys.html", **await _keys(request), token=None, refusal=str(refusal))
    await service.desk.consult(lambda ledger: ledger.add_key(record))
    service.entrance.forget()
    return await _part(request, "keys.html", **await _keys(request), token=token, refusal=None)


async def revoke_key(request: Request) -> Response:
    """Revoke an API key for good."""
    await fields_of(request)
    service, id = _service(request), request.path_params["id"]
    if await service.desk.consult(lambda ledger: ledger.key(id)) is None:
        raise Problem(NOT_FOUND, "There is no API key of that id.")
    await service.desk.consult(lambda ledger: ledger.revoke_key(id))
    service.entrance.forget()
    return await _part(request, "keys.html", **await _keys(request), token=None, refusal=None)


async def check_ledger(request: Request) -> Response:
    """Check the whole chain, and that a head which was noted earlier is still part of it."""
    service = _service(request)
    seen = only(await fields_of(request), "seen") or None
    refusal = None
    try:
        await service.verify(seen)
    except LedgerTampered as found:
        refusal = str(found)
    head = await service.desk.consult(lambda ledger: ledger.head)
    return await _part(request, "check.html", head=head, refusal=refusal)


def _service(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


async def _home(request: Request, caller: KeyRecord, **shown: Any) -> Response:
    """Render the whole page; a part that a form asked for stands where htmx would have put it."""
    service, spent = _service(request), await _spent(request)
    admin = ADMIN in caller.scopes
    return whole(
        "home.html",
        caller=caller,
        admin=admin,
        may_ask=ASK in caller.scopes,
        may_read=READ in caller.scopes or admin,
        plan=plan_in_words(service.run, spent["spending"]),
        columns=service.run.schema.columns,
        seeded=not service.coins.private,
        **{"token": None, "key_refusal": None, "answer": "", "check": "", **shown},
        **(await _keys(request) if admin else {"keys": []}),
        scopes=SCOPES,
        **spent,
    )


async def _part(request: Request, template: str, **values: Any) -> Response:
    """Return a part of the page; a browser without scripts gets the whole page with the part in its place."""
    if request.headers.get("hx-request") == "true":
        return fragment(template, scopes=SCOPES, **values)
    caller = await _service(request).entrance.signed_in(request)
    if caller is None:
        return fragment(template, scopes=SCOPES, **values)
    if template == "keys.html":
        return await _home(request, caller, token=values["token"], key_refusal=values["refusal"])
    return await _home(request, caller, **{template.partition(".")[0]: Markup(rendered(template, **values))})


async def _spent(request: Request) -> dict[str, Any]:
    service = _service(request)
    history: History = request.app.state.history

    def look(ledger: OnlineLedger) -> tuple[Any, list[Record]]:
        return ledger.spending(STAGE), ledger.records(history.seen, AT_ONCE)

    state, records = await service.desk.consult(look)
    history.take(records)
    while len(records) == AT_ONCE:
        _, records = await service.desk.consult(look)
        history.take(records)
    told = await asyncio.to_thread(service.prices.told, state)
    return {"told": told, "spending": service.prices.spending(state), "points": tuple(history.points)}


async def _keys(request: Request) -> dict[str, Any]:
    return {"keys": await _service(request).desk.consult(lambda ledger: ledger.keys())}
