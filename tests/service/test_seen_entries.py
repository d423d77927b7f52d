"""Callers as witnesses: every answer tells how far the ledger has come, and a client refuses one that goes back."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import apsw
import pytest
from stand_in import StandInRun, questions, serving

from mapl import Client
from mapl.errors import InvalidData, InvalidParameter, LedgerRolledBack
from mapl.release.ledger.memory import MemoryLedger
from mapl.release.ledger.sqlite import SqliteLedger
from mapl.service.seen_entries import HEADER, SeenEntries

ONE, OTHER = "a" * 16, "b" * 16


def test_a_number_never_goes_back() -> None:
    seen = SeenEntries()
    seen.take(f"7 {ONE}", seen.now())
    seen.take(f"7 {ONE}", seen.now())
    seen.take(f"3 {OTHER}", seen.now())  # another run at the same address has a budget of its own
    seen.take(f"9 {ONE}", seen.now())
    with pytest.raises(LedgerRolledBack, match=r"gone back from entry 9 of its ledger to 8.*Tell whoever runs"):
        seen.take(f"8 {ONE}", seen.now())
    assert seen.now() == {ONE: 9, OTHER: 3}
    for told in (None, "", "9", f"x {ONE}", f"-1 {ONE}"):
        with pytest.raises(LedgerRolledBack, match="no longer tells"):
            seen.take(told, seen.now())


def test_replies_may_overtake_each_other() -> None:
    seen = SeenEntries()
    before = seen.now()
    seen.take(f"8 {ONE}", before)
    seen.take(f"7 {ONE}", before)  # asked for at the same time
    assert seen.now() == {ONE: 8}


def test_a_server_that_tells_nothing_is_of_an_earlier_version() -> None:
    seen = SeenEntries()
    seen.take(None, seen.now())
    assert seen.now() == {}


def test_a_file_remembers_over_restarts_and_between_processes(tmp_path: Path) -> None:
    path = tmp_path / "seen"
    first, second = SeenEntries(path), SeenEntries(path)
    first.take(f"7 {ONE}", first.now())
    second.take(f"12 {OTHER}", second.now())
    first.take(f"11 {ONE}", first.now())
    assert json.loads(path.read_text()) == {ONE: 11, OTHER: 12}
    assert path.stat().st_mode & 0o777 == 0o600
    again = SeenEntries(path)
    with pytest.raises(LedgerRolledBack, match="from entry 12 of its ledger to 3"):
        again.take(f"3 {OTHER}", again.now())
    path.write_text("[1]")
    with pytest.raises(InvalidData, match="name another file"):
        SeenEntries(path)
    with pytest.raises(InvalidParameter, match="cannot be written"):
        SeenEntries(tmp_path / "nowhere" / "seen")


def put_back(path: Path, old: Path) -> None:
    target, source = apsw.Connection(str(path)), apsw.Connection(str(old))
    with target.backup("main", source, "main") as work:
        work.step(-1)
    target.close()
    source.close()


@pytest.mark.parametrize("restarted", [False, True])
def test_a_client_refuses_what_a_server_without_a_witness_does_not_notice(tmp_path: Path, restarted: bool) -> None:
    """The whole disk was put back while the server was down, so that nothing on it remembers."""
    path, old, file = tmp_path / "l", tmp_path / "old", tmp_path / "seen"
    with serving(ledger=SqliteLedger(path)) as served:
        key = served.key()
        with Client(served.url, key, witness=file) as client:
            client.ask(questions(3))
            put_back(old, path)
            client.ask(questions(5))
            client.ask(questions(9))
            seen = client._seen
    put_back(path, old)
    with serving(ledger=SqliteLedger(path)) as served:
        client = Client(served.url, key, witness=file if restarted else None)
        if not restarted:
            client._seen = seen
        spent = served.ledger.look()
        with client, pytest.raises(LedgerRolledBack, match=r"seen later entries.*nothing was spent"):
            client.ask(questions(9))
        assert served.ledger.look() == spent
        with Client(served.url, key) as stranger:  # nobody else is shut out by what somebody claims
            assert len(stranger.ask(questions(9, start=90))) == 9


def test_a_reply_that_goes_back_is_refused_whatever_the_server_knows(tmp_path: Path) -> None:
    """As where a proxy leaves the header of the request away."""
    with serving() as served, Client(served.url, served.key()) as client:
        client.ask(questions(3))
        (ledger,) = client._seen.now()
        client._seen.take(f"99 {ledger}", {})
        client._seen.header = dict  # type: ignore[method-assign]
        with pytest.raises(LedgerRolledBack, match="gone back from entry 99 of its ledger to"):
            client.ask(questions(3))


@pytest.mark.parametrize("told", ["", "x", "5", "99999999999999999999 " + ONE, "7 " + ONE, "-7 " + ONE, "7," * 900])
def test_nonsense_about_what_was_seen_is_passed_over(told: str) -> None:
    with serving() as served, served.client() as client:
        assert client.post("/v1/answers", json={"rows": questions(1)}, headers={HEADER: told}).status_code == 200


def test_the_number_is_the_same_whatever_is_answered() -> None:
    """Answered, abstained, a mixture; one request of each size: the same headers, byte for byte."""
    told = []
    for size in (5.0, 0.0, -5.0):
        ledger = MemoryLedger()
        with serving(StandInRun(abstentions=20), ledger) as served, served.client() as client:
            replies = [
                client.post("/v1/answers", json={"rows": [[size, str(i)] for i in range(n)]}) for n in (1, 4, 4, 9)
            ]
            replies += [client.get(f"/v1/answers/{replies[0].json()['id']}")]
        told.append([reply.headers[HEADER].partition(" ")[0] for reply in replies])
        statuses = {one["status"] for reply in replies for one in reply.json()["answers"]}
        assert statuses == {"abstained" if size == 0.0 else "answered"}
    assert told[0] == told[1] == told[2]
    assert told[0] == sorted(told[0], key=int)


def test_clients_of_several_servers_see_one_ledger(tmp_path: Path) -> None:
    """What one server has answered the other one has seen when it answers."""
    with serving(ledger=SqliteLedger(tmp_path / "l")) as one, serving(ledger=SqliteLedger(tmp_path / "l")) as two:
        key = one.key()
        two.service.entrance.forget()

        def ask(i: int) -> None:
            with Client((one, two)[i % 2].url, key, witness=tmp_path / "seen") as client:
                for n in range(3):
                    client.ask([[5.0, f"{i} {n}"], [5.0, "shared"]])

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(ask, range(6)))
