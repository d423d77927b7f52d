"""Several runs on one server: each with its own keys and budget, none in the way of another."""

from __future__ import annotations

import asyncio
import logging
import re
import shutil
import socket
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from stand_in import EVERYBODY, StandInRun, running

from mapl import Client
from mapl.errors import InvalidData, InvalidParameter
from mapl.noise import SeededCoins
from mapl.release.ledger.memory import MemoryLedger
from mapl.service.access.keys import KeyMaker
from mapl.service.app import create_app
from mapl.service.service import Service
from mapl.service.serving import Opening, several
from mapl.service.settings import ServerSettings
from mapl.service.several.several_runs import SeveralRuns, holds_runs


def put(folder: Path, name: str) -> None:
    """Make what looks like a taught run."""
    (folder / name / "private").mkdir(parents=True)
    (folder / name / "public").mkdir()
    (folder / name / "private" / "service.key").write_bytes(name.encode().ljust(32, b"."))
    (folder / name / "public" / "plan.json").touch()


class WatchedRuns(SeveralRuns):
    """Can be told from another thread to look again, as SIGHUP tells it."""

    loop: asyncio.AbstractEventLoop

    async def look(self) -> None:
        self.loop = asyncio.get_running_loop()
        await super().look()

    def look_again(self) -> None:
        asyncio.run_coroutine_threadsafe(self.look(), self.loop).result(300)


@dataclass
class ManyServed:
    """A server of stand-in runs, and a key for each."""

    folder: Path
    url: str = ""
    app: Any = None
    keys: dict[str, str] = field(default_factory=dict)
    closed: list[str] = field(default_factory=list)

    def opened(self, path: Path) -> Any:
        if path.name.startswith("broken"):
            raise InvalidData("its teachers are damaged") if path.name == "broken" else ValueError("a private cell")
        run = StandInRun(service_key=(path / "private" / "service.key").read_bytes())
        ledger = ClosingLedger(self.closed, path.name)
        service = Service.open(run, ledger, SeededCoins(1), settings=ServerSettings())
        token, record = KeyMaker.of(run.service_key).new("test", EVERYBODY)
        ledger.add_key(record)
        self.keys[path.name] = token
        return create_app(service)

    def client(self, name: str, key: str | None = None) -> httpx.Client:
        headers = {"Authorization": f"Bearer {self.keys[key or name]}"}
        return httpx.Client(base_url=f"{self.url}/runs/{name}", headers=headers, timeout=300, trust_env=False)

    def get(self, path: str) -> httpx.Response:
        return httpx.get(f"{self.url}{path}", timeout=300, trust_env=False)


class ClosingLedger(MemoryLedger):
    """Tells when it is closed."""

    def __init__(self, closed: list[str], name: str) -> None:
        super().__init__()
        self._told, self._name = closed, name

    def close(self) -> None:
        self._told.append(self._name)


@pytest.fixture
def many(tmp_path: Path) -> Iterator[ManyServed]:
    for name in ("asthma", "broken", "broken too", "diabetes", "not a name", "broken-oddly"):
        put(tmp_path, name)
    (tmp_path / "a file").touch()
    served = ManyServed(tmp_path)
    served.app = WatchedRuns(tmp_path, served.opened, ServerSettings())
    with running(served.app, ServerSettings()) as served.url:
        yield served


def test_each_run_has_its_own_keys_answers_and_budget(many: ManyServed) -> None:
    with many.client("asthma") as one, many.client("diabetes") as other:
        asked = one.post("/v1/answers", json={"rows": [[5.0, "a question"]]})
        assert asked.status_code == 200
        assert (one.get("/v1/budget").json()["answered"], other.get("/v1/budget").json()["answered"]) == (1, 0)
        assert one.get(f"/v1/answers/{asked.json()['id']}").status_code == 200
        assert other.get(f"/v1/answers/{asked.json()['id']}").status_code == 404
    with many.client("asthma", key="diabetes") as stranger:
        assert stranger.get("/v1/budget").status_code == 401
    with Client(f"{many.url}/runs/diabetes", many.keys["diabetes"]) as client:
        assert client.ask([[5.0, "a question"]]).labels == ("certainly",)


def test_a_run_that_cannot_be_opened_is_left_out(many: ManyServed, caplog: pytest.LogCaptureFixture) -> None:
    assert many.get("/runs").json() == {"runs": ["asthma", "diabetes"], "left_out": ["broken", "broken-oddly"]}
    assert many.get("/readyz").status_code == many.get("/healthz").status_code == 200
    with caplog.at_level(logging.ERROR, logger="mapl"):
        many.app.look_again()
    assert "The run broken is left out: its teachers are damaged" in caplog.text
    assert "The run broken-oddly is left out: ValueError in test_folder_of_runs.py" in caplog.text
    assert "a private cell" not in caplog.text  # words of a fault may quote anything
    assert "'not a name' is left out" in caplog.text
    for path in (
        "/runs/broken/",
        "/runs/nobody/v1/budget",
        "/runs/",
        "/runs/../etc",
        "/v1/answers",
        "/runs/asthma",
    ):
        refused = many.get(path)
        assert (refused.status_code, refused.json()["type"]) == (404, "urn:mapl:problem:not-found"), path


def test_the_pages_of_runs_keep_to_themselves(many: ManyServed) -> None:
    home = many.get("/").text
    assert 'href="/runs/asthma/"' in home
    assert "cannot be served" in home
    with httpx.Client(base_url=many.url, timeout=300, trust_env=False, follow_redirects=True) as browser:
        page = browser.post("/runs/asthma/page/sign-in", data={"key": many.keys["asthma"]})
        assert (page.status_code, page.url.path) == (200, "/runs/asthma/")
        (cookie,) = browser.cookies.jar
        assert cookie.path == "/runs/asthma"
        addresses = re.findall(r'(?:href|src|action|hx-get|hx-post)="([^"#]+)"', page.text)
        inside = [one for one in addresses if not one.startswith("data:")]
        assert len(inside) > 8
        assert all(urlsplit(one).path.startswith("/runs/asthma/") for one in inside)
        for one in inside:
            assert browser.get(one).status_code in (200, 405), one
        asked = browser.post("/runs/asthma/page/question", data={"column-0": "5", "column-1": "by form"})
        assert asked.status_code == 200
        assert 'action="/runs/asthma/page/question"' in asked.text
        assert "API key" in browser.get("/runs/diabetes/").text  # signed in there is nobody


def test_a_changed_folder_is_taken_up_and_nobody_is_cut_off(many: ManyServed) -> None:
    body = b'{"rows": [[5.0, "under way"]]}'
    head = (
        f"POST /runs/asthma/v1/answers HTTP/1.1\r\nHost: here\r\nContent-Type: application/json\r\n"
        f"Authorization: Bearer {many.keys['asthma']}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    address = urlsplit(many.url)
    with socket.create_connection((str(address.hostname), int(address.port or 0)), timeout=300) as caller:
        caller.sendall(head.encode() + body[:9])
        while not under_way(many, "asthma"):
            pass
        old = many.keys["asthma"]
        shutil.move(many.folder / "asthma", many.folder.parent / f"{many.folder.name}-gone")
        put(many.folder, "asthma")  # another run under the same name
        put(many.folder, "gout")
        shutil.rmtree(many.folder / "diabetes")
        many.app.look_again()
        assert many.get("/runs").json()["runs"] == ["asthma", "gout"]
        assert many.get("/runs/diabetes/v1/budget").status_code == 404
        assert many.keys["asthma"] != old
        with many.client("asthma") as new, many.client("gout") as gout:
            assert new.get("/v1/budget").json()["answered"] == gout.get("/v1/budget").json()["answered"] == 0
        assert "asthma" not in many.closed
        caller.sendall(body[9:])
        said = b"".join(iter(lambda: caller.recv(4096), b""))
    assert said.startswith(b"HTTP/1.1 200 ")
    assert b'"answered"' in said
    same = many.app._runs["gout"]
    many.app.look_again()  # what has not changed goes on
    assert many.app._runs["gout"] is same
    assert set(many.closed) <= {"asthma", "diabetes"}


def test_a_run_copied_over_another_takes_its_place(many: ManyServed) -> None:
    """It keeps every inode; a removed folder's numbers are given to the next one, too."""
    old, before = many.app._runs["asthma"], many.keys["asthma"]
    (many.folder / "asthma" / "private" / "service.key").write_bytes(b"another".ljust(32, b"."))
    many.app.look_again()
    assert many.app._runs["asthma"] is not old
    assert many.keys["asthma"] != before
    with many.client("asthma") as new:
        assert new.get("/v1/budget").status_code == 200


def test_what_cannot_be_read_is_in_nobodys_way(many: ManyServed, caplog: pytest.LogCaptureFixture) -> None:
    """As lost+found; the start failed, and a reload left a traceback in the log and did nothing."""
    (many.folder / "a lost one").symlink_to("x" * 300)  # no name may be so long: this cannot be read by anybody
    put(many.folder, "gout")
    assert holds_runs(many.folder)
    with caplog.at_level(logging.WARNING):
        many.app.look_again()
    assert many.get("/runs").json()["runs"] == ["asthma", "diabetes", "gout"]
    assert "'a lost one' is passed over" in caplog.text


def test_the_runs_of_a_folder_that_is_away_go_on(many: ManyServed, caplog: pytest.LogCaptureFixture) -> None:
    away = many.folder.with_name(f"{many.folder.name}-away")
    many.folder.rename(away)
    with caplog.at_level(logging.ERROR):
        many.app.look_again()
    assert "its runs go on as they are" in caplog.text
    assert many.get("/runs").json()["runs"] == ["asthma", "diabetes"]
    away.rename(many.folder)
    same = many.app._runs["asthma"]
    many.app.look_again()
    assert many.app._runs["asthma"] is same


def under_way(many: ManyServed, name: str) -> int:
    return int(many.app._runs[name]._under_way)


def test_what_is_about_one_run_is_refused_for_several(tmp_path: Path) -> None:
    assert not holds_runs(tmp_path)
    put(tmp_path, "asthma")
    assert holds_runs(tmp_path)
    assert not holds_runs(tmp_path / "asthma")
    for given in ({"ledger": "memory:"}, {"head": "0:" + "0" * 64}, {"witness": tmp_path}, {"student": tmp_path}):
        with pytest.raises(InvalidParameter, match="holds several runs"):
            several(Opening(tmp_path, **given))  # type: ignore[arg-type]
