"""Two servers on one ledger that are sent one Idempotency-Key at the same moment: one of them spends."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from threading import Barrier
from typing import Any
from uuid import uuid4

import httpx
import pytest
from stand_in import GatedPanel, Served, StandInRun, serving

from mapl.release.ledger.opening import open_ledger
from mapl.service.settings import ServerSettings

ROUNDS = 4
SLICED = ServerSettings(most_in_slice=5)
OTHER_BODY = "urn:mapl:problem:other-body"


class Pair:
    """Two servers with a connection to the ledger each, and a key that both know."""

    def __init__(self, one: Served, other: Served) -> None:
        self.servers = (one, other)
        token = one.key()
        self.clients = [served.client(token=token) for served in self.servers]

    def post(self, server: int, rows: list[Any], name: str) -> httpx.Response:
        return self.clients[server].post("/v1/answers", json={"rows": rows}, headers={"Idempotency-Key": name})

    def at_once(self, rows: tuple[list[Any], list[Any]], name: str) -> list[httpx.Response]:
        """Send a request to each server at the same moment."""
        together = Barrier(2)

        def post(server: int) -> httpx.Response:
            together.wait()
            return self.post(server, rows[server], name)

        with ThreadPoolExecutor(2) as threads:
            return list(threads.map(post, (0, 1)))

    @property
    def spent(self) -> int:
        state = self.servers[0].ledger.spending("labels")
        return int(state.answered + state.abstained)


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    if request.param == "sqlite":
        address = f"sqlite:///{tmp_path_factory.mktemp('two')}/ledger.sqlite"
    else:
        address = f"{request.getfixturevalue('postgres')}&schema={uuid4().hex}"
    with ExitStack() as stack:
        served = []
        for _ in range(2):
            ledger = stack.enter_context(open_ledger(address))
            run = StandInRun(queries=5000, panel=GatedPanel())
            served.append(stack.enter_context(serving(run, ledger, settings=SLICED)))
        both = Pair(*served)
        for client in both.clients:
            stack.enter_context(client)
        yield both
        served[0].ledger.verify()


def of_round(turn: int, count: int, *, kind: str) -> list[Any]:
    return [[5.0, f"{kind} {turn} {i}"] for i in range(count)]


@pytest.mark.parametrize("count", [1, 23], ids=["small", "in slices"])
def test_the_same_body_spends_once_and_has_one_reply(pair: Pair, count: int) -> None:
    for turn in range(ROUNDS):
        before, rows = pair.spent, of_round(turn, count, kind=f"same of {count}")
        told = pair.at_once((rows, rows), f"same {count} {turn}")
        assert [one.status_code for one in told] == [200, 200]
        assert told[0].content == told[1].content
        assert pair.spent == before + count


@pytest.mark.parametrize("counts", [(1, 2), (23, 24), (1, 24)], ids=["small", "in slices", "one of each"])
def test_of_two_bodies_one_is_answered_and_the_other_spends_nothing(pair: Pair, counts: tuple[int, int]) -> None:
    for turn in range(ROUNDS):
        before, name = pair.spent, f"other {counts} {turn}"
        rows = [of_round(turn, counts[i], kind=f"other {i} of {counts}") for i in range(2)]
        told = pair.at_once((rows[0], rows[1]), name)
        assert sorted(one.status_code for one in told) == [200, 422]
        answered = next(i for i in range(2) if told[i].status_code == 200)
        assert told[1 - answered].json()["type"] == OTHER_BODY
        assert pair.spent == before + counts[answered]
        for server in range(2):  # and so it stays, wherever it is sent
            assert pair.post(server, rows[answered], name).content == told[answered].content
            assert pair.post(server, rows[1 - answered], name).json()["type"] == OTHER_BODY
        assert pair.spent == before + counts[answered]


def test_a_name_is_taken_from_the_first_slice_on(pair: Pair) -> None:
    """Both were answered and counted whole, and the second was refused then."""
    panel, before, rows = pair.servers[0].service.run.panel, pair.spent, of_round(0, 60, kind="gated")
    with ThreadPoolExecutor(1) as threads:
        with panel.shut():
            under_way = threads.submit(pair.post, 0, rows, "gated")
            assert panel.came.wait(300)
            for other in (rows[:59], rows[:1]):
                assert pair.post(1, other, "gated").json().get("type") == OTHER_BODY
            assert pair.spent == before
            whole = pair.post(1, rows, "gated")  # goes on with it, since nobody knows whether the first one lives
            assert (whole.status_code, pair.spent) == (200, before + 60)
        assert under_way.result(300).content == whole.content
    assert pair.spent == before + 60


def test_what_is_under_way_is_no_answer_yet(pair: Pair) -> None:
    panel, rows = pair.servers[0].service.run.panel, of_round(0, 60, kind="no answer yet")
    known = pair.post(1, rows[:1], "known").json()["answers"]
    client = pair.clients[1]
    with ThreadPoolExecutor(1) as threads:
        with panel.shut():
            under_way = threads.submit(pair.post, 0, rows, "no answer yet")
            assert panel.came.wait(300)
            clerk = pair.servers[0].service.bulk.clerk
            (stored,) = clerk.ledger._execute("SELECT id FROM inquiries ORDER BY place DESC LIMIT 1")
            assert client.get(f"/v1/answers/{stored[0]}").status_code == 404
        told = under_way.result(300)
        assert told.json()["id"] == stored[0]
        assert told.json()["answers"][:1] == known
        assert client.get(f"/v1/answers/{stored[0]}").content == told.content
