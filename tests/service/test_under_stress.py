"""A ledger that fails, and more requests than a server can take: it refuses, and nothing is lost."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from stand_in import StandInPanel, StandInRun, questions, serving

from mapl.errors import LedgerError
from mapl.release.ledger.memory import MemoryLedger
from mapl.release.ledger.sqlite import SqliteLedger
from mapl.service.settings import ServerSettings
from mapl.service.watching.readiness import FRESH


class FailingLedger(MemoryLedger):
    """A ledger whose disk can be full."""

    full = False

    def exchange(self, *given: Any, **named: Any) -> Any:
        self.alive()
        return super().exchange(*given, **named)

    def alive(self) -> None:
        if self.full:
            raise LedgerError("/srv/canary.sqlite cannot be written: the disk is full.")


class SlowPanel(StandInPanel):
    def votes(self, rows: Any) -> Any:
        sleep(0.02)
        return super().votes(rows)


class BrokenPanel(StandInPanel):
    """A fault of mapl itself, whose words quote a row."""

    def votes(self, rows: Any) -> Any:
        raise RuntimeError(f"canary {rows!r}")


def test_without_a_ledger_nothing_is_answered_and_afterwards_all_is_well() -> None:
    ledger = FailingLedger()
    with serving(ledger=ledger) as served, served.client() as client:
        assert client.post("/v1/answers", json={"rows": questions(2)}).status_code == 200
        ledger.full = True
        refused = client.post("/v1/answers", json={"rows": questions(4)})
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
        assert refused.json()["type"] == "urn:mapl:problem:ledger-unavailable"
        assert "canary" not in refused.text
        assert (client.get("/readyz").status_code, client.get("/healthz").status_code) == (503, 200)
        assert client.post("/v1/answers", json={"rows": questions(2)}).status_code == 200  # it is on record
        assert client.get("/v1/budget").json()["answered"] == 2
        ledger.full = False
        assert client.get("/readyz").status_code == 200
        assert client.post("/v1/answers", json={"rows": questions(4)}).status_code == 200
        assert client.get("/v1/budget").json()["answered"] == 4


class CountingLedger(MemoryLedger):
    def __init__(self) -> None:
        super().__init__()
        self.tries = 0

    def alive(self) -> None:
        self.tries += 1
        super().alive()

    def reply(self, id: str, caller: str) -> Any:
        raise LedgerError("PostgreSQL does not take every text.")


def test_whoever_asks_for_readiness_all_the_time_does_not_keep_the_disk_busy() -> None:
    ledger = CountingLedger()
    with serving(ledger=ledger) as served, served.client() as client:
        begun = monotonic()
        assert {client.get("/readyz").status_code for _ in range(100)} == {200}
        assert ledger.tries <= 2 + (monotonic() - begun) / FRESH


def test_what_cannot_be_an_id_is_not_looked_up() -> None:
    with serving(ledger=CountingLedger()) as served, served.client() as client:
        for id in ("%00", "a", "g" * 64):
            assert client.get(f"/v1/answers/{id}").status_code == 404


def test_a_fault_is_told_without_its_words(caplog: Any) -> None:
    with serving(StandInRun(panel=BrokenPanel())) as served, served.client() as client:
        reply = client.post("/v1/answers", json={"rows": [[1.0, "canary in a row"]]})
        assert (reply.status_code, reply.json()["type"]) == (500, "urn:mapl:problem:fault")
        assert client.get("/v1/budget").json()["answered"] == 0
    assert "RuntimeError in test_under_stress.py" in caplog.text
    assert "canary" not in caplog.text + reply.text


def test_overload_gives_only_429_and_503_and_every_answer_is_on_record(tmp_path: Path) -> None:
    ledger = SqliteLedger(tmp_path / "ledger.sqlite")
    tight = ServerSettings(most_waiting=8, most_requests=16, rows_per_second=200.0, burst=50)
    run = StandInRun(queries=2_000, panel=SlowPanel())
    with serving(run, ledger, settings=tight) as served:
        served.key()

        def post(start: int) -> list[int]:
            with served.client() as client:
                rows = [{"rows": questions(1, start=i)} for i in range(start, start + 15)]
                replies = [client.post("/v1/answers", json=one) for one in rows]
            assert all(reply.status_code == 200 or reply.headers["retry-after"] == "1" for reply in replies)
            return [reply.status_code for reply in replies]

        with ThreadPoolExecutor(24) as threads:
            statuses = Counter(status for some in threads.map(post, range(0, 24 * 15, 15)) for status in some)
    assert set(statuses) == {200, 429, 503} or set(statuses) == {200, 503}
    with SqliteLedger(tmp_path / "ledger.sqlite") as again:
        again.verify()
        state = again.spending("labels")
    assert state.answered + state.abstained == statuses[200]
