"""Changes of API keys are entries of the chain, by digest; what they say is private, and keys follow from it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import uuid4

import apsw
import numpy as np
import psycopg
import pytest

from mapl.errors import InvalidParameter, LedgerError, LedgerTampered
from mapl.release.ledger.chain import KEYS, START, Answers, Entry, check_export
from mapl.release.ledger.exchange import digest_of
from mapl.release.ledger.inquiries import Author, Inquiry, KeyRecord, OnlineLedger
from mapl.release.ledger.key_log import KeyChange, changes_in
from mapl.release.ledger.limits import Limit, Limits
from mapl.release.ledger.postgres import PostgresLedger
from mapl.release.ledger.sql import postgres_tables
from mapl.release.ledger.sql.sql_ledger import SqlLedger
from mapl.release.ledger.sql.sqlite_tables import VERSION_1, VERSION_2
from mapl.release.ledger.sqlite import APPLICATION, SqliteLedger
from mapl.types import Outcome, State

PLAN, LIMITS = "b" * 64, Limits.of({"labels": Limit(40, 40)})
ANN = KeyRecord("ann", "Clinic Ann", ("ask",), b"\x07" * 32, 9, expires=2_000_000_000)
BOB = KeyRecord("bob", "Clinic Bob", ("ask", "read"), b"\x08" * 32)
ROOT = Author("root, command line", 1_800_000_000)


def digest(name: str) -> bytes:
    return sha256(name.encode()).digest()


def decide(state: State, new: Sequence[bytes]) -> Outcome:
    return Outcome(np.ones(len(new), np.int32), state.after(len(new), 0, halted=False))


def ask(ledger: OnlineLedger, *names: str, caller: str = "ann") -> None:
    group = [Inquiry(name, caller, digest(f"body {name}"), (digest(name),)) for name in names]
    ledger.exchange("labels", group, decide, n_classes=2)


def begun(ledger: Any) -> Any:
    ledger.open(PLAN, LIMITS)
    if not ledger.progress("labels").started:
        ledger.append(Entry(START, "labels"))
    return ledger


def test_every_change_is_an_entry_that_tells_nothing(make: Callable[[], OnlineLedger]) -> None:
    ledger = begun(make())
    ledger.add_key(ANN, by=ROOT)
    ask(ledger, "a", "b")
    ledger.add_key(BOB, by=Author("API key ann", 5))
    ledger.revoke_key("ann")
    ledger.revoke_key("ann")
    ask(ledger, "c", caller="bob")
    ledger.verify()
    assert [record.kind for record in ledger.entries()] == ["plan", "start", KEYS, "answers", KEYS, KEYS, "answers"]
    assert changes_in(ledger.key_log()) == [
        KeyChange("added", "ann", "Clinic Ann", "root, command line", 1_800_000_000),
        KeyChange("added", "bob", "Clinic Bob", "API key ann", 5),
        KeyChange("revoked", "ann", "Clinic Ann", "", 0),
    ]
    assert ledger.keys() == [replace(ANN, revoked=True, taken=2), replace(BOB, taken=1)]
    exported = json.dumps(ledger.export())
    for private in ("Clinic", "root", "ann", "1800000000", ANN.digest.hex(), ANN.name):
        assert private not in exported
    assert check_export(json.loads(exported)) == ledger.head


@pytest.mark.parametrize("wanted", [None, 9, 8, 7, 3])
def test_a_new_key_has_what_is_left_when_it_is_stored(make: Callable[[], OnlineLedger], wanted: int | None) -> None:
    """Whoever replaces a key that is much in use has read an older count; it was refused then, again and again."""
    ledger = begun(make())
    ledger.add_key(ANN)
    ask(ledger, "a", "b")  # two of nine
    stored = ledger.replace_key("ann", replace(BOB, id="al", most=wanted), by=ROOT)
    assert stored.most == min(wanted or 7, 7)
    assert ledger.key("al") == stored
    ledger.verify()
    ledger.close()


def test_nothing_takes_the_place_of_a_key_that_has_asked_all(make: Callable[[], OnlineLedger]) -> None:
    ledger = begun(make())
    ledger.add_key(replace(ANN, most=2))
    ask(ledger, "a", "b")
    with pytest.raises(InvalidParameter, match="all that its cap allows"):
        ledger.replace_key("ann", replace(BOB, id="al", most=2), by=ROOT)
    assert ledger.key("al") is None
    ledger.close()


def test_a_key_is_replaced_in_one_step(make: Callable[[], OnlineLedger]) -> None:
    ledger = begun(make())
    ledger.add_key(ANN)
    ask(ledger, "a", "b")
    with pytest.raises(LedgerError, match="could ask more than it allows"):  # both would have it
        ledger.replace_key("ann", replace(BOB, id="al", most=7), until=1_900_000_000, by=ROOT)
    assert ledger.replace_key("ann", replace(BOB, id="al", most=7), by=ROOT).most == 7
    with pytest.raises(InvalidParameter, match="revoked or replaced already"):  # as two servers would at once
        ledger.replace_key("ann", replace(BOB, id="alf", most=7), by=ROOT)
    ledger.add_key(BOB, by=ROOT)
    assert [(key.id, key.revoked) for key in list(ledger.keys())] == [
        ("al", False),
        ("ann", True),
        ("bob", False),
    ]
    ledger.replace_key("bob", replace(BOB, id="bea"), until=1_900_000_000, by=ROOT)
    bob = ledger.key("bob")
    assert bob is not None
    assert bob.valid(1_900_000_000 - 1)
    assert not bob.valid(1_900_000_000)
    for broken, error in (
        (lambda: ledger.replace_key("bob", replace(BOB, id="cy"), until=1_900_000_001), LedgerError),
        (lambda: ledger.replace_key("nobody", replace(BOB, id="cy")), InvalidParameter),
        (lambda: ledger.replace_key("bob", replace(BOB, id="bea")), InvalidParameter),
    ):
        with pytest.raises(error):
            broken()
    assert [key.id for key in list(ledger.keys())] == ["al", "ann", "bea", "bob"]
    last = changes_in(ledger.key_log())[-1]
    assert (last.did, last.key, last.until, last.by) == ("ends", "bob", 1_900_000_000, ROOT.name)
    ledger.verify()


def test_keys_need_a_chain(make: Callable[[], OnlineLedger]) -> None:
    ledger = make()
    with pytest.raises(LedgerError, match="no plan yet"):
        ledger.add_key(ANN)
    assert ledger.keys() == []


def test_a_change_of_keys_is_no_change_for_those_who_answer(tmp_path: Path) -> None:
    """Another process adds keys between two groups of a server, and between two blocks of a run."""
    with begun(SqliteLedger(tmp_path / "l")) as server, SqliteLedger(tmp_path / "l") as operator:
        ask(server, "a")
        operator.add_key(ANN)
        ask(server, "b")
        operator.add_key(BOB)
        ask(server, "c")
        assert server.spending("labels") == State(3)
        assert {key.id: key.taken for key in list(server.keys())} == {"ann": 2, "bob": 0}
        server.progress("labels")
        server.add_key(replace(BOB, id="bea"))
        server.append(Entry("answers", "labels"))
        server.verify()


def test_a_locked_copy_takes_no_keys(tmp_path: Path) -> None:
    with begun(SqliteLedger(tmp_path / "l")) as ledger:
        ledger.backup(tmp_path / "copy")
    with begun(SqliteLedger(tmp_path / "copy")) as copy:
        with pytest.raises(LedgerError, match="is locked"):
            copy.add_key(ANN)
        assert copy.keys() == []


def test_the_database_lets_a_change_of_keys_count_nothing(tmp_path: Path) -> None:
    with begun(SqliteLedger(tmp_path / "l")) as ledger:
        newest = ledger.entries()[-1]
    raw = apsw.Connection(str(tmp_path / "l"))
    for stage, most in (("", 5), ("labels", 0), ("labels", 40)):
        with pytest.raises(apsw.ConstraintError):
            raw.execute(
                "INSERT INTO entries VALUES (2, 'keys', ?, 0, 0, 0, 0, ?, 0, '{}', '', ?, 'x')",
                (stage, most, newest.hash),
            )


ROWS = {
    "questions": [(digest("a"), 2, 0), (digest("b"), 2, 1)],
    "inquiries": [("2", "ann", digest("x"), digest("a")), ("1", "ann", digest("y"), digest("b"))],
    "keys": [
        ("ann", "Clinic Ann", "ask", b"\x07" * 32, 9, 2, 0),
        ("bob", "Bob", "ask read", b"\x08" * 32, None, 0, 1),
    ],
}


def chain_of_before(path: Path) -> list[tuple[str, list[tuple[Any, ...]]]]:
    """Return the rows of a chain whose entries name the questions only, as before there was a log."""
    with begun(SqliteLedger(path)) as ledger:
        payload = {"asked": digest_of([digest("a"), digest("b")])}
        answers = Answers(np.array([1, 1], np.int8), None, 2)
        ledger.append(Entry("answers", "labels", 2, 0, payload=payload), answers=answers)
        return [(table, ledger._execute(f"SELECT * FROM {table}")) for table in ("entries", "answers", "secrets")]


def carried_over(ledger: SqlLedger) -> None:
    """Check that an older ledger was taken over, that it goes on, and that nothing in it can be changed unseen."""
    begun(ledger)
    assert changes_in(ledger.key_log()) == [
        KeyChange("carried over", id, name, "an earlier version of mapl", 0)
        for id, name in (("ann", "Clinic Ann"), ("bob", "Bob"))
    ]
    assert {key.id: (key.taken, key.revoked) for key in list(ledger.keys())} == {
        "ann": (2, False),
        "bob": (0, True),
    }
    ask(ledger, "c")
    ledger.add_key(replace(BOB, id="bea"))
    ledger.verify()
    taken = {key.id: key.taken for key in list(ledger.keys())}
    assert taken == {"ann": 3, "bob": 0, "bea": 0}
    assert not ledger.locked


@pytest.mark.parametrize("chain", [True, False])
def test_a_file_of_version_2_is_brought_up_to_date(tmp_path: Path, chain: bool) -> None:
    """Also one with keys, but no chain yet."""
    path = tmp_path / "l"
    rows = chain_of_before(tmp_path / "source") if chain else []
    old = apsw.Connection(str(path))
    old.execute("PRAGMA journal_mode = WAL").fetchall()
    old.execute(VERSION_1)
    old.execute(VERSION_2)
    rules = old.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").fetchall()
    for name, _ in rules:
        old.execute(f"DROP TRIGGER {name}")
    old.execute("INSERT INTO home VALUES (1, ?, 0, 0)", (f"file {path.stat().st_ino}",))
    fill(rows, chain, lambda table, row: old.execute(f"INSERT INTO {table} VALUES ({places(row, '?')})", row), old)
    for _, rule in rules:
        old.execute(rule)
    old.execute(f"PRAGMA application_id = {APPLICATION}; PRAGMA user_version = 2")
    old.close()
    with SqliteLedger(path) as ledger:
        assert "nonce" in ledger._home()[0]
        if chain:
            carried_over(ledger)
        begun(ledger).verify()
    raw = apsw.Connection(str(path))
    for (trigger,) in raw.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'").fetchall():
        raw.execute(f"DROP TRIGGER {trigger}")
    raw.execute("UPDATE keys SET revoked = 1 - revoked WHERE id = 'bob'")
    raw.close()
    with SqliteLedger(path) as ledger, pytest.raises(LedgerTampered):
        ledger.verify()


def places(row: Sequence[Any], place: str) -> str:
    return ", ".join([place] * len(row))


def fill(rows: Any, chain: bool, insert: Callable[[str, tuple[Any, ...]], object], raw: Any) -> None:
    """Write what an older ledger held; counts of keys grow by updates, as the database wants it."""
    for table, listed in [*rows, *(ROWS.items() if chain else [("keys", ROWS["keys"])])]:
        for row in listed:
            if table == "keys":
                insert(table, (*row[:5], 0, 0))
                if chain:
                    raw.execute(f"UPDATE keys SET taken = {row[5]} WHERE id = '{row[0]}'")
                raw.execute(f"UPDATE keys SET revoked = {row[6]} WHERE id = '{row[0]}'")
            else:
                insert(table, row)


def test_a_schema_of_version_1_is_brought_up_to_date(postgres: str, tmp_path: Path) -> None:
    schema = uuid4().hex
    source = chain_of_before(tmp_path / "source")
    with psycopg.connect(postgres, autocommit=True, options=f"-c search_path={schema}") as raw:
        raw.execute(f'CREATE SCHEMA "{schema}"')
        raw.execute(postgres_tables.VERSION_1)
        raw.execute(
            "INSERT INTO home VALUES (1, 1, 'cluster ' || (SELECT system_identifier FROM pg_control_system()) || "
            "', database ' || (SELECT oid FROM pg_database WHERE datname = current_database()) || "
            "', table ' || 'entries'::regclass::oid, 0, 0)"
        )
        with raw.transaction():
            raw.execute("SET LOCAL session_replication_role = replica")
            fill(
                source, True, lambda t, row: raw.execute(f"INSERT INTO {t} VALUES ({places(row, '%s')})", row), raw
            )
    for _ in range(2):
        with PostgresLedger(postgres, schema=schema) as ledger:
            if not any(key.id == "bea" for key in list(ledger.keys())):
                carried_over(ledger)
            begun(ledger)
