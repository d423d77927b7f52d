"""A taught run behind its HTTP face, in this process: every route is called, and every reply is kept whole."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import shlex
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from neighbours import public
from side import Side

from mapl.service.access import guard
from mapl.service.app import create_app
from mapl.service.serving import Opening
from mapl.service.settings import ServerSettings

NOON = 1_600_000_000.0
"""Sessions and counters of requests tell the time, which is no secret; here it stands still."""
ADDRESS = "http://testserver"


def rows() -> list[dict[str, Any]]:
    return [{**one, "dose": float(one["dose"])} for one in public()]


def file_of_rows() -> bytes:
    """Return some public rows as the CSV file that the page sends."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows()[0]))
    writer.writeheader()
    writer.writerows(rows()[20:24])
    return text.getvalue().encode()


def calls(token: str) -> list[tuple[str, str, dict[str, Any]]]:
    """Return requests to every route: method, path, and what else is sent."""
    api = {"headers": {"Authorization": f"Bearer {token}"}}
    page = {"headers": {"Origin": ADDRESS}}
    form = {name: str(cell) for name, cell in rows()[7].items()}
    return [
        ("POST", "/v1/answers", {**api, "json": {"rows": rows()[:6]}}),
        ("POST", "/v1/answers", {**api, "json": {"rows": rows()[4:20]}}),
        ("POST", "/v1/answers", {**api, "json": {"rows": [{"age": "abc"}]}}),
        ("GET", "/v1/answers/none", api),
        ("POST", "/v1/predictions", {**api, "json": {"rows": rows()[:3]}}),
        *(("GET", path, api) for path in ("/v1/budget", "/v1/plan", "/v1/ledger", "/v1/report", "/metrics")),
        ("GET", "/v1/keys", api),
        ("POST", "/v1/keys", {**api, "json": {"name": "third", "scopes": ["ask"]}}),
        ("POST", "/v1/keys/000000000000/revoke", api),
        ("POST", "/v1/keys/000000000000/rotate", {**api, "json": {}}),
        *(("GET", path, {}) for path in ("/healthz", "/readyz", "/openapi.json", "/docs", "/", "/static/page.css")),
        ("POST", "/page/sign-in", {**page, "data": {"key": token}}),
        ("GET", "/", {}),
        ("GET", "/page/budget", {}),
        ("POST", "/page/question", {**page, "data": form}),
        ("POST", "/page/file/look", {**page, "content": file_of_rows()}),
        ("POST", "/page/file/ask", {**page, "content": file_of_rows()}),
        ("GET", "/page/report", {}),
        ("POST", "/page/keys", {**page, "data": {"name": "second", "scope": "ask", "most": ""}}),
        ("POST", "/page/keys/nobody/revoke", page),
        ("POST", "/page/ledger-check", {**page, "data": {"seen": ""}}),
        ("POST", "/page/sign-out", page),
        ("GET", "/v1/nowhere", api),
        ("GET", "/metrics", api),
    ]


def asked_in_every_way(teach: str) -> Callable[[Side, Any], None]:
    """Return the case: teach, make keys, serve, ask everything."""

    def script(side: Side, private: str) -> None:
        side.mapl(*shlex.split(teach.replace("PRIVATE", private)))
        if not Path("run/private/service.key").exists():
            return
        side.mapl("keys", "create", "run", "--name", "asker", "--scope", "ask,read,admin", "--json")
        side.mapl("keys", "create", "run", "--name", "gone", "--scope", "ask", "--json")
        token = json.loads(side.seen["2. mapl keys: stdout"])["key"]
        gone = json.loads(side.seen["3. mapl keys: stdout"])["key"].split("_")[1]
        side.mapl("keys", "revoke", "run", gone)
        side.mapl("keys", "list", "run")
        service = Opening(Path("run"), settings=ServerSettings(access_log=True)).opened()
        application = create_app(service)
        side.note("routes", sorted(f"{sorted(one.methods)} {one.path}" for one in application.routes))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(time, "time", lambda: NOON)
            patch.setattr(guard, "seconds", lambda: NOON)
            told = asyncio.run(replies(application, token))
        for where, reply in told.items():
            side.note(where, reply)

    return script


async def replies(application: Any, token: str) -> dict[str, str]:
    """Call every route, one after the other."""
    told: dict[str, str] = {}
    transport = httpx.ASGITransport(application, raise_app_exceptions=False)
    async with (
        application.router.lifespan_context(application),
        httpx.AsyncClient(transport=transport, base_url=ADDRESS) as client,
    ):
        for number, (method, path, sent) in enumerate(calls(token)):
            reply = await client.request(method, path, **sent)
            told[f"{number}. {method} {path}"] = f"{reply.status_code} {dict(reply.headers)}\n{reply.text}"
    return told
