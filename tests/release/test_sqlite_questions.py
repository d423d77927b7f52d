"""Questions in a ledger file: what the database enforces by itself, and what tampering with them leaves behind."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

import apsw
import numpy as np
import pytest

from mapl.errors import LedgerError, LedgerTampered
from mapl.release.ledger.chain import START, Entry
from mapl.release.ledger.inquiries import Inquiry, KeyRecord
from mapl.release.ledger.limits import Limit, Limits
from mapl.release.ledger.sqlite import SqliteLedger
from mapl.types import ABSTAIN, Outcome, State

PLAN = "c" * 64
LIMITS = Limits.of({"labels": Limit(40, 40)})


def digest(name: str) -> bytes:
    return sha256(name.encode()).digest()


def decide(state: State, new: Sequence[bytes]) -> Outcome:
    return Outcome(np.ones(len(new), np.int32), state.after(len(new), 0, halted=False))


def ask(ledger: SqliteLedger, *names: str) -> None:
    group = [Inquiry(name, "ann", digest(name), (digest(name),)) for name in names]
    ledger.exchange("labels", group, decide, n_classes=2)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return a ledger that has answered two groups of questions."""
    with SqliteLedger(tmp_path / "l") as ledger:
        ledger.open(PLAN, LIMITS)
        ledger.append(Entry(START, "labels"))
        ledger.add_key(KeyRecord("ann", "", ("ask",), b"", 10))
        ask(ledger, "a", "b")
        ask(ledger, "c")
    return tmp_path / "l"


@pytest.mark.parametrize("table", ["questions", "inquiries", "keys"])
def test_the_database_refuses_changes(path: Path, table: str) -> None:
    raw = apsw.Connection(str(path))
    before = raw.execute(f"SELECT * FROM {table}").fetchall()
    column = {"inquiries": "caller", "keys": "name", "questions": "place"}[table]
    for command in (
        f"DELETE FROM {table}",
        f"UPDATE {table} SET {column} = 9",
        f"INSERT OR REPLACE INTO {table} SELECT * FROM {table}",
    ):
        with pytest.raises(apsw.ConstraintError, match=r"append-only|only the count"):
            raw.execute(command)
    assert raw.execute(f"SELECT * FROM {table}").fetchall() == before


def test_a_key_only_counts_up_and_never_above_its_cap(path: Path) -> None:
    raw = apsw.Connection(str(path))
    for change in ("taken = 1", "taken = 11", "most = 99", "most = NULL"):
        with pytest.raises(apsw.ConstraintError):
            raw.execute(f"UPDATE keys SET {change}")
    with pytest.raises(apsw.ConstraintError):
        raw.execute("INSERT INTO keys VALUES ('eve', '', '', x'', NULL, -5, 0, NULL)")
    raw.execute("UPDATE keys SET taken = 10, revoked = 1")
    with pytest.raises(apsw.ConstraintError):
        raw.execute("UPDATE keys SET revoked = 0")


@pytest.mark.parametrize(
    "tampering",
    [
        "UPDATE questions SET place = 1 - place WHERE number = 3",
        "UPDATE questions SET number = 7 - number",
        f"UPDATE questions SET digest = x'{'00' * 32}' WHERE number = 4",
        "DELETE FROM questions WHERE number = 4",
        f"INSERT INTO questions VALUES (x'{'00' * 32}', 4, 1)",
        "UPDATE questions SET place = 2 WHERE place = 1",
        # Requests, their order and their callers; keys, what they may do and have taken; and the log of them.
        "UPDATE inquiries SET caller = 'bob' WHERE place = 1",
        "UPDATE inquiries SET body = zeroblob(32) WHERE id = 'a'",
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
        "INSERT INTO keys (id, name, scopes, digest, taken, revoked) VALUES ('eve', '', 'ask', x'', 0, 0)",
        "UPDATE details SET content = replace(content, 'ann', 'bob')",
        """UPDATE details SET content = '{"ann":1}' WHERE number = 3; UPDATE keys SET taken = 2""",
        "DELETE FROM details WHERE number = 2",
        "DELETE FROM details WHERE number = 4",
        "UPDATE home SET stored = 2",
        "UPDATE home SET sealed = 'x'",
    ],
)
def test_tampering_beside_the_chain_is_seen(path: Path, tampering: str) -> None:
    raw = apsw.Connection(str(path))
    for (trigger,) in raw.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'").fetchall():
        raw.execute(f"DROP TRIGGER {trigger}")
    raw.execute(tampering)
    raw.close()
    with SqliteLedger(path) as ledger:
        with pytest.raises(LedgerTampered, match="chain is broken"):
            ledger.verify()
        with pytest.raises(LedgerTampered):
            ledger.open(PLAN, LIMITS)
        with pytest.raises(LedgerError):
            ask(ledger, "d")


def test_what_is_written_does_not_depend_on_outcomes(tmp_path: Path) -> None:
    """Answered, abstained or halted after one: the same pages, so that a full disk prefers none of them."""

    def outcome(state: State, labels: list[int], *, halted: bool) -> Outcome:
        abstained = labels.count(ABSTAIN)
        after = state.after(len(labels) - abstained, abstained, halted=halted)
        return Outcome(np.array(labels, np.int32), after)

    sizes = set()
    for i, (labels, halted) in enumerate([([1] * 300, False), ([ABSTAIN] * 300, False), ([1], True)]):
        with SqliteLedger(tmp_path / str(i)) as ledger:
            ledger.open(PLAN, Limits.of({"labels": Limit(300, 300)}))
            ledger.append(Entry(START, "labels"))
            before = (tmp_path / f"{i}-wal").stat().st_size
            questions = tuple(digest(str(j)) for j in range(300))
            ledger.exchange(
                "labels",
                [Inquiry("1", "ann", digest(""), questions)],
                lambda state, new: outcome(state, labels, halted=halted),  # noqa: B023
                n_classes=2,
            )
            sizes.add((tmp_path / f"{i}-wal").stat().st_size - before)
    assert len(sizes) == 1
