"""Killing servers while they answer, and looking afterwards whether the ledger knows of every answer they gave."""

from __future__ import annotations

import http.client
import json
import os
import random
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Any

from mapl.pipeline.online.run import OnlineRun
from mapl.release.ledger.inquiries import NOT_ASKED
from mapl.release.ledger.opening import open_ledger
from mapl.service.access.keys import KeyMaker
from mapl.service.answering.form import ANSWERED

SERVER = Path(__file__).with_name("forked_server.py")
CLIENTS = 4
EARLY = 0.2
"""The share of servers that are killed at any time after their start; the others begin to answer first."""

LONGEST = 0.08
"""Seconds within which a server is killed then."""

PATIENCE = 300.0
"""Seconds that a busy machine may take to start one."""


@dataclass
class Kills:
    """What clients saw, and what the ledger says."""

    rounds: int = 0
    received: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    cut_off: int = 0
    refused: int = 0
    unrecorded: int = 0
    recorded: int = 0
    rounds_with_answers: int = 0

    @property
    def over_count(self) -> int:
        """How many more questions the ledger has counted than clients have seen answered."""
        return self.recorded - len(self.received)


def new_key(run: OnlineRun, url: str) -> str:
    """Make an API key in a ledger, which is made if it is not there."""
    ledger = open_ledger(url)
    run.begin(ledger, run.coins())
    token, record = KeyMaker.of(run.service_key).new("killing", ("ask",))
    ledger.add_key(record)
    ledger.close()
    return token


@contextmanager
def forked(run: Path, url: str, *, releases_first: bool = False) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """Lend a process that forks servers, and the port they listen at."""
    command = [sys.executable, str(SERVER), str(run), url, "0", *(["--releases-first"] if releases_first else [])]
    # In a session of its own, with nothing of this test's streams: what it forks ends with it.
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield process, int(process.stdout.readline())
    finally:
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                stream.close()


def start(process: subprocess.Popen[str]) -> int:
    """Fork a server and return its number."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("\n")
    process.stdin.flush()
    return int(process.stdout.readline())


def killed(run_folder: Path, url: str, *, rounds: int, seed: int, releases_first: bool = False) -> Kills:
    """Start a server, ask it from several clients, kill it at a random time; again and again; then compare."""
    run, chance, kills = OnlineRun.read(run_folder), random.Random(seed), Kills()
    token, lock = new_key(run, url), Lock()
    with forked(run_folder, url, releases_first=releases_first) as (process, port):
        for round_ in range(rounds):
            before = len(kills.received)
            server = start(process)
            gone = Event()
            clients = [
                Thread(target=_ask, args=(port, token, run, f"{seed} {round_} {i}", kills, lock, gone))
                for i in range(CLIENTS)
            ]
            for client in clients:
                client.start()
            if chance.random() >= EARLY:
                _first_answer(kills, before)
            time.sleep(chance.uniform(0.0, LONGEST))
            os.kill(server, signal.SIGKILL)
            gone.set()
            for client in clients:
                client.join()
            kills.rounds += 1
            kills.rounds_with_answers += len(kills.received) > before
    _compare(kills, run, url, token)
    return kills


def _first_answer(kills: Kills, before: int) -> None:
    deadline = time.monotonic() + PATIENCE
    while len(kills.received) == before and time.monotonic() < deadline:
        time.sleep(0.002)


def _ask(port: int, token: str, run: OnlineRun, name: str, kills: Kills, lock: Lock, gone: Event) -> None:
    """Ask one new question after another until the server is gone."""
    chance = random.Random(name)
    # The socket that servers inherit takes calls while there is none; nobody will answer those.
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    try:
        while True:
            row = [_cell(column, chance) for column in run.schema.columns]
            connection.request("POST", "/v1/answers", json.dumps({"rows": [row]}), headers)
            _readable(connection, gone)
            reply = connection.getresponse()
            said = json.loads(reply.read())
            with lock:
                if reply.status == 200:
                    kills.received[said["id"]] = said["answers"]
                else:
                    kills.refused += 1
    except (OSError, http.client.HTTPException, ValueError):
        with lock:
            kills.cut_off += 1
    finally:
        connection.close()


def _readable(connection: http.client.HTTPConnection, gone: Event) -> None:
    """Wait for a reply, and no longer than there is somebody to give one."""
    while not select.select([connection.sock], [], [], 0.02)[0]:
        if gone.is_set() and not select.select([connection.sock], [], [], 0.02)[0]:
            raise ConnectionError


def _cell(column: Any, chance: random.Random) -> Any:
    if column.kind == "category":
        return chance.choice(column.categories)
    return chance.gauss(column.centre, column.spread)


def _compare(kills: Kills, run: OnlineRun, url: str, token: str) -> None:
    ledger = open_ledger(url)
    caller = token.split("_")[1]
    for id, answers in kills.received.items():
        reply = ledger.reply(id, caller)
        codes = [run.classes.names.index(one["label"]) if one["status"] == ANSWERED else -1 for one in answers]
        if reply is None or reply.labels.tolist() != codes or NOT_ASKED in codes:
            kills.unrecorded += 1
    state = ledger.spending("labels")
    kills.recorded = state.answered + state.abstained
    ledger.verify()
    ledger.close()
