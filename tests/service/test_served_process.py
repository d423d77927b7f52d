"""`mapl teach`, `mapl keys` and `mapl serve` as processes, and nothing private in whatever they write."""

from __future__ import annotations

import json
import os
import signal
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import httpx
import pytest
from taught import CANARY, PATIENCE, mapl, new_key, process, teach

from mapl import Client
from mapl.errors import ServiceError
from mapl.service.access.entrance import FRESH

ROWS = [[3.0, "red", f"{CANARY} of a question"], [-3.0, "blue", f"{CANARY} of another"], [0.001, "red", CANARY]]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return teach(tmp_path_factory.mktemp("taught"))


def test_a_server_goes_on_where_it_ended_and_says_nothing_private(run: Path) -> None:
    key = new_key(run)
    with process(run, "--access-log", "--json") as first, Client(first.url, key) as client:
        told, budget = client.ask(ROWS), client.budget()
        assert told.labels[:2] == ("yes", "no")
        seen = replies(first.url, key)
        assert first.stop() == 0
    assert {reply.status_code for reply in seen} == {200, 400, 401, 404, 422}
    for reply in seen:
        assert CANARY not in reply.text + str(reply.headers)
    caller = key.split("_")[1]
    lines = [json.loads(line) for line in first.said.splitlines() if '"mapl.access"' in line]
    asked = [line for line in lines if (line["route"], line["status"]) == ("/v1/answers", 200)]
    assert {line["caller"] for line in asked} == {caller}
    assert all(line["milliseconds"] > 0 and line["request"] and line["method"] == "POST" for line in asked)
    said = json.JSONDecoder().raw_decode(first.said)[0]  # standard output holds this object and nothing else
    assert said == {"run": str(run), "url": first.url, "workers": 1}
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
    with httpx.Client(
        base_url=url, headers={"Authorization": f"Bearer {key}"}, trust_env=False, timeout=PATIENCE
    ) as http:
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
    with pytest.raises(ServiceError, match="revoked"):
        ask_until_refused(client)


def ask_until_refused(client: Client) -> None:
    """Ask on: a key is refused within a second, or later where the machine is busy."""
    while True:
        client.plan()
        time.sleep(FRESH / 4)


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
        one_of_many_bodies(server.url, key)
        assert client.budget()["questions_left"] == after["questions_left"] - 1
        counted = [requests_counted(server.url, key) for _ in range(12)]
        assert counted == list(range(counted[0], counted[0] + 12))  # whichever worker is asked tells of all
        assert counted[0] >= 60
        ended_everywhere(server.url, key)
        assert server.stop() == 0


def one_of_many_bodies(url: str, key: str) -> None:
    """Send one Idempotency-Key with twelve bodies at once, by as many connections: one is answered."""
    together, headers = Barrier(12), {"Authorization": f"Bearer {key}", "Idempotency-Key": "many bodies"}

    def post(i: int) -> str:
        with httpx.Client(base_url=url, headers=headers, trust_env=False, timeout=300) as http:
            together.wait()
            said = http.post("/v1/answers", json={"rows": [[70.0 + i, "red", "many bodies"]]})
        return str(said.json().get("type", said.status_code))

    with ThreadPoolExecutor(12) as threads:
        assert sorted(threads.map(post, range(12))) == ["200", *["urn:mapl:problem:other-body"] * 11]


def requests_counted(url: str, key: str) -> int:
    """Return how many requests the metrics tell of, by a connection of its own."""
    with httpx.Client(
        base_url=url, headers={"Authorization": f"Bearer {key}"}, trust_env=False, timeout=PATIENCE
    ) as http:
        shown = http.get("/metrics").text
    return sum(
        int(float(line.split()[-1])) for line in shown.splitlines() if line.startswith("mapl_requests_total")
    )


def ended_everywhere(url: str, key: str) -> None:
    """Sign out once, and try the cookie until both workers were asked, most likely."""
    with httpx.Client(base_url=url, trust_env=False, timeout=PATIENCE) as browser:
        browser.post("/page/sign-in", data={"key": key})
        stolen = dict(browser.cookies)
        assert browser.get("/page/budget").status_code == 200
        browser.post("/page/sign-out")
    for _ in range(12):
        assert httpx.get(f"{url}/page/budget", cookies=stolen, trust_env=False, timeout=PATIENCE).status_code == 401


def test_no_worker_outlives_its_parent(run: Path) -> None:
    """Not even one that had hardly begun."""
    with process(run, "--workers", 2) as server:
        first = workers_of(server.process.pid)
        os.kill(first[0], signal.SIGKILL)  # so that another is started
        end = time.monotonic() + PATIENCE
        while not (begun := set(workers_of(server.process.pid)) - set(first)) and time.monotonic() < end:
            time.sleep(0.01)
        assert len(begun) == 1
        server.process.kill()
        server.process.wait()
        workers = [*first, *begun]
        while any(alive(one) for one in workers) and time.monotonic() < end:
            time.sleep(0.1)
        left = [one for one in workers if alive(one)]
        for one in left:
            os.kill(one, signal.SIGKILL)
        assert left == []
        server.process.communicate()


def workers_of(parent: int) -> list[int]:
    """Return the workers among the children of a server; multiprocessing has one of its own that tidies up."""
    return [one for one in children(parent) if b"spawn_main" in Path(f"/proc/{one}/cmdline").read_bytes()]


def children(parent: int) -> list[int]:
    listed = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    return [int(one) for one in listed]


def alive(process: int) -> bool:
    try:
        return "State:\tZ" not in Path(f"/proc/{process}/status").read_text()
    except OSError:
        return False


def test_an_upload_that_hangs_does_not_keep_a_server_from_ending(run: Path) -> None:
    key = new_key(run)
    with process(run) as server:
        host, port = server.url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port))) as hanging:
            head = f"POST /v1/answers HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\n"
            hanging.sendall(f"{head}Content-Type: application/json\r\nContent-Length: 99\r\n\r\n{{".encode())
            with Client(server.url, key) as client:
                client.budget()  # which came later, so the upload is under way
            assert server.stop() == 0
            assert hanging.recv(100) == b""  # it was cut off, and not waited for


def test_a_folder_of_runs_is_looked_at_again_when_told(run: Path, tmp_path: Path) -> None:
    key = new_key(run)
    (tmp_path / "first").symlink_to(run)
    with process(tmp_path) as server:
        with Client(f"{server.url}/runs/first", key) as client:
            told = client.ask(ROWS).labels
        (tmp_path / "second").symlink_to(run)
        server.process.send_signal(signal.SIGHUP)
        _await_status(f"{server.url}/runs/second/readyz", 200)
        with Client(f"{server.url}/runs/second", key) as client:
            assert client.ask(ROWS).labels == told
        (tmp_path / "first").unlink()
        server.process.send_signal(signal.SIGHUP)
        _await_status(f"{server.url}/runs/first/readyz", 404)
        assert httpx.get(f"{server.url}/runs/second/readyz", trust_env=False, timeout=PATIENCE).status_code == 200
        assert server.stop() == 0
    assert CANARY not in server.said


def _await_status(url: str, status: int) -> None:
    end = time.monotonic() + PATIENCE
    while httpx.get(url, trust_env=False, timeout=PATIENCE).status_code != status:
        assert time.monotonic() < end
        time.sleep(0.1)
