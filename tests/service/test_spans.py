"""Spans for OpenTelemetry, with its real SDK: what they tell, and that they tell nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any

import httpx
import pytest
from stand_in import Served, StandInRun, questions, running

from mapl.errors import InvalidParameter
from mapl.noise import SeededCoins
from mapl.release.ledger.memory import MemoryLedger
from mapl.service.app import create_app
from mapl.service.service import Service
from mapl.service.settings import ServerSettings
from mapl.service.watching import spans
from mapl.service.watching.metrics import BUCKETS
from mapl.service.watching.spans import BEYOND, SECOND, Spans, spans_to

pytest.importorskip("opentelemetry.sdk", reason="needs the SDK of OpenTelemetry, of the extra telemetry")

TOLD = {"http.request.method", "http.route", "http.response.status_code", "mapl.seconds_at_most"}
PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
CANARY = "numbat"


def exporting() -> tuple[Any, Spans]:
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    kept = InMemorySpanExporter()
    return kept, Spans(SimpleSpanProcessor(kept))


@pytest.fixture
def traced(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Served, Any]]:
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", f"host.name={CANARY}")
    kept, made = exporting()
    ledger = MemoryLedger()
    service = Service.open(StandInRun(abstentions=100), ledger, SeededCoins(1), spans=made)
    with running(create_app(service), ServerSettings()) as url:
        yield Served(url, service, ledger), kept


def test_a_span_tells_route_status_and_a_bucket_and_nothing_else(traced: tuple[Served, Any]) -> None:
    served, kept = traced
    with served.client() as client:
        client.headers["traceparent"] = PARENT
        client.post("/v1/answers", json={"rows": [[5.0, CANARY]]}, headers={"Idempotency-Key": CANARY})
        client.post("/v1/answers", json={"rows": [[CANARY, 5.0]]})
        client.get(f"/v1/answers/{CANARY}")
        client.get(f"/{CANARY}?q={CANARY}")
    with served.client(token=CANARY) as stranger:
        stranger.get("/v1/budget")
    found = kept.get_finished_spans()
    assert [(one.name, one.attributes["http.response.status_code"]) for one in found] == [
        ("POST /v1/answers", 200),
        ("POST /v1/answers", 422),
        ("GET /v1/answers/{id}", 404),
        ("ANY unmatched", 404),
        ("GET /v1/budget", 401),
    ]
    for one in found:
        assert set(one.attributes) == TOLD
        assert (one.parent, one.events, one.links) == (None, (), ())
        assert dict(one.resource.attributes) == {"service.name": "mapl"}
        assert one.start_time % SECOND == 0
        assert (one.end_time - one.start_time) / SECOND == one.attributes["mapl.seconds_at_most"]
        assert one.attributes["mapl.seconds_at_most"] in (*BUCKETS, BEYOND)
        assert CANARY not in one.to_json()
        assert all(key not in one.to_json() for key in served.keys.values())


def test_answers_and_abstentions_have_the_same_spans(traced: tuple[Served, Any]) -> None:
    """Clear questions are answered and close ones are not; nothing in their spans hangs on it but the seconds."""
    served, kept = traced
    with served.client() as client:
        rows = [*questions(20), *questions(20, start=20, size=0.001)]
        said = [client.post("/v1/answers", json={"rows": [row]}).json()["answers"][0]["status"] for row in rows]
    assert {"answered", "abstained"} <= set(said)
    found = kept.get_finished_spans()
    told = {(one.name, *((name, one.attributes[name]) for name in sorted(TOLD)[:3])) for one in found}
    assert len(told) == 1
    assert len(found) == len(said)


@pytest.mark.parametrize(
    ("took", "told"), [(0.0, 0.005), (0.005, 0.005), (0.0051, 0.01), (29.0, 30.0), (31.0, BEYOND)]
)
def test_seconds_become_buckets(took: float, told: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spans.time, "time", lambda: 1_000_000.7)
    kept, made = exporting()
    made.note("GET", "/v1/budget", 200, took)
    (one,) = kept.get_finished_spans()
    assert (one.end_time - one.start_time) / SECOND == told
    assert one.start_time == int(1_000_000.7 - took) * SECOND


def test_spans_are_sent_where_the_operator_says() -> None:
    got: list[tuple[str, bytes]] = []

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            got.append((self.path, self.rfile.read(int(self.headers["content-length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *words: Any) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Collector) as collector:
        thread = Thread(target=collector.serve_forever)
        thread.start()
        try:
            made = spans_to(f"http://127.0.0.1:{collector.server_port}/v1/traces")
            assert made is not None
            made.note("GET", "/v1/budget", 200, 0.1)
            made.close()
        finally:
            collector.shutdown()
            thread.join()
    ((path, body),) = got
    assert path == "/v1/traces"
    assert b"/v1/budget" in body


def test_without_an_address_nothing_is_made() -> None:
    assert spans_to(None) is None
    with pytest.raises(InvalidParameter, match="telemetry_url is no address"):
        ServerSettings(telemetry_url="collector:4318")


def test_a_server_without_spans_answers_all_the_same() -> None:
    service = Service.open(StandInRun(), MemoryLedger(), SeededCoins(1))
    with running(create_app(service), ServerSettings()) as url:
        assert httpx.get(f"{url}/healthz", trust_env=False, timeout=300).status_code == 200
