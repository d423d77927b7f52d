"""The routes of the page: each returns the whole page, or the part of it that htmx asked for."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import orjson
from fastapi import Depends, FastAPI
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from mapl.errors import InvalidData, InvalidParameter, LedgerTampered
from mapl.release.ledger.chain import Record
from mapl.release.ledger.inquiries import KeyRecord, OnlineLedger
from mapl.service.access.entrance import allow_on_page
from mapl.service.access.key_routes import LONGEST_TIME, author_of, end_key, new_key
from mapl.service.access.keys import ADMIN, ASK, READ, SCOPES
from mapl.service.access.sessions import COOKIE, Session
from mapl.service.answering.answers import reply_at_tick
from mapl.service.answering.body import JSON, body_of, digest_of
from mapl.service.answering.clerk import STAGE, RowsAsked
from mapl.service.page.api_page import api_page
from mapl.service.page.forms import fields_of, only, question_of, refuse_foreign
from mapl.service.page.history import AT_ONCE, History
from mapl.service.page.rendering import render_page, root_of, whole
from mapl.service.page.upload import rows_of_csv
from mapl.service.page.words import outcome_of, plan_in_words, shown_row
from mapl.service.problem import NOT_FOUND, Problem
from mapl.service.reading import published
from mapl.service.refusals import REFUSALS, problem_of

if TYPE_CHECKING:
    from mapl.service.service import Service

STATIC = {"htmx.min.js": "text/javascript", "page.js": "text/javascript", "page.css": "text/css"}
ANYBODY = (ASK, READ, ADMIN)


def add_page(app: FastAPI) -> None:
    """Give an application its page; no other route than these looks at its cookie."""
    app.state.history = History()
    routes: tuple[tuple[str, str, Callable[..., Awaitable[Response]], tuple[str, ...]], ...] = (
        ("GET", "/", home, ()),
        ("GET", "/docs", api_page, ()),
        ("GET", "/static/{name}", static, ()),
        ("POST", "/page/sign-in", sign_in, ()),
        ("POST", "/page/sign-out", sign_out, ()),
        ("GET", "/page/budget", budget, ANYBODY),
        ("GET", "/page/report", published.report, (READ, ADMIN)),
        ("POST", "/page/question", question, (ASK,)),
        ("POST", "/page/file/look", look_at_file, (ASK,)),
        ("POST", "/page/file/ask", ask_file, (ASK,)),
        ("POST", "/page/keys", create_key, (ADMIN,)),
        ("POST", "/page/keys/{id}/revoke", revoke_key, (ADMIN,)),
        ("POST", "/page/ledger-check", check_ledger, (ADMIN,)),
    )
    for method, path, endpoint, scopes in routes:
        guard = [Depends(allow_on_page(*scopes))] if scopes else []
        app.add_api_route(path, endpoint, methods=[method], dependencies=guard, include_in_schema=False)


async def home(request: Request) -> Response:
    """Show everything that the key may see, or ask for one."""
    caller = await _service(request).entrance.signed_in(request)
    if caller is None:
        return whole(request, "sign_in.html", refused=False)
    return _renewed(request, await _home(request, caller))


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
        return whole(request, "sign_in.html", refused=True, status=401)
    back = RedirectResponse(f"{root_of(request)}/", status_code=303)
    return _renewed(request, back, entrance.sessions.begun(record.id, now=time.time()))


def _renewed(request: Request, reply: Response, session: Session | None = None) -> Response:
    """Give a session's cookie anew, so that it ends a while after its page was closed."""
    entrance, now = _service(request).entrance, time.time()
    session = session or entrance.session(request)
    if session is not None:
        reply.set_cookie(
            COOKIE,
            entrance.sessions.cookie(session, now=now),
            path=root_of(request) or "/",
            max_age=session.renewed_until(now) - int(now),
            httponly=True,
            samesite="strict",
            secure="https" in (request.url.scheme, request.headers.get("x-forwarded-proto")),  # the proxy has TLS
        )
    return reply


async def sign_out(request: Request) -> Response:
    """End a session: its cookie is worth nothing from now on, whoever has a copy."""
    await fields_of(request)
    entrance = _service(request).entrance
    session = entrance.session(request)
    if session is not None:
        entrance.sessions.ended.add(session.name)
    reply = RedirectResponse(f"{root_of(request)}/", status_code=303)
    reply.delete_cookie(COOKIE, path=root_of(request) or "/", httponly=True, samesite="strict")
    return reply


async def budget(request: Request) -> Response:
    """Return gauge and history as they are now."""
    return _renewed(request, whole(request, "budget.html", **await _spent(request)))


async def question(request: Request) -> Response:
    """Answer the question in the form; a new one spends. The answer names the row that was asked."""
    service, came = _service(request), asyncio.get_running_loop().time()
    fields = await fields_of(request)
    try:
        row = question_of(fields, service.run.schema)
        body = digest_of(service.body_secret, orjson.dumps(row))
        asked = RowsAsked(request.scope["mapl.caller"], None, body, [row])
        reply = await reply_at_tick(service, service.answer(asked), came)
    except REFUSALS as error:
        problem = problem_of(error)
        return await _part(
            request, "refusal.html", place="answer", refusal=problem.detail, status=problem.kind.status
        )
    outcome = Markup(outcome_of(int(reply.labels[0]), service.run.classes.names))
    answer = await _part(request, "answer.html", place="answer", outcome=outcome, row=shown_row(row))
    answer.headers["HX-Trigger"] = "asked"  # so that the gauges are renewed at once
    return answer


async def look_at_file(request: Request) -> Response:
    """Say what asking all rows of a CSV file would spend at most; nothing is spent, and nobody's questions show."""
    service = _service(request)
    try:
        async with _file_rows(request) as (rows, body):
            different = await service.bulk.count_different(_asked(request, rows, body))
    except REFUSALS as error:
        problem = problem_of(error)
        return whole(request, "refusal.html", refusal=problem.detail, status=problem.kind.status)
    caller = request.scope["mapl.caller"]
    state, key = await service.desk.consult(lambda ledger: (ledger.spending(STAGE), ledger.key(caller)))
    own = None if key is None or key.most is None else max(0, key.most - key.taken)
    left = service.prices.spending(state).questions_left
    return whole(request, "file_look.html", rows=len(rows), different=different, left=left, own=own)


async def ask_file(request: Request) -> Response:
    """Answer all rows of a CSV file; the reply is that of the API, which the page writes into a copy."""
    service, came = _service(request), asyncio.get_running_loop().time()
    async with _file_rows(request) as (rows, body):
        reply = await reply_at_tick(service, service.answer(_asked(request, rows, body)), came)
    return Response(service.form.write(reply), media_type=JSON, headers={"HX-Trigger": "asked"})


@asynccontextmanager
async def _file_rows(request: Request) -> AsyncIterator[tuple[list[Any], bytes]]:
    """Read the rows of a CSV file within all limits, and hold them; beside them what stands for the file."""
    service = _service(request)
    refuse_foreign(request)
    most = service.settings.most_rows
    async with body_of(request, most=service.settings.most_body_bytes) as body, service.room.parsing(body):
        try:
            text = body.decode()
        except UnicodeDecodeError:
            raise InvalidData("The file is not in UTF-8; save it as CSV in UTF-8.") from None
        rows = await asyncio.to_thread(rows_of_csv, text, service.run.schema, most=most)
        service.entrance.charge(request.scope["mapl.caller"], len(rows))
        yield rows, digest_of(service.body_secret, body)


def _asked(request: Request, rows: list[Any], body: bytes) -> RowsAsked:
    return RowsAsked(request.scope["mapl.caller"], None, body, rows, request.is_disconnected)


async def create_key(request: Request) -> Response:
    """Make an API key and show it, once."""
    service, fields = _service(request), await fields_of(request)
    try:
        cap = only(fields, "most")
        if cap and not (cap.isdecimal() and len(cap) <= len("1000000000000")):
            raise InvalidParameter("The cap must be a whole number of at least 1, or empty.")
        most = int(cap) if cap else None
        name, scopes = only(fields, "name"), fields.get("scope", [])
        ends = only(fields, "expires")[:LONGEST_TIME] or None
        token, _ = await new_key(service, name, scopes, most, ends, by=author_of(request))
    except InvalidParameter as refusal:
        return await _part(
            request, "keys.html", place="keys", **await _keys(request), token=None, refusal=str(refusal)
        )
    return await _part(request, "keys.html", place="keys", **await _keys(request), token=token, refusal=None)


async def revoke_key(request: Request) -> Response:
    """Revoke an API key for good."""
    await fields_of(request)
    await end_key(_service(request), request.path_params["id"], by=author_of(request))
    return await _part(request, "keys.html", place="keys", **await _keys(request), token=None, refusal=None)


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
    return await _part(request, "check.html", place="check", head=head, refusal=refusal)


def _service(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


async def _home(request: Request, caller: KeyRecord, *, status: int = 200, **shown: Any) -> Response:
    """Render the whole page; a part that a form asked for stands where htmx would have put it."""
    service, spent = _service(request), await _spent(request)
    admin = ADMIN in caller.scopes
    return whole(
        request,
        "home.html",
        status=status,
        caller=caller,
        admin=admin,
        may_ask=ASK in caller.scopes,
        may_read=READ in caller.scopes or admin,
        plan=plan_in_words(service.run, spent["spending"]),
        columns=service.run.schema.columns,
        most_rows=service.settings.most_rows,
        seeded=not service.coins.private,
        **{"token": None, "key_refusal": None, "answer": "", "check": "", **shown},
        **(await _keys(request) if admin else {"keys": [], "now": 0.0}),
        scopes=SCOPES,
        **spent,
    )


async def _part(request: Request, template: str, *, place: str, status: int = 200, **values: Any) -> Response:
    """Return a part of the page; a browser without scripts gets the whole page with the part in its place."""
    if request.headers.get("hx-request") == "true":
        return whole(request, template, status=status, scopes=SCOPES, **values)
    caller = await _service(request).entrance.signed_in(request)
    if caller is None:
        return whole(request, template, status=status, scopes=SCOPES, **values)
    if template == "keys.html":
        return await _home(request, caller, token=values["token"], key_refusal=values["refusal"])
    part = Markup(render_page(template, root=root_of(request), **values))
    return await _home(request, caller, status=status, **{place: part})


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
    return {"keys": await _service(request).desk.consult(lambda ledger: ledger.keys()), "now": time.time()}
