"""The ledger in PostgreSQL: what the database enforces by itself, lost connections, and a server that goes away."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import Any
from uuid import uuid4

import numpy as np
import psycopg
import pytest

from mapl.errors import GuaranteeBroken, InvalidParameter, LedgerError, LedgerTampered
from mapl.release.ledger.chain import NOTHING, START, Entry, Record
from mapl.release.ledger.inquiries import Inquiry, KeyRecord, Reply
from mapl.release.ledger.limits import Limit, Limits
from mapl.release.ledger.opening import open_ledger
from mapl.release.ledger.postgres import PostgresLedger
from mapl.types import Outcome, Secret, State

PLAN = "c" * 64
LIMITS = Limits.of({"labels": Limit(40, 40)})
SECRET = 987_654


def digest(name: str) -> bytes:
    return sha256(name.encode()).digest()


def yes(state: State, new: Sequence[bytes]) -> Outcome:
    return Outcome(np.ones(len(new), np.int32), state.after(len(new), 0, halted=False, secret=Secret(SECRET)))


def ask(ledger: PostgresLedger, *names: str) -> list[int]:
    group = [Inquiry(name, "ann", digest(name), (digest(name),)) for name in names]
    replies = ledger.exchange("labels", group, yes, n_classes=2)
    return [int(one.labels[0]) for one in replies if isinstance(one, Reply)]


class Place:
    """An address and a schema of its own, and a connection that is not mapl's."""

    def __init__(self, address: str) -> None:
        self.address, self.schema = address, uuid4().hex
        self.raw = psycopg.connect(address, autocommit=True, options=f"-c search_path={self.schema}")

    def opened(self) -> PostgresLedger:
        ledger = PostgresLedger(self.address, schema=self.schema)
        ledger.open(PLAN, LIMITS)
        return ledger


@pytest.fixture
def place(postgres: str) -> Iterator[Place]:
    """Return a ledger that has answered two groups of questions."""
    where = Place(postgres)
    with where.opened() as ledger:
        ledger.append(Entry(START, "labels"), secret=Secret(SECRET))
        ledger.add_key(KeyRecord("ann", "", ("ask",), b"", 10))
        ask(ledger, "a", "b")
        ask(ledger, "c")
    yield where
    where.raw.close()


def test_a_commit_is_durable_whatever_the_database_prefers(place: Place) -> None:
    place.raw.execute("ALTER DATABASE postgres SET synchronous_commit = off")
    try:
        with place.opened() as ledger:
            assert ledger._execute("SHOW synchronous_commit") == [("on",)]
    finally:
        place.raw.execute("ALTER DATABASE postgres RESET synchronous_commit")


@pytest.mark.parametrize("table", ["entries", "answers", "secrets", "questions", "inquiries", "keys"])
def test_the_database_refuses_changes(place: Place, table: str) -> None:
    before = place.raw.execute(f"SELECT * FROM {table}").fetchall()
    assert before
    column = {"inquiries": "caller", "keys": "name", "questions": "place"}.get(table, "number")
    value = "'x'" if table in ("inquiries", "keys") else "number + 9" if column == "number" else "place + 9"
    for command in (
        f"DELETE FROM {table}",
        f"UPDATE {table} SET {column} = {value}",
        f"TRUNCATE {table} CASCADE",
    ):
        with pytest.raises(psycopg.errors.CheckViolation, match=r"append-only|only the count"):
            place.raw.execute(command)
    assert place.raw.execute(f"SELECT * FROM {table}").fetchall() == before


def test_a_key_only_counts_up_and_never_above_its_cap(place: Place) -> None:
    for change in ("taken = 1", "taken = 11", "most = 99", "most = NULL"):
        with pytest.raises(psycopg.errors.CheckViolation):
            place.raw.execute(f"UPDATE keys SET {change}")
    place.raw.execute("UPDATE keys SET taken = 10, revoked = 1")
    with pytest.raises(psycopg.errors.CheckViolation):
        place.raw.execute("UPDATE keys SET revoked = 0")


def forge(place: Place, **change: Any) -> None:
    """Insert an entry with SQL alone, as a program without mapl's own checks would, hash and all."""
    cursor = place.raw.execute("SELECT * FROM entries ORDER BY number DESC LIMIT 1")
    names = [column.name for column in cursor.description or ()]
    last = dict(zip(names, cursor.fetchall()[0], strict=True))
    content = {**last, "number": last["number"] + 1, "previous": last["hash"], "answered": 1, "abstained": 0}
    content["all_answered"] += 1
    content.update(change)
    del content["hash"]
    record = Record.sealed(**content)
    place.raw.execute(
        f"INSERT INTO entries ({', '.join(names)}) VALUES ({', '.join(['%s'] * len(names))})",
        [getattr(record, name) for name in names],
    )


def test_the_database_keeps_the_limits_by_itself(place: Place) -> None:
    for change, why in (
        ({"answered": 38, "all_answered": 41}, "entries_check"),
        ({"abstained": 41, "all_abstained": 41}, "entries_check1"),
        ({"answered": 38, "all_answered": 41, "most_answered": 99}, "a limit was raised"),
        ({"most_abstained": 41}, "a limit was raised"),
        ({"stage": "other", "all_answered": 1, "all_abstained": 0}, "a limit was raised"),
        ({"answered": 38, "all_answered": 4}, "counters do not add up"),
        ({"answered": 0}, "counters do not add up"),
        ({"answered": -1, "all_answered": 2}, "entries_answered_check"),
        ({"number": 9}, "out of order"),
        ({"previous": NOTHING}, "out of order"),
        ({"payload": "{"}, "invalid input syntax for type json"),
    ):
        with pytest.raises(psycopg.DatabaseError, match=why):
            forge(place, **change)
    forge(place)


@pytest.mark.parametrize(
    "tampering",
    [
        "UPDATE entries SET answered = 0, all_answered = 2 WHERE number = 4",
        "UPDATE entries SET payload = '{}' WHERE number = 4",
        "UPDATE entries SET hash = previous WHERE number = 4",
        "UPDATE answers SET labels = '\\x0000' WHERE number = 3",
        "UPDATE answers SET width = 3 WHERE number = 3",
        "DELETE FROM answers WHERE number = 3",
        "UPDATE secrets SET value = 3 WHERE number = 4",
        "DELETE FROM secrets WHERE number = 3",
        # Answers tied to other questions than the ones they were given to.
        "UPDATE questions SET place = 1 - place WHERE number = 3",
        "UPDATE questions SET number = 7 - number",
        "UPDATE questions SET digest = sha256(digest) WHERE number = 4",
        "DELETE FROM questions WHERE number = 4",
        "INSERT INTO questions VALUES (sha256('new'), 4, 1)",
        # Requests, their order and their callers; keys, what they may do and have taken; and the log of them.
        "UPDATE inquiries SET caller = 'bob' WHERE place = 1",
        "UPDATE inquiries SET body = sha256(body) WHERE id = 'a'",
        "UPDATE inquiries SET id = 'x' WHERE id = 'c'",
        "UPDATE inquiries SET place = 9 WHERE place = 0",
        "DELETE FROM inquiries WHERE id = 'c'",
        "UPDATE keys SET most = 11",
        "UPDATE keys SET most = NULL",
        "UPDATE keys SET taken = 2",
        "UPDATE keys SET revoked = 1",
        "UPDATE keys SET scopes = 'ask admin'",
        "UPDATE keys SET name = 'bob'",
        "UPDATE keys SET expires = 99",
        "DELETE FROM keys",
        "INSERT INTO keys (id, name, scopes, digest, taken, revoked) VALUES ('eve', '', 'ask', '', 0, 0)",
        "UPDATE details SET content = replace(content, 'ann', 'bob')",
        "DELETE FROM details WHERE number = 2",
        "DELETE FROM details WHERE number = 4",
        "UPDATE home SET stored = 2",
        "UPDATE home SET sealed = 'x'",
    ],
)
def test_tampering_is_seen_before_anything_is_released(place: Place, tampering: str) -> None:
    with place.raw.transaction():
        place.raw.execute("SET LOCAL session_replication_role = replica")  # no triggers
        place.raw.execute(tampering)
    with PostgresLedger(place.address, schema=place.schema) as ledger:
        with pytest.raises(LedgerTampered, match="chain is broken"):
            ledger.open(PLAN, LIMITS)
        with pytest.raises(LedgerTampered):
            ledger.verify()
        with pytest.raises(LedgerError):
            ask(ledger, "d")


def kill_connections(place: Place) -> None:
    place.raw.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE pid <> pg_backend_pid() AND datname IS NOT NULL"
    )


def test_a_lost_connection_is_made_anew(place: Place) -> None:
    with place.opened() as ledger:
        ask(ledger, "d")
        for look in (
            lambda: ask(ledger, "e"),
            lambda: ledger.known([digest("d")]),
            lambda: ledger.spending("labels"),
            ledger.alive,
            ledger.verify,
        ):
            kill_connections(place)
            look()
        kill_connections(place)
        # What was decided from an old look is not appended after a new connection.
        with pytest.raises(LedgerError, match="changed since this process last looked"):
            ledger.append(Entry("answers", "labels"))
        ledger.progress("labels")
        ledger.append(Entry("answers", "labels"))


def test_a_connection_lost_in_the_middle_releases_nothing(place: Place) -> None:
    with place.opened() as ledger:
        before = ledger.export()

        def cut(state: State, new: Sequence[bytes]) -> Outcome:
            kill_connections(place)
            return yes(state, new)

        with pytest.raises(LedgerError, match="lost on the way; nothing was released"):
            ledger.exchange("labels", [Inquiry("d", "ann", digest("d"), (digest("d"),))], cut, n_classes=2)
        assert ledger.export() == before
        assert ask(ledger, "d") == [1]
        ledger.verify()


def test_a_commit_with_a_warning_releases_nothing(place: Place) -> None:
    """PostgreSQL warns, and calls it a success, if somebody cancels its wait for a standby."""
    place.raw.execute(
        "CREATE FUNCTION warn() RETURNS trigger LANGUAGE plpgsql AS "
        "$$BEGIN RAISE WARNING 'committed locally'; RETURN NULL; END$$; "
        "CREATE CONSTRAINT TRIGGER warns AFTER INSERT ON entries DEFERRABLE INITIALLY DEFERRED "
        "FOR EACH ROW EXECUTE FUNCTION warn()"
    )
    with place.opened() as ledger:
        for spend in (lambda: ask(ledger, "d"), lambda: ledger.append(Entry("answers", "labels"))):
            with pytest.raises(LedgerError, match=r"may not have reached a standby\. Nothing was released"):
                spend()
            ledger.progress("labels")
        assert ask(ledger, "a", "d") == [1, 1], "whoever asks again is told what is on record"
        place.raw.execute("DROP TRIGGER warns ON entries")
        assert ask(ledger, "e") == [1]
        ledger.verify()


def test_another_writer_is_waited_for_or_told_of(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PostgresLedger.SETTINGS, "lock_timeout", "50")
    with place.opened() as ledger, place.raw.transaction():
        place.raw.execute("SELECT * FROM home FOR UPDATE")
        with pytest.raises(LedgerError, match=r"keeps the PostgreSQL schema .* locked; nothing was released"):
            ask(ledger, "d")
        assert ledger.known([digest("a")]) == {digest("a"): 1}, "readers need not wait"
    with place.opened() as ledger:
        assert ask(ledger, "d") == [1]


def test_a_read_only_database_is_refused(place: Place) -> None:
    with place.opened() as ledger:
        head = ledger.head
        place.raw.execute("ALTER DATABASE postgres SET default_transaction_read_only = on")
        try:
            kill_connections(place)
            assert ledger.spending("labels") == State(3)
            with pytest.raises(LedgerError):
                PostgresLedger(place.address, schema=uuid4().hex)
        finally:
            place.raw.execute("SET default_transaction_read_only = off")
            place.raw.execute("ALTER DATABASE postgres RESET default_transaction_read_only")
        assert ledger.head == head


def test_several_runs_share_a_database(postgres: str) -> None:
    ledgers = [open_ledger(f"{postgres}&schema={uuid4().hex}") for _ in range(2)]
    ledgers.append(open_ledger(postgres, run=uuid4().hex))
    for i, ledger in enumerate(ledgers):
        ledger.open(str(i) * 64, LIMITS)
    assert len({ledger.head for ledger in ledgers}) == 3
    for ledger in ledgers:
        ledger.close()


def test_what_is_no_ledger_is_refused_in_words(place: Place, postgres: str) -> None:
    secret = "postgresql://me:mypassword@/nowhere?host=/nowhere"
    with pytest.raises(LedgerError, match="cannot be reached") as refusal:
        PostgresLedger(secret)
    assert "mypassword" not in str(refusal.value)
    with pytest.raises(InvalidParameter, match="cannot be read"):
        PostgresLedger("postgresql://host/database?nonsense=1")
    with pytest.raises(InvalidParameter, match="1 to 63 bytes"):
        PostgresLedger(postgres, schema="x" * 64)
    with pytest.raises(LedgerError, match="holds no ledger"):
        PostgresLedger(postgres, schema=uuid4().hex, create=False)
    other = uuid4().hex
    place.raw.execute(f'CREATE SCHEMA "{other}"')
    place.raw.execute(f'CREATE TABLE "{other}".t (x INT)')
    with pytest.raises(LedgerError, match="holds something else"):
        PostgresLedger(postgres, schema=other)
    place.raw.execute("UPDATE home SET version = 9")
    with pytest.raises(LedgerError, match=r"version 9, this mapl reads 2"):
        PostgresLedger(postgres, schema=place.schema)


def test_a_schema_may_have_any_name(postgres: str) -> None:
    for name in ('a "quoted" one', "Groß, x; DROP SCHEMA mapl"):
        with PostgresLedger(postgres, schema=name) as ledger:
            ledger.open(PLAN, LIMITS)
            assert name in repr(ledger) or '"' in name


def test_a_forked_process_may_not_use_it(place: Place) -> None:
    with place.opened() as ledger:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of forking beside a test runner's threads
            child = os.fork()
        if child == 0:
            try:
                ask(ledger, "d")
            except GuaranteeBroken:
                os._exit(0)
            os._exit(2)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert ask(ledger, "d") == [1]
