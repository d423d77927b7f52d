"""`mapl teach`, `mapl keys` and `mapl serve` as processes, and nothing private in whatever they write."""

from __future__ import annotations

import json
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from taught import CANARY, mapl, new_key, process, teach

from mapl import Client
from mapl.errors import ServiceError
from mapl.service.entrance import FRESH

ROWS = [[3.0, "red", f"{CANARY} of a question"], [-3.0, "blue", f"{CANARY} of another"], [0.001, "red", CANARY]]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return teach(tmp_path_factory.mktemp("taught"))


def test_a_server_goes_on_where_it_ended_and_says_nothing_private(run: Path) -> None:
    key = new_key(run)
    with process(run, "--access-log") as first, Client(first.url, key) as client:
        told, budget = client.ask(ROWS), client.budget()
        assert told.labels[:2] == ("yes", "no")
        seen = replies(first.url, key)
        assert first.stop() == 0
    assert {reply.status_code for reply in seen} == {200, 400, 401, 404, 422}
    for reply in seen:
        assert CANARY not in reply.text + str(reply.headers)
    caller = key.split("_")[1]
    assert f'{{"method":"POST","route":"/v1/answers","status":200,"caller":"{caller}"}}' in first.said
    assert "mapl.access" in first.said
    assert CANARY not in first.said
    assert key not in first.said
    for file in (run / "private").glob("ledger.sqlite*"):
        assert CANARY.encode() not in file.read_bytes()

    reader = new_key(run, scope="read", most=7)
    with process(run) as second, Client(second.url, key) as client, Client(second.url, reader) as other:
        assert client.answer(told.id) == told
        assert (client.ask(ROWS).labels, client.budget()) == (told.labels, budget)
        revoked_while_served(run, reader, other)
        assert second.stop(signal.SIGINT) == 0
    assert "mapl.access" not in second.said


def replies(url: str, key: str) -> list[httpx.Response]:
    """Ask for everything there is, rightly and wrongly."""
    bad = [[[CANARY, "red", "a"]], [[1.0, "red"]], [{"x": 1, "colour": 2, "note": CANARY, "more": CANARY}], CANARY]
    with httpx.Client(base_url=url, headers={"Authorization": f"Bearer {key}"}, trust_env=False) as http:
        seen = [http.post("/v1/answers", json={"rows": rows}) for rows in (ROWS, *bad)]
        seen.append(http.post("/v1/answers", content=CANARY, headers={"Content-Type": "application/json"}))
        seen += [http.get(path) for path in (f"/v1/answers/{CANARY}", f"/{CANARY}", f"/v1/ledger?after={CANARY}")]
        seen.append(http.get("/v1/budget", headers={"Authorization": f"Bearer mapl_{CANARY}"}))
        seen += [http.get(path) for path in ("/v1/budget", "/v1/plan", "/v1/ledger", "/v1/report", "/metrics")]
    return seen


def revoked_while_served(run: Path, key: str, client: Client) -> None:
    caller = key.split("_")[1]
    (listed,) = [one for one in json.loads(mapl("keys", "list", run, "--json"))["keys"] if one["id"] == caller]
    assert (listed["name"], listed["scopes"], listed["most"]) == ("tester", ["read"], 7)
    assert key not in mapl("keys", "list", run)
    assert client.plan()["plan"]["classes"] == ["no", "yes"]
    mapl("keys", "revoke", run, caller)
    time.sleep(2 * FRESH)
    with pytest.raises(ServiceError, match="revoked"):
        client.plan()


def test_several_workers_share_one_budget(run: Path) -> None:
    key = new_key(run)
    with process(run, "--workers", 2) as server, Client(server.url, key) as client:
        before = client.budget()
        rows = [[5.0 + i, "red", "shared"] for i in range(20)]

        def ask(i: int) -> tuple[str | None, ...]:
            with Client(server.url, key) as one:
                return one.ask([rows[i % 20]]).labels

        with ThreadPoolExecutor(8) as threads:
            told = list(threads.map(ask, range(60)))
        assert told[:20] == told[20:40] == told[40:]
        after = client.budget()
        assert after["answered"] + after["abstained"] == before["answered"] + before["abstained"] + 20
        assert server.stop() == 0
