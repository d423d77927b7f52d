"""A copy of a ledger can be read, and spends nothing until the newest exported head shows that it is whole."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

import apsw
import numpy as np
import psycopg
import pytest

from mapl.errors import LedgerError, LedgerTampered
from mapl.release.ledger.chain import START, Entry
from mapl.release.ledger.inquiries import Inquiry, Reply
from mapl.release.ledger.limits import Limit, Limits
from mapl.release.ledger.postgres import PostgresLedger
from mapl.release.ledger.sql.sql_ledger import SqlLedger
from mapl.release.ledger.sql.sqlite_tables import VERSION_1
from mapl.release.ledger.sqlite import SqliteLedger
from mapl.types import Outcome, Secret, State

PLAN = "e" * 64
LIMITS = Limits.of({"labels": Limit(20, 20)})


def yes(state: State, new: Sequence[bytes]) -> Outcome:
    return Outcome(np.ones(len(new), np.int32), state.after(len(new), 0, halted=False, secret=Secret(77)))


def ask(ledger: SqlLedger, name: str) -> list[int]:
    question = sha256(name.encode()).digest()
    (reply,) = ledger.exchange("labels", [Inquiry(name, "ann", question, (question,))], yes, n_classes=2)
    assert isinstance(reply, Reply)
    return list(reply.labels.tolist())


def begun(ledger: SqlLedger) -> SqlLedger:
    ledger.open(PLAN, LIMITS)
    if not ledger.progress("labels").started:
        ledger.append(Entry(START, "labels"), secret=Secret(76))
    return ledger


def refuses_to_spend(ledger: SqlLedger) -> None:
    before = ledger.export()
    for spend in (lambda: ask(ledger, "more"), lambda: ledger.append(Entry("answers", "labels")), ledger.alive):
        with pytest.raises(LedgerError, match=r"is locked: two copies would each spend.*newest head"):
            spend()
    assert ledger.export() == before


def test_a_backup_is_locked_until_the_newest_head_is_given(tmp_path: Path) -> None:
    with begun(SqliteLedger(tmp_path / "l")) as ledger:
        ask(ledger, "a")
        assert isinstance(ledger, SqliteLedger)
        ledger.backup(tmp_path / "early")
        early = ledger.head
        ask(ledger, "b")
        ledger.backup(tmp_path / "copy")
        head = ledger.head
        ask(ledger, "c")
        newest = ledger.head
        assert (tmp_path / "copy").stat().st_mode & 0o777 == 0o600
        with pytest.raises(LedgerError, match="name a new file"):
            ledger.backup(tmp_path / "copy")
    with begun(SqliteLedger(tmp_path / "copy")) as copy:
        assert copy.locked
        refuses_to_spend(copy)
        assert copy.known([sha256(b"b").digest()]) == {sha256(b"b").digest(): 1}
        with pytest.raises(LedgerTampered, match="rolled back"):
            copy.unlock(newest)
        refuses_to_spend(copy)
        copy.unlock(early)  # a head that is in the chain, though not its newest: nothing that was seen is missing
        assert not copy.locked
        assert ask(copy, "more") == [1]
        copy.verify(seen=head)
    with begun(SqliteLedger(tmp_path / "early")) as copy:
        with pytest.raises(LedgerTampered, match="rolled back"):
            copy.unlock(head)
        refuses_to_spend(copy)


def test_a_file_that_was_copied_by_hand_is_locked(tmp_path: Path) -> None:
    with begun(SqliteLedger(tmp_path / "l")) as ledger:
        ask(ledger, "a")
        head = ledger.head
    shutil.copy(tmp_path / "l", tmp_path / "copy")
    with begun(SqliteLedger(tmp_path / "copy")) as copy:
        assert copy.locked
        refuses_to_spend(copy)
        copy.unlock(head)
        ask(copy, "b")
    (tmp_path / "l").rename(tmp_path / "moved")
    with begun(SqliteLedger(tmp_path / "moved")) as moved:  # the same file in the same file system
        ask(moved, "b")


def test_a_file_put_in_place_of_an_open_one_is_noticed(tmp_path: Path) -> None:
    with begun(SqliteLedger(tmp_path / "l")) as ledger:
        ask(ledger, "a")
        ledger.verify()
        shutil.copy(tmp_path / "l", tmp_path / "old")
        (tmp_path / "old").replace(tmp_path / "l")
        with pytest.raises(LedgerError, match="is locked"):
            ask(ledger, "b")
        (tmp_path / "l").unlink()
        with pytest.raises(LedgerError, match="is gone"):
            ask(ledger, "b")


def test_a_file_can_be_locked_by_its_owner(tmp_path: Path) -> None:
    with begun(SqliteLedger(tmp_path / "l")) as ledger:
        ledger.lock()
        refuses_to_spend(ledger)
        ledger.unlock(ledger.head)
        ask(ledger, "a")


def test_a_database_that_was_restored_elsewhere_is_locked(postgres: str) -> None:
    """Another cluster, database or table has other numbers than those that are noted inside."""
    address = postgres
    with begun(PostgresLedger(address, schema="before")) as ledger:
        ask(ledger, "a")
        head = ledger.head
        with begun(PostgresLedger(address, schema="before")) as again:
            assert not again.locked
    with psycopg.connect(address, autocommit=True) as raw:
        raw.execute("CREATE DATABASE elsewhere TEMPLATE postgres")
    with begun(PostgresLedger(address.replace("/postgres?", "/elsewhere?"), schema="before")) as copy:
        assert copy.locked
        refuses_to_spend(copy)
        with pytest.raises(LedgerTampered, match="rolled back"):
            copy.unlock("0" * 64)
        copy.unlock(head)
        assert ask(copy, "b") == [1]


def old_file(path: Path, *, entries: bool) -> None:
    """Write a file as version 1 did: its tables, and the rows that its ledger held."""
    source = SqliteLedger(path.with_suffix(".new"))
    if entries:
        begun(source)
    old = apsw.Connection(str(path))
    old.execute("PRAGMA journal_mode = WAL")
    old.execute(VERSION_1)
    for table, places in (("entries", 13), ("answers", 4), ("secrets", 3)):
        rows = source._execute(f"SELECT * FROM {table}")
        old.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * places)})", rows)
    old.execute(f"PRAGMA application_id = {int.from_bytes(b'mapl', 'big')}; PRAGMA user_version = 1")
    old.close()
    source.close()


@pytest.mark.parametrize("entries", [True, False])
def test_a_file_of_version_1_is_brought_up_to_date(tmp_path: Path, entries: bool) -> None:
    old_file(tmp_path / "l", entries=entries)
    with begun(SqliteLedger(tmp_path / "l")) as ledger:
        assert ledger.progress("labels").state == State(secret=Secret(76))
        assert ask(ledger, "a") == [1]
        ledger.verify()
    for _ in range(2):
        with begun(SqliteLedger(tmp_path / "l")) as ledger:
            assert not ledger.locked
            assert ledger._execute("PRAGMA user_version") == [(3,)]
            ask(ledger, "b")
            assert ledger.spending("labels") == State(2)


def test_a_migration_that_fails_changes_nothing(tmp_path: Path) -> None:
    old_file(tmp_path / "l", entries=True)
    raw = apsw.Connection(str(tmp_path / "l"))
    raw.execute("CREATE TABLE home (x)")  # in the way
    before = raw.execute("SELECT * FROM sqlite_schema").fetchall()
    with pytest.raises(LedgerError):
        SqliteLedger(tmp_path / "l")
    assert raw.execute("SELECT * FROM sqlite_schema").fetchall() == before
    assert raw.execute("PRAGMA user_version").fetchall() == [(1,)]
    raw.execute("DROP TABLE home")
    raw.close()
    with begun(SqliteLedger(tmp_path / "l")) as ledger:
        ask(ledger, "a")
