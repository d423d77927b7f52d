"""Where errors of a server end: neither its caller nor its log is told their words."""

from __future__ import annotations

import asyncio
import json
import logging
from typing import Any

import pytest

from mapl.service.access.guard import Guard
from mapl.service.settings import ServerSettings
from mapl.service.watching.log_lines import JsonLines
from mapl.service.watching.metrics import Traffic

QUOTED = "ann of 7 Elm Street"


async def failing(scope: Any, receive: Any, send: Any) -> None:
    raise ValueError(f"I cannot read {QUOTED}")


def test_the_words_of_an_error_reach_neither_caller_nor_log(caplog: pytest.LogCaptureFixture) -> None:
    sent: list[dict[str, Any]] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    traffic = Traffic()
    guard = Guard(failing, settings=ServerSettings(access_log=True), traffic=traffic)
    scope = {"type": "http", "method": "POST", "path": "/v1/answers", "headers": []}
    with caplog.at_level(logging.INFO):
        asyncio.run(guard(scope, receive, send))
    assert sent[0]["status"] == 500
    assert "ValueError in test_guard.py" in caplog.text
    told = [caplog.text, *(str(record.__dict__) for record in caplog.records), *map(str, sent)]
    assert not any(QUOTED in one for one in told)


def test_a_line_names_the_request_and_its_milliseconds_and_the_reply_its_id(
    caplog: pytest.LogCaptureFixture,
) -> None:
    sent: list[dict[str, Any]] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    guard = Guard(failing, settings=ServerSettings(access_log=True), traffic=Traffic())
    for given, kept in ((b"from-proxy.7", True), (b'evil"}\n{', False), (b"x" * 65, False)):
        caplog.clear()
        scope = {"type": "http", "method": "GET", "path": "/", "headers": [(b"x-request-id", given)]}
        with caplog.at_level(logging.INFO):
            asyncio.run(guard(scope, receive, send))
        starts = [message for message in sent if message["type"] == "http.response.start"]
        told = dict(starts[-1]["headers"])[b"x-request-id"]
        assert (told == given) is kept
        lines = [json.loads(JsonLines().format(record)) for record in caplog.records]
        assert {line["request"] for line in lines} == {told.decode()}
        assert lines[-1]["milliseconds"] >= 0
        assert lines[-1].keys() == {
            *("time", "level", "logger", "message"),
            *("method", "route", "status", "caller", "request", "milliseconds"),
        }
        assert QUOTED not in str(lines)
