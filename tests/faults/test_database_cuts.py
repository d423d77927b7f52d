"""PostgreSQL that dies, and machines that lose power under it: every answer that was told is there afterwards.

A crash kills all processes of the server in the middle of answers; what they wrote survives. After a power cut less
does. PostgreSQL says how much of its log is synced; everything else may be on the disk or not: sectors of the log
after that, and sectors of every table that were written since the last checkpoint.
"""

from __future__ import annotations

import random
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np
import pytest
from postgres import Cluster, running_cluster
from test_ledger_failures import answered, begin, begun, check_whole

from mapl.errors import LedgerError
from mapl.release.ledger.opening import open_ledger

CRASHES = 6
CUTS = 2
SECTOR = 512
SEGMENT = 16 << 20
NOT_MIXED = ("pg_wal", "log", "postmaster.pid", "postmaster.opts", "postgresql.auto.conf")
CONTROL = Path("global/pg_control")
"""Written when a checkpoint is complete: the cuts come before that."""

STILL = {
    "autovacuum": "off",
    "checkpoint_timeout": "1h",
    "wal_keep_size": "1GB",
    "wal_writer_delay": "10s",
    "wal_writer_flush_after": "1GB",
}
"""Nothing but what a test asks for is written, and the log of those who do not wait is not synced in passing."""


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with running_cluster() as running:
        yield running


@pytest.fixture
def address(cluster: Cluster) -> Iterator[str]:
    """Return the address of a ledger that is not there yet."""
    yield f"{cluster.address}&schema={uuid4().hex}"
    cluster.sql("ALTER SYSTEM RESET ALL")
    cluster.sql("SELECT pg_reload_conf()")


def test_no_crash_loses_an_answer(cluster: Cluster, address: str) -> None:
    chance = random.Random(1)
    ledger, told = begun(address), 0
    refusals: list[str] = []

    def ask() -> None:
        nonlocal told
        try:
            while True:
                assert answered(ledger, told)
                told += 1
        except LedgerError as refusal:
            refusals.append(str(refusal))

    for _ in range(CRASHES):
        asking, enough = Thread(target=ask), told + chance.randint(1, 6)
        asking.start()
        while told < enough and asking.is_alive():
            time.sleep(0.001)
        time.sleep(chance.uniform(0.0, 0.01))
        cluster.crash()
        asking.join()
        cluster.recover()
    assert len(refusals) == CRASHES
    assert all("nothing was released" in one for one in refusals)
    check_whole(ledger, told, more=1)
    ledger.close()
    again = begun(address)
    again.verify()
    again.close()


class Moment(NamedTuple):
    """The files of a server when some groups had been answered, how far its log was synced, and a later log."""

    files: Path
    synced: int
    told: int
    later: Path


def copy(files: Path, name: str, root: Path) -> Path:
    subprocess.run(["cp", "-a", files, root / name], check=True)
    return root / name


def prepare(cluster: Cluster, **settings: str) -> None:
    for name, value in {**STILL, **settings}.items():
        cluster.sql(f"ALTER SYSTEM SET {name} = '{value}'")
    cluster.sql("SELECT pg_reload_conf()")


def mixed(old: bytes, new: bytes, chance: np.random.Generator | None) -> bytes:
    """Return what a file may hold that was one and then the other: of every sector either, or the first only."""
    size = max(len(old), len(new))
    sectors = -(-size // SECTOR)
    padded = b"".join(one.ljust(sectors * SECTOR, b"\0") for one in (old, new))
    both = np.frombuffer(padded, np.uint8).reshape(2, sectors, SECTOR)
    which = np.zeros(sectors, np.int64) if chance is None else chance.integers(2, size=sectors)
    return both[which, np.arange(sectors)].tobytes()[:size]


def cut(cluster: Cluster, checkpoint: Path, last: Moment, chance: np.random.Generator | None) -> None:
    """Put the disk into a state in which a cut right after a moment may have left it, and start.

    The tables are those of the checkpoint and of the moment, sector by sector; the log is whole as far as it was
    synced, and holds any sectors of what was written later.
    """
    put_back(cluster, last)
    for path in sorted(last.files.rglob("*")):
        name = path.relative_to(last.files)
        if path.is_file() and name.parts[0] not in NOT_MIXED and changed(checkpoint / name, path):
            old, new = (checkpoint / name).read_bytes(), path.read_bytes()
            (cluster.data / name).write_bytes(old if name == CONTROL else mixed(old, new, chance))
    for path in sorted((cluster.data / "pg_wal").iterdir()):
        if path.is_file() and (last.later / path.name).exists():
            path.write_bytes(log_of(last.later / path.name, last.synced, chance))
    cluster.recover()


def changed(old: Path, new: Path) -> bool:
    """Say whether a file was written since; one that is new is left as it is."""
    if not old.exists():
        return False
    before, after = old.stat(), new.stat()
    return (before.st_mtime_ns, before.st_size) != (after.st_mtime_ns, after.st_size)


def put_back(cluster: Cluster, last: Moment) -> None:
    shutil.rmtree(cluster.data)
    subprocess.run(["cp", "-a", last.files, cluster.data], check=True)
    (cluster.data / "postmaster.pid").unlink()
    (cluster.data / "postgresql.auto.conf").write_text("")


def log_of(path: Path, synced: int, chance: np.random.Generator | None) -> bytes:
    """Return what a file of the log may hold: all that was synced, and any sectors of what follows."""
    begins = (int(path.name[8:16], 16) * 256 + int(path.name[16:], 16)) * SEGMENT
    content = path.read_bytes()
    return mixed(content[: max(synced - begins, 0)].ljust(SEGMENT, b"\0"), content, chance)


def survives(
    cluster: Cluster, address: str, checkpoint: Path, last: Moment, chance: np.random.Generator | None
) -> bool:
    """Say whether all that was told is there after a cut, and the ledger goes on; the server is gone then."""
    try:
        cut(cluster, checkpoint, last, chance)
    except AssertionError:  # a database that lost sectors may not even start
        return False
    try:
        with closing(open_ledger(address)) as ledger:
            begin(ledger)
            check_whole(ledger, last.told, more=1)
    except (AssertionError, LedgerError):
        return False
    finally:
        cluster.crash()
    return True


def record(cluster: Cluster, ledger: Any, root: Path, *, cuts: int, written: bool) -> tuple[Path, list[Moment]]:
    """Answer, crash, and return the files at a checkpoint and at each moment.

    With `written`, every other one is of another checkpoint that is cut off before its end: it has written all
    tables by then.
    """
    told = 0
    cluster.sql("CHECKPOINT")
    checkpoint, moments = copy(cluster.data, "checkpoint", root), []
    for number in range(cuts):
        for _ in range(3):
            assert answered(ledger, told)
            told += 1
        if written and number % 2 == 0:
            cluster.sql("CHECKPOINT")
        ((synced,),) = cluster.sql("SELECT pg_current_wal_flush_lsn() - '0/0'::pg_lsn")
        files = copy(cluster.data, f"moment {number}", root)
        assert answered(ledger, told)
        later = copy(cluster.data / "pg_wal", f"later {number}", root)
        moments.append(Moment(files, int(synced), told, later))
        told += 1
    ledger.close()
    cluster.crash()
    return checkpoint, moments


def test_no_power_cut_loses_an_answer(cluster: Cluster, address: str, tmp_path: Path) -> None:
    ledger = begun(address)
    prepare(cluster)
    checkpoint, moments = record(cluster, ledger, tmp_path, cuts=CUTS, written=True)
    chance = np.random.default_rng(2)
    assert all(survives(cluster, address, checkpoint, last, chance) for last in moments)
    assert survives(cluster, address, checkpoint, moments[-1], None)
    cluster.recover()


def test_a_database_that_does_not_wait_for_its_disk_is_caught(
    cluster: Cluster, address: str, tmp_path: Path
) -> None:
    ledger: Any = begun(address)
    prepare(cluster)
    ledger._change("SET synchronous_commit = off")  # a ledger sets and checks it when it connects
    checkpoint, (last,) = record(cluster, ledger, tmp_path, cuts=1, written=False)
    assert not survives(cluster, address, checkpoint, last, None)
    cluster.recover()


def test_a_database_that_writes_no_full_pages_is_caught(cluster: Cluster, address: str, tmp_path: Path) -> None:
    ledger = begun(address)
    prepare(cluster, full_page_writes="off")  # which a ledger refuses when it connects
    checkpoint, (last,) = record(cluster, ledger, tmp_path, cuts=1, written=True)
    assert not survives(cluster, address, checkpoint, last, np.random.default_rng(3))
    put_back(cluster, last)
    cluster.recover()


@pytest.mark.parametrize("setting", ["fsync", "full_page_writes"])
def test_a_server_that_a_power_cut_would_harm_is_refused(cluster: Cluster, address: str, setting: str) -> None:
    prepare(cluster, **{setting: "off"})
    while cluster.sql(f"SHOW {setting}") != [("off",)]:
        time.sleep(0.01)
    with pytest.raises(LedgerError, match=f"may not be whole after a power cut; set {setting} = on"):
        open_ledger(address)
