"""Eight processes on the last units, 200 rounds: exactly the limit is granted, and a careless twin is caught.

Run as a script, this file is the race itself: one process that forks the racers.
"""

from __future__ import annotations

import json
import multiprocessing
import subprocess
import sys
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import uuid4

import apsw
import numpy as np
import psycopg
import pytest

from mapl.release.ledger.chain import START, Entry
from mapl.release.ledger.inquiries import NOT_ASKED, Inquiry, OnlineLedger, Reply
from mapl.release.ledger.limits import Limit, Limits
from mapl.release.ledger.opening import open_ledger
from mapl.types import Outcome, State

RACERS, ROUNDS, UNITS = 8, 200, 5
STAGES = [f"round {i}" for i in range(ROUNDS)]


def race(kind: str, address: str) -> list[list[int]]:
    """Return, for every racer, whether it was granted a unit in each round."""
    ran = subprocess.run(
        [sys.executable, __file__, kind, address], capture_output=True, text=True, check=False, timeout=900
    )
    assert ran.returncode == 0, ran.stderr
    granted: list[list[int]] = json.loads(ran.stdout)
    assert len(granted) == RACERS
    return granted


@pytest.fixture(params=["sqlite", "postgres"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return the address of a ledger with a stage of five units for each round."""
    if request.param == "sqlite":
        where = f"sqlite:///{tmp_path}/ledger.sqlite"
    else:
        where = f"{request.getfixturevalue('postgres')}&schema={uuid4().hex}"
    ledger = open_ledger(where)
    opened(ledger)
    for stage in STAGES:
        ledger.append(Entry(START, stage, payload={"questions": UNITS}))
    ledger.close()
    return where


def opened(ledger: OnlineLedger) -> OnlineLedger:
    ledger.open("a" * 64, Limits.of(dict.fromkeys(STAGES, Limit(UNITS, UNITS))))
    return ledger


def test_exactly_the_limit_is_granted(address: str) -> None:
    granted = np.array(race("ledger", address))
    assert granted.sum(axis=0).tolist() == [UNITS] * ROUNDS
    assert (granted.sum(axis=1) > 0).sum() > RACERS // 2, "nobody raced"
    ledger = opened(open_ledger(address))
    for i, stage in enumerate(STAGES):
        assert ledger.spending(stage) == State(UNITS)
        winners = ledger.known([question(racer, i) for racer in range(RACERS)])
        assert set(winners) == {question(racer, i) for racer in np.flatnonzero(granted[:, i])}
    ledger.verify()
    ledger.close()


def test_who_looks_and_then_writes_without_the_lock_is_caught(address: str) -> None:
    granted = np.array(race("careless", address))
    assert (granted.sum(axis=0) >= UNITS).all()
    assert (granted.sum(axis=0) > UNITS).any()


def question(racer: int, turn: int) -> bytes:
    return sha256(f"{racer} {turn}".encode()).digest()


def decide(state: State, new: Sequence[bytes]) -> Outcome:
    return Outcome(np.zeros(len(new), np.int32), state.after(len(new), 0, halted=False))


class Careful:
    """Asks the ledger."""

    def __init__(self, address: str) -> None:
        self.ledger = opened(open_ledger(address))

    def granted(self, racer: int, turn: int) -> bool:
        asked = question(racer, turn)
        (reply,) = self.ledger.exchange(
            STAGES[turn], [Inquiry(f"{racer} {turn}", "ann", asked, (asked,))], decide, n_classes=2
        )
        return isinstance(reply, Reply) and bool(reply.labels[0] != NOT_ASKED)


class Careless:
    """Counts in a table of its own: looks, and then writes what it has seen plus one."""

    def __init__(self, address: str) -> None:
        self.execute: Any
        if address.startswith("sqlite"):
            connection = apsw.Connection(address.removeprefix("sqlite:///"))
            connection.set_busy_timeout(300_000)
            self.execute = lambda command: connection.execute(command).fetchall()
        else:
            where, _, schema = address.partition("&schema=")
            server = psycopg.connect(where, autocommit=True, options=f"-c search_path={schema}")
            self.execute = lambda command: server.execute(command)

    def prepare(self) -> None:
        self.execute("CREATE TABLE careless (turn INTEGER PRIMARY KEY, taken INTEGER NOT NULL)")
        for turn in range(ROUNDS):
            self.execute(f"INSERT INTO careless VALUES ({turn}, 0)")

    def granted(self, racer: int, turn: int) -> bool:
        ((taken,),) = list(self.execute(f"SELECT taken FROM careless WHERE turn = {turn}"))
        if taken >= UNITS:
            return False
        self.execute(f"UPDATE careless SET taken = {taken} + 1 WHERE turn = {turn}")
        return True


def play(kind: str, address: str) -> None:
    if kind == "careless":
        Careless(address).prepare()
    fork = multiprocessing.get_context("fork")
    together, said = fork.Barrier(RACERS), fork.Queue()

    def run(racer: int) -> None:
        counter = Careful(address) if kind == "ledger" else Careless(address)
        granted = []
        for turn in range(ROUNDS):
            together.wait()
            granted.append(int(counter.granted(racer, turn)))
        said.put((racer, granted))

    racers = [fork.Process(target=run, args=(racer,)) for racer in range(RACERS)]
    for one in racers:
        one.start()
    results = dict(said.get(timeout=900) for _ in racers)
    for one in racers:
        one.join()
    print(json.dumps([results[racer] for racer in range(RACERS)]))


if __name__ == "__main__":
    play(sys.argv[1], sys.argv[2])
