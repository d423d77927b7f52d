"""Full, failing and read-only disks, a database that goes away: refused, nothing lost, and it goes on afterwards.

Run as a script, this file plays one scene in a process of its own: limits of a process cannot be raised again.
"""

from __future__ import annotations

import json
import resource
import signal
import subprocess
import sys
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import pytest

from mapl.errors import LedgerError
from mapl.release.ledger.chain import START, Entry
from mapl.release.ledger.inquiries import Inquiry, KeyRecord, OnlineLedger, Reply
from mapl.release.ledger.limits import Limit, Limits
from mapl.release.ledger.opening import open_ledger
from mapl.release.ledger.sqlite import SqliteLedger
from mapl.types import Outcome, Secret, State

MANY = 100_000


def digest(name: object) -> bytes:
    return sha256(str(name).encode()).digest()


def group(number: int, size: int = 16) -> list[Inquiry]:
    names = [f"{number} {i}" for i in range(size)]
    return [Inquiry(name, "ann", digest(name), (digest(name),)) for name in names]


def decide(state: State, new: Sequence[bytes]) -> Outcome:
    labels = np.array([one[0] % 3 for one in new], dtype=np.int32)
    return Outcome(labels, state.after(len(new), 0, halted=False, secret=Secret(3)))


def begun(address: str) -> OnlineLedger:
    ledger = open_ledger(address)
    begin(ledger)
    return ledger


def begin(ledger: OnlineLedger) -> None:
    ledger.open("b" * 64, Limits.of({"labels": Limit(MANY, MANY)}))
    if not ledger.progress("labels").started:
        ledger.append(Entry(START, "labels", payload={"questions": MANY}), secret=Secret(2))
        ledger.add_key(KeyRecord("ann", "", ("ask",), b"", MANY))


def answered(ledger: OnlineLedger, number: int) -> bool:
    """Say whether a group of questions is answered rightly, in full."""
    replies = ledger.exchange("labels", group(number), decide, n_classes=3)
    return all(isinstance(one, Reply) and one.labels[0] == digest(one.id)[0] % 3 for one in replies)


def until_refused(ledger: OnlineLedger) -> tuple[int, str]:
    """Ask until the ledger refuses; return how many groups were answered, and the refusal."""
    for number in range(2_000):
        try:
            assert answered(ledger, number)
        except LedgerError as refusal:
            return number, str(refusal)
    raise AssertionError("the disk never failed")


def check_whole(ledger: OnlineLedger, published: int, *, more: int = 0) -> None:
    """Check that what was published is there, that little else is, that counters agree, and that it goes on."""
    ledger.verify()
    state = ledger.spending("labels")
    assert 16 * published <= state.answered <= 16 * (published + more)
    for number in range(published):
        known = ledger.known([digest(one.id) for one in group(number)])
        assert len(known) == 16
        assert all(one is not None for one in ledger.recall(group(number)))
    (key,) = ledger.keys()
    assert key.taken == state.answered
    assert answered(ledger, MANY + 1)
    assert ledger.spending("labels").answered == state.answered + 16


@pytest.mark.parametrize("scene", ["full", "xSync", "xWrite"])
def test_a_disk_that_is_full_or_fails_is_refused(tmp_path: Path, scene: str) -> None:
    ran = subprocess.run(
        [sys.executable, __file__, scene, tmp_path / "l"], capture_output=True, text=True, check=False, timeout=900
    )
    assert ran.returncode == 0, ran.stderr
    published, refusal = json.loads(ran.stdout)
    assert published >= 1
    assert "the disk is full, read-only or failing. Nothing was released" in refusal
    ledger = begun(f"sqlite:///{tmp_path}/l")
    # What could not be synced may have reached the disk all the same; counting it is allowed.
    check_whole(ledger, published, more=0 if scene == "full" else 1)
    ledger.close()


def test_a_database_without_room_refuses_and_goes_on(tmp_path: Path) -> None:
    ledger = begun(f"sqlite:///{tmp_path}/l")
    assert isinstance(ledger, SqliteLedger)
    ledger._execute(f"PRAGMA max_page_count = {ledger._value('PRAGMA page_count') + 20}")
    published, refusal = until_refused(ledger)
    assert published >= 1
    assert "the disk is full" in refusal
    ledger._execute(f"PRAGMA max_page_count = {MANY}")
    check_whole(ledger, published)
    ledger.close()


def test_a_read_only_ledger_refuses_and_goes_on(tmp_path: Path) -> None:
    ledger = begun(f"sqlite:///{tmp_path}/l")
    assert isinstance(ledger, SqliteLedger)
    assert answered(ledger, 0)
    ledger._execute("PRAGMA query_only = ON")
    for refused in (lambda: answered(ledger, 1), ledger.alive):
        with pytest.raises(LedgerError, match="read-only"):
            refused()
    assert len(ledger.recall(group(0))) == 16
    ledger._execute("PRAGMA query_only = OFF")
    check_whole(ledger, 1)
    ledger.close()


def test_a_database_that_goes_and_comes_back() -> None:
    from postgres import running_server  # not there when this file is run as a script

    with running_server() as server:
        ledger = begun(f"{server.get_uri()}&schema=gone")
        published = 0
        for how in (signal.SIGINT, signal.SIGQUIT):  # a quick stop, and one that leaves everything to recovery
            assert answered(ledger, published)
            published += 1
            process = server.get_postmaster_info().process
            process.send_signal(how)
            process.wait(300)
            for refused in (lambda: ledger.exchange("labels", group(MANY), decide, n_classes=3), ledger.alive):
                with pytest.raises(LedgerError, match=r"cannot be reached.*nothing was released"):
                    refused()
            with pytest.raises(LedgerError, match="cannot be reached"):
                ledger.recall(group(0))
            server.start()
        check_whole(ledger, published)
        ledger.close()


class Failing(apsw.VFS):
    """The usual files, one of whose calls begins to fail after a while."""

    def __init__(self, call: str) -> None:
        self.call, self.left = call, 1_000_000
        super().__init__("failing", "unix", makedefault=True)

    def xOpen(self, name: Any, flags: list[int]) -> Any:  # SQLite's name
        vfs = self

        def fail(self: Any, *given: Any) -> Any:
            vfs.left -= 1
            if vfs.left < 0:
                raise apsw.IOError("a disk that fails")
            return getattr(super(file, self), vfs.call)(*given)

        file = type("File", (apsw.VFSFile,), {self.call: fail})
        return file("unix", name, flags)


def play(scene: str, path: str) -> None:
    vfs = None if scene == "full" else Failing(scene)
    ledger = begun(f"sqlite:///{path}")
    if vfs is None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))
    else:
        vfs.left = 30
    print(json.dumps(until_refused(ledger)))


if __name__ == "__main__":
    play(sys.argv[1], sys.argv[2])
