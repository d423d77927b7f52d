"""Somebody is told before the budget ends: once for every share, by one worker, in public figures."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from stand_in import StandInRun, questions

from mapl.errors import InvalidParameter
from mapl.noise import SeededCoins
from mapl.release.ledger.memory import MemoryLedger
from mapl.service.answering.clerk import RowsAsked
from mapl.service.service import Service
from mapl.service.settings import ServerSettings
from mapl.service.watching.alerts import BudgetAlerts


@contextmanager
def listener(status: int = 200) -> Iterator[tuple[str, list[Any]]]:
    """Listen for alerts at an address, and keep what was told."""
    told: list[Any] = []

    class Listener(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            told.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(status)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Listener)
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/hook-canary", told
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


async def spend(service: Service, start: int, count: int) -> None:
    await service.answer(RowsAsked("ann", None, bytes([start] * 32), questions(count, start=start)))


def test_every_share_is_told_once_and_by_one_worker(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with listener() as (url, told), caplog.at_level(logging.INFO):
        settings = ServerSettings(alert_url=url, alert_at=(0.5, 0.2, 0.0))
        service = Service.open(StandInRun(queries=100), MemoryLedger(), SeededCoins(1), settings=settings)

        async def scene() -> None:
            service.desk.start()
            workers = [BudgetAlerts(service.desk, service.prices, settings, tmp_path) for _ in range(2)]
            for start, count in ((0, 40), (40, 15), (55, 1), (56, 44)):
                await spend(service, start, count)
                for one in workers:
                    await one.look()
                    await one.look()
            await service.desk.close()

        asyncio.run(scene())
    assert [(one["at"], one["questions_left"]) for one in told] == [
        (0.5, 45),
        (0.0, 0),
    ]  # 0.2 was passed on the way
    assert caplog.text.count("of the budget is left") == 2


def test_an_address_that_fails_is_told_to_the_log_without_its_words(caplog: pytest.LogCaptureFixture) -> None:
    with listener(status=500) as (url, told):
        settings = ServerSettings(alert_url=url, alert_at=(0.5,))
        service = Service.open(StandInRun(queries=10), MemoryLedger(), SeededCoins(1), settings=settings)

        async def scene() -> None:
            service.desk.start()
            await spend(service, 0, 8)
            await service.alerts.look()
            await service.desk.close()

        asyncio.run(scene())
    assert len(told) == 1
    assert "could not be delivered (HTTPStatusError)" in caplog.text
    assert "canary" not in caplog.text


@pytest.mark.parametrize("odd", [{"alert_at": (1.5,)}, {"alert_at": (-0.1,)}, {"alert_url": "ftp://x"}])
def test_odd_alerts_are_refused(odd: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter, match="alert"):
        ServerSettings(**odd)
