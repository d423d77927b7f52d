"""Large requests: cut into slices, told as one, and nobody waits behind them."""

from __future__ import annotations

import json
import socket
import struct
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from time import sleep
from typing import Any

import pytest
from stand_in import Served, StandInPanel, StandInRun, questions, serving

from mapl.errors import LedgerError
from mapl.release.ledger.memory import MemoryLedger
from mapl.release.ledger.sqlite import SqliteLedger
from mapl.service.settings import ServerSettings

SLICED = ServerSettings(most_in_slice=10)


def spent(served: Served) -> int:
    state = served.ledger.spending("labels")
    return int(state.answered + state.abstained)


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_slices_are_told_and_stored_as_one_request(kind: str, tmp_path: Path) -> None:
    ledger = MemoryLedger() if kind == "memory" else SqliteLedger(tmp_path / "ledger.sqlite")
    rows = questions(95) + questions(5)
    with serving(StandInRun(), ledger, settings=SLICED) as served, served.client() as client:
        first = client.post("/v1/answers", json={"rows": rows}, headers={"Idempotency-Key": "bulk"})
        assert [one["status"] for one in first.json()["answers"]] == ["answered"] * 100
        assert first.json()["answers"][95:] == first.json()["answers"][:5]
        assert spent(served) == 95
        entries = client.get("/v1/ledger").json()["entries"]
        told = [one for one in entries if one["kind"] == "answers"]
        assert len(told) == 3  # slices are four times as large while nobody else asks
        again = client.post("/v1/answers", json={"rows": rows}, headers={"Idempotency-Key": "bulk"})
        assert again.content == first.content
        assert client.get(f"/v1/answers/{first.json()['id']}").content == first.content
        other = client.post("/v1/answers", json={"rows": rows[:50]}, headers={"Idempotency-Key": "bulk"})
        assert other.json()["type"] == "urn:mapl:problem:other-body"
        assert (spent(served), client.get("/v1/ledger").json()["entries"]) == (95, entries)
        served.ledger.verify()


def test_a_wrong_row_is_named_and_nothing_of_the_request_is_spent() -> None:
    with serving(settings=SLICED) as served, served.client() as client:
        rows: list[Any] = questions(100)
        rows[86] = ["canary", "a"]
        refused = client.post("/v1/answers", json={"rows": rows})
        assert (refused.status_code, refused.json()["detail"][:8]) == (422, "Row 87: ")
        assert "canary" not in refused.text
        few = client.post("/v1/answers", json={"rows": [[5.0, "a"], [5.0, "b"], [5.0]]})
        assert few.json()["detail"].startswith("Row 3: ")
        assert spent(served) == 0


def test_a_cap_is_for_the_whole_request() -> None:
    with serving(settings=SLICED) as served, served.client(token=served.key("ask", most=60)) as client:
        refused = client.post("/v1/answers", json={"rows": questions(61)})
        assert (refused.status_code, refused.json()["type"]) == (429, "urn:mapl:problem:caller-limit")
        assert spent(served) == 0
        assert client.post("/v1/answers", json={"rows": questions(60)}).status_code == 200
        assert client.post("/v1/answers", json={"rows": [*questions(60), *questions(60)]}).status_code == 200


def test_the_budget_ends_within_a_slice() -> None:
    with serving(StandInRun(queries=55), settings=SLICED) as served, served.client() as client:
        told = client.post("/v1/answers", json={"rows": questions(100)})
        assert [one["status"] for one in told.json()["answers"]] == ["answered"] * 55 + ["not asked"] * 45
        assert client.get(f"/v1/answers/{told.json()['id']}").content == told.content
        after = client.post("/v1/answers", json={"rows": questions(50, start=500)})
        assert after.json()["type"] == "urn:mapl:problem:budget-exhausted"


def test_a_name_that_stands_for_another_request_is_refused_before_anything_is_spent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """All slices of ten such requests were answered and counted, and nine were refused then."""
    monkeypatch.setattr("mapl.service.access.entrance.FRESH", 1e9)
    panel, named = GatedPanel(), {"Idempotency-Key": "once"}
    with serving(StandInRun(panel=panel), settings=SLICED) as served, served.client() as client:
        assert client.get("/v1/plan").status_code == 200

        def post(count: int, start: int) -> Any:
            with served.client() as one:
                return one.post("/v1/answers", json={"rows": questions(count, start=start)}, headers=named)

        with ThreadPoolExecutor(2) as threads:
            under_way = threads.submit(post, 60, 0)
            assert panel.first.wait(300)
            meanwhile = threads.submit(post, 50, 0)
            while served.service.desk.waiting < 110:
                sleep(0.01)
            panel.go.set()
            assert under_way.result(300).status_code == 200
            for other in (meanwhile.result(300), post(50, 100)):  # while it is under way, and when it is answered
                assert other.json()["type"] == "urn:mapl:problem:other-body"
        assert (sum(panel.sizes), spent(served)) == (60, 60)


class FailsOnce(MemoryLedger):
    """A ledger that cannot be written in the middle of a request."""

    calls = 0

    def exchange(self, *given: Any, **named: Any) -> Any:
        self.calls += 1
        if self.calls == 2:
            raise LedgerError("the disk is full for a moment")
        return super().exchange(*given, **named)


def test_whoever_is_cut_off_in_the_middle_sends_it_again_and_pays_for_the_rest() -> None:
    with serving(ledger=FailsOnce(), settings=SLICED) as served, served.client() as client:
        named = {"Idempotency-Key": "in the middle"}
        failed = client.post("/v1/answers", json={"rows": questions(100)}, headers=named)
        assert failed.status_code == 503
        assert 0 < spent(served) < 100
        again = client.post("/v1/answers", json={"rows": questions(100)}, headers=named)
        assert (again.status_code, spent(served)) == (200, 100)


class GatedPanel(StandInPanel):
    """Teachers that vote when they are let, and know in which order they were asked."""

    def __init__(self) -> None:
        super().__init__()
        self.go, self.first, self.sizes = Event(), Event(), list[int]()

    def votes(self, rows: Any) -> Any:
        self.sizes.append(len(rows))
        self.first.set()
        assert self.go.wait(300)
        return super().votes(rows)


def test_a_single_question_waits_for_one_slice_and_not_for_ten_thousand_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        "mapl.service.access.entrance.FRESH", 1e9
    )  # the table of keys is not read while a gate is shut
    panel = GatedPanel()
    with serving(StandInRun(queries=2000, panel=panel), settings=SLICED) as served:
        for scopes in ((), ("ask",)):
            with served.client(*scopes) as client:
                assert client.get("/v1/plan").status_code == 200

        def post(rows: list[Any], *scopes: str) -> int:
            with served.client(*scopes) as client:
                return client.post("/v1/answers", json={"rows": rows}).status_code

        with ThreadPoolExecutor(2) as threads:
            bulk = threads.submit(post, questions(400))
            assert panel.first.wait(300)
            single = threads.submit(post, questions(1, start=1000), "ask")
            while served.service.desk.waiting < 401:
                sleep(0.01)
            panel.go.set()
            assert (bulk.result(), single.result()) == (200, 200)
        assert panel.sizes[:2] == [40, 1]  # right after the slice that was at work
        assert set(panel.sizes[2:-1]) <= set(range(1, 11))  # and slices are small from then on


@pytest.mark.parametrize("reset", [False, True], ids=["closed", "reset"])
@pytest.mark.parametrize("name", ["the same name", None], ids=["named", "by rows"])
def test_no_slice_is_begun_for_a_caller_that_has_left(
    monkeypatch: pytest.MonkeyPatch, name: str | None, reset: bool
) -> None:
    monkeypatch.setattr("mapl.service.access.entrance.FRESH", 1e9)
    panel = GatedPanel()
    named = {} if name is None else {"Idempotency-Key": name}
    with serving(StandInRun(queries=2000, panel=panel), settings=SLICED) as served, served.client() as client:
        assert client.get("/v1/plan").status_code == 200
        body = json.dumps({"rows": questions(400)}).encode()
        head = {"Host": "x", "Content-Type": "application/json", "Content-Length": len(body)} | named
        head |= {"Authorization": client.headers["authorization"]}
        lines = "".join(f"{key}: {value}\r\n" for key, value in head.items())
        leaving = socket.create_connection(("127.0.0.1", client.base_url.port))
        leaving.sendall(f"POST /v1/answers HTTP/1.1\r\n{lines}\r\n".encode() + body)
        assert panel.first.wait(300)  # the first slice is at work
        if reset:
            leaving.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        leaving.close()
        assert client.get("/healthz").status_code == 200  # so the server has looked at its connections since
        panel.go.set()
        while served.service.desk.waiting:
            sleep(0.01)
        assert (panel.sizes, spent(served)) == ([40], 40)  # recorded, and nothing after it
        again = client.post("/v1/answers", content=body, headers={"Content-Type": "application/json"} | named)
        assert [one["status"] for one in again.json()["answers"]] == ["answered"] * 400
        assert (sum(panel.sizes), spent(served)) == (400, 400)  # the slice that nobody read was free
        assert client.get(f"/v1/answers/{again.json()['id']}").content == again.content


def test_what_was_told_before_is_told_again_without_reading_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(StandInRun(queries=3000)) as served, served.client() as client:
        rows = [[5.0, f"{i} {'long ' * 10}"] for i in range(2000)]
        first = client.post("/v1/answers", json={"rows": rows})
        assert first.status_code == 200

        def unread(rows: Any) -> Any:
            raise AssertionError("a row was read")

        monkeypatch.setattr(served.service.run, "conformed", unread)
        assert client.post("/v1/answers", json={"rows": rows}).content == first.content


def test_known_questions_of_another_request_are_answered_without_a_vote_or_an_entry() -> None:
    with serving(settings=SLICED) as served, served.client() as client, served.client("ask") as other:
        first = client.post("/v1/answers", json={"rows": questions(100)})
        asked, entries = served.service.run.panel.asked, len(served.ledger.entries())
        again = other.post("/v1/answers", json={"rows": questions(100)[::-1]})
        assert again.json()["answers"] == first.json()["answers"][::-1]
        assert (served.service.run.panel.asked, len(served.ledger.entries())) == (asked, entries)


def test_rows_count_and_not_requests() -> None:
    slow = ServerSettings(rows_per_second=1.0, burst=20)
    with serving(settings=slow) as served, served.client() as client, served.client("ask") as other:
        assert client.post("/v1/answers", json={"rows": questions(18)}).status_code == 200
        refused = client.post("/v1/answers", json={"rows": questions(18, start=50)})
        assert (refused.status_code, refused.json()["type"]) == (429, "urn:mapl:problem:too-many-requests")
        assert 1 <= int(refused.headers["retry-after"]) <= 18
        assert spent(served) == 18
        assert other.post("/v1/answers", json={"rows": questions(18, start=100)}).status_code == 200
