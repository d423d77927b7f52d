"""The ledger file: what the database enforces by itself, what tampering leaves behind, full and failing disks."""

from __future__ import annotations

import json
import os
import random
import resource
import shutil
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import pytest

from mapl.errors import BudgetExhausted, GuaranteeBroken, LedgerError, LedgerTampered
from mapl.release.ledger.chain import ANSWERS, HALTED, NOTHING, START, Answers, Entry, Record, genesis
from mapl.release.ledger.ledger import Ledger
from mapl.release.ledger.limits import Limit, Limits
from mapl.release.ledger.sqlite import SqliteLedger
from mapl.types import ABSTAIN, Secret, State

PLAN = "c" * 64
LIMITS = Limits.of({"labels": Limit(40, 40)})
SECRET = 987_654


def opened(path: Path) -> SqliteLedger:
    ledger = SqliteLedger(path)
    ledger.open(PLAN, LIMITS)
    return ledger


def publish(ledger: Ledger, *labels: int, secret: int | None = None, kind: str = ANSWERS, room: int = 4) -> None:
    abstained = labels.count(ABSTAIN)
    ledger.append(
        Entry(kind, "labels", len(labels) - abstained, abstained),
        secret=None if secret is None else Secret(secret),
        answers=Answers(np.array(labels, dtype=np.int16), None, room),
    )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return a ledger of two blocks."""
    where = tmp_path / "ledger.sqlite"
    with opened(where) as ledger:
        ledger.append(Entry(START, "labels", payload={"mechanism": "btt18"}), secret=Secret(SECRET))
        publish(ledger, 1, ABSTAIN, secret=SECRET + 1)
        publish(ledger, 0, 1, secret=SECRET + 2)
    return where


def test_only_the_owner_may_read_it(tmp_path: Path) -> None:
    with opened(tmp_path / "l.sqlite") as ledger:
        ledger.append(Entry(START, "labels"), secret=Secret(1))
        files = sorted(tmp_path.iterdir())
        assert [file.name for file in files] == ["l.sqlite", "l.sqlite-shm", "l.sqlite-wal"]
        assert {file.stat().st_mode & 0o777 for file in files} == {0o600}


def test_a_commit_is_durable(path: Path) -> None:
    with opened(path) as ledger:
        asked = [ledger._value(f"PRAGMA {name}") for name in ("journal_mode", "synchronous", "fullfsync")]
    assert asked == ["wal", 2, 1]


def test_a_second_object_of_the_same_process_leaves_the_locks_of_the_first(path: Path) -> None:
    """Without its lock another program takes itself for the last one, and removes the log that is written to."""
    shared, size = 0x40000002, 510  # where SQLite's own locks are
    take = f"import fcntl; fcntl.lockf(open({str(path)!r}, 'r+b'), fcntl.LOCK_EX | fcntl.LOCK_NB, {size}, {shared})"
    with opened(path):
        opened(path).close()
        done = subprocess.run([sys.executable, "-c", take], capture_output=True, text=True, check=False)
    assert "BlockingIOError" in done.stderr
    subprocess.run([sys.executable, "-c", take], check=True)


def test_another_object_goes_on_where_the_file_stands(path: Path) -> None:
    with opened(path) as ledger:
        assert ledger.progress("labels").state == State(3, 1, secret=Secret(SECRET + 2))
        publish(ledger, 1, kind=HALTED)
    with opened(path) as ledger:
        assert ledger.progress("labels").labels.tolist() == [1, ABSTAIN, 0, 1, 1]
        assert ledger.progress("labels").state == State(4, 1, halted=True)


def test_a_copy_of_the_log_alone_brings_back_what_was_committed(tmp_path: Path) -> None:
    """A machine that stops leaves file and log as they are; nothing relies on closing the file."""
    with opened(tmp_path / "l.sqlite") as ledger:
        ledger.append(Entry(START, "labels"), secret=Secret(5))
        publish(ledger, 1, 1, 0)
        (tmp_path / "after").mkdir()
        for name in ("l.sqlite", "l.sqlite-wal"):
            shutil.copy(tmp_path / name, tmp_path / "after" / name)
    with opened(tmp_path / "after" / "l.sqlite") as ledger:
        assert ledger.progress("labels").labels.tolist() == [1, 1, 0]


@pytest.mark.parametrize("table", ["entries", "answers", "secrets"])
def test_the_database_refuses_changes(path: Path, table: str) -> None:
    raw = apsw.Connection(str(path))
    before = raw.execute(f"SELECT * FROM {table}").fetchall()
    for command in (
        f"DELETE FROM {table}",
        f"DELETE FROM {table} WHERE number = 2",
        f"UPDATE {table} SET number = 9 WHERE number = 2",
        f"INSERT OR REPLACE INTO {table} SELECT * FROM {table} WHERE number = 2",
        f"REPLACE INTO {table} SELECT * FROM {table} WHERE number = 3",
    ):
        with pytest.raises(apsw.ConstraintError, match=r"append-only|out of order"):
            raw.execute(command)
    assert raw.execute(f"SELECT * FROM {table}").fetchall() == before


def forge(path: Path, **change: Any) -> None:
    """Insert an entry with SQL alone, as a program without mapl's own checks would, hash and all."""
    raw = apsw.Connection(str(path))
    names = [d[0] for d in raw.execute("SELECT * FROM entries LIMIT 1").get_description()]
    last = dict(
        zip(names, raw.execute("SELECT * FROM entries ORDER BY number DESC LIMIT 1").fetchall()[0], strict=True)
    )
    content = {**last, "number": last["number"] + 1, "previous": last["hash"], "answered": 1, "abstained": 0}
    content["all_answered"] += 1
    content.update(change)
    del content["hash"]
    record = Record.sealed(**content)
    raw.execute(
        f"INSERT INTO entries ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})",
        [getattr(record, name) for name in names],
    )


def test_the_database_keeps_the_limits_by_itself(path: Path) -> None:
    for change, why in (
        ({"answered": 38, "all_answered": 41}, "CHECK constraint failed: all_answered <= most_answered"),
        ({"abstained": 40, "all_abstained": 41}, "CHECK constraint failed: all_abstained <= most_abstained"),
        ({"answered": 38, "all_answered": 41, "most_answered": 99}, "a limit was raised"),
        ({"most_abstained": 41}, "a limit was raised"),
        ({"stage": "other", "all_answered": 1, "all_abstained": 0}, "a limit was raised"),
        ({"answered": 38, "all_answered": 4}, "counters do not add up"),
        ({"answered": 0}, "counters do not add up"),
        ({"answered": -1, "all_answered": 2}, "CHECK constraint failed: answered >= 0"),
        ({"number": 9}, "out of order"),
        ({"previous": NOTHING}, "out of order"),
        ({"payload": "{"}, "json_valid"),
        ({"answered": 0.5, "all_answered": 3.5}, "cannot store REAL value in INTEGER column"),
    ):
        with pytest.raises(apsw.ConstraintError, match=why):
            forge(path, **change)
    forge(path)


@pytest.mark.parametrize(
    "tampering",
    [
        "UPDATE entries SET answered = 0, all_answered = 2 WHERE number = 3",
        "UPDATE entries SET payload = '{}' WHERE number = 1",
        "UPDATE entries SET hash = previous WHERE number = 3",
        "UPDATE entries SET most_answered = 400",
        "DELETE FROM entries WHERE number = 1",
        "DELETE FROM entries WHERE number = 3",
        "UPDATE answers SET labels = x'0000000000000000' WHERE number = 2",
        "UPDATE answers SET width = 4 WHERE number = 2",
        "UPDATE answers SET width = 3 WHERE number = 2",
        "UPDATE answers SET fallback = x'01010101' WHERE number = 2",
        "DELETE FROM answers WHERE number = 2",
        "UPDATE secrets SET value = 3 WHERE number = 3",
        "UPDATE secrets SET value = NULL WHERE number = 1",
        "DELETE FROM secrets WHERE number = 2",
    ],
)
def test_tampering_is_seen_before_anything_is_released(path: Path, tampering: str) -> None:
    raw = apsw.Connection(str(path))
    for (trigger,) in raw.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'").fetchall():
        raw.execute(f"DROP TRIGGER {trigger}")
    raw.execute(tampering)
    raw.close()
    with SqliteLedger(path) as ledger:
        with pytest.raises(LedgerTampered, match="chain is broken"):
            ledger.open(PLAN, LIMITS)
        with pytest.raises(LedgerTampered):
            ledger.verify()
        with pytest.raises(LedgerError):
            publish(ledger, 1)


def test_a_rollback_is_seen_by_whoever_knows_a_later_head(path: Path, tmp_path: Path) -> None:
    shutil.copy(path, tmp_path / "backup.sqlite")
    with opened(path) as ledger:
        publish(ledger, 1)
        head = ledger.head
    with opened(tmp_path / "backup.sqlite") as restored:
        restored.verify()
        with pytest.raises(LedgerTampered, match="rolled back"):
            restored.verify(seen=head)


def test_secrets_are_in_the_file_and_in_no_export(path: Path) -> None:
    with opened(path) as ledger:
        assert all(str(SECRET + i) not in str(ledger.export()) for i in range(3))
        assert ledger._execute("SELECT value FROM secrets") == [(SECRET,), (SECRET + 1,), (SECRET + 2,)]
        # Nor does a public hash cover them: the secret of the same public record may be anything.
        assert ledger.entries()[0] == genesis(PLAN, LIMITS, ledger.run_id)


def test_who_has_not_seen_the_newest_entry_may_not_append(path: Path) -> None:
    with opened(path) as first, opened(path) as second:
        publish(first, 1)
        with pytest.raises(LedgerError, match=r"changed since this process last looked.*nothing was released"):
            publish(second, 0)
        with pytest.raises(LedgerError):
            publish(second, 0)
        assert second.progress("labels").labels.tolist() == [1, ABSTAIN, 0, 1, 1]
        publish(second, 0)
        assert first.progress("labels").labels.tolist() == [1, ABSTAIN, 0, 1, 1, 0]


def test_without_its_plan_nothing_is_appended(path: Path) -> None:
    with SqliteLedger(path) as ledger:
        ledger.progress("labels")
        with pytest.raises(LedgerError, match="call its `open`"):
            publish(ledger, 1)


def test_a_forked_process_may_not_use_it(path: Path) -> None:
    with opened(path) as ledger:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of forking beside a test runner's threads
            child = os.fork()
        if child == 0:
            try:
                publish(ledger, 1)
            except GuaranteeBroken as refusal:
                os._exit(0 if "forked" in str(refusal) else 1)
            os._exit(2)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        publish(ledger, 1)


def test_a_second_writer_waits_or_is_told(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mapl.release.ledger.sqlite.PATIENCE", 50)
    with opened(path) as ledger:
        other = apsw.Connection(str(path))
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerError, match=r"keeps .* locked; nothing was released"):
            publish(ledger, 1)
        other.execute("ROLLBACK")
        ledger.progress("labels")
        publish(ledger, 1)


def test_a_new_file_that_another_connection_prepares_is_waited_for(tmp_path: Path) -> None:
    # SQLite does not wait by itself for a writer while a file's journal becomes a write-ahead log.
    writer = apsw.Connection(str(tmp_path / "new"))
    writer.execute("BEGIN IMMEDIATE")
    leave = threading.Timer(0.2, writer.close)
    leave.start()
    with opened(tmp_path / "new") as ledger:
        ledger.verify()
    leave.join()


def test_what_is_no_ledger_is_refused_in_words(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("a shopping list, long enough to be taken for something else. " * 100)
    with pytest.raises(LedgerTampered, match="damaged or no ledger"):
        SqliteLedger(tmp_path / "text")
    assert (tmp_path / "text").read_text().startswith("a shopping list")
    apsw.Connection(str(tmp_path / "other")).execute("CREATE TABLE t (x)")
    with pytest.raises(LedgerError, match="database of something else"):
        SqliteLedger(tmp_path / "other")
    with opened(tmp_path / "newer") as ledger:
        ledger._execute("PRAGMA user_version = 99")
    with pytest.raises(LedgerError, match="schema 99 and this mapl reads up to 3"):
        SqliteLedger(tmp_path / "newer")
    for nowhere in (tmp_path / "missing" / "l", tmp_path):
        with pytest.raises(LedgerError, match=r"cannot be opened \(.*without it nothing is released"):
            SqliteLedger(nowhere)


@pytest.mark.skipif(not Path("/proc/version").exists(), reason="needs a read-only file system")
def test_a_read_only_file_system_is_refused() -> None:
    with pytest.raises(LedgerError, match="cannot be opened"):
        SqliteLedger("/proc/mapl-ledger.sqlite")


def test_a_read_only_database_is_refused(path: Path) -> None:
    with opened(path) as ledger:
        ledger._execute("PRAGMA query_only = ON")
        with pytest.raises(LedgerError, match=r"read-only or failing\. Nothing was released"):
            publish(ledger, 1)
        ledger._execute("PRAGMA query_only = OFF")
        assert len(ledger.progress("labels").labels) == 4
        publish(ledger, 1)


@pytest.fixture(scope="module")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Play the scenes at the end of this file, all in one other process, which starts a child for each."""
    folder = tmp_path_factory.mktemp("scenes")
    ran = subprocess.run(
        [sys.executable, __file__, folder], capture_output=True, text=True, check=False, timeout=900
    )
    assert ran.returncode == 0, ran.stderr
    return {"folder": folder, **json.loads(ran.stdout)}


def test_a_full_disk_is_refused_and_leaves_the_ledger_intact(scenes: dict[str, Any]) -> None:
    published, refusal = scenes["full"]
    assert published >= 1
    assert "disk is full, read-only or failing. Nothing was released" in refusal
    with opened(scenes["folder"] / "full") as ledger:
        ledger.verify()
        assert len(ledger.progress("labels").labels) == published
        publish(ledger, 1)


@pytest.mark.parametrize("call", ["xSync", "xWrite"])
def test_a_failing_disk_is_refused_and_nothing_published_is_lost(scenes: dict[str, Any], call: str) -> None:
    published, refusal = scenes[call]
    assert published >= 1
    assert "failing. Nothing was released" in refusal
    with opened(scenes["folder"] / call) as ledger:
        # A block that could not be synced may have reached the disk all the same; counting it is allowed.
        kept = len(ledger.progress("labels").labels)
        assert published <= kept <= published + 1
        publish(ledger, 1)


@pytest.mark.parametrize("racers", ["2", "4"])
def test_processes_racing_for_the_last_units_get_exactly_the_limit(scenes: dict[str, Any], racers: str) -> None:
    granted = [child[0] for child in scenes[racers]]
    assert sum(granted) == 40
    assert min(granted) > 0, "nobody raced"
    with opened(scenes["folder"] / racers) as ledger:
        progress = ledger.progress("labels")
        assert (progress.state.answered, len(progress.labels)) == (40, 40)
        # Every unit was granted to the racer that published it, and to nobody else.
        assert np.bincount(progress.labels, minlength=int(racers)).tolist() == granted


def test_racers_with_a_ledger_each_would_be_caught(scenes: dict[str, Any]) -> None:
    assert sum(child[0] for child in scenes["apart"]) == 80


Said = tuple[int, str]


def race(path: Path, me: int, racers: int = 1) -> Said:
    """Take one unit after another until none is left; return how many were granted.

    Whoever has one waits until everybody has: a racer that is late on a busy machine would find nothing left.
    """
    granted = 0
    ledger = opened(path)
    while True:
        try:
            if not ledger.progress("labels").started:
                ledger.append(Entry(START, "labels"))
            time.sleep(random.uniform(0, 0.004))  # others write between the look and the attempt
            publish(ledger, me)
        except BudgetExhausted:
            return granted, ""
        except LedgerError:
            continue
        granted += 1
        while len(set(ledger.progress("labels").labels.tolist())) < racers:
            time.sleep(0.002)


def until_refused(ledger: Ledger) -> Said:
    """Publish until the ledger refuses; return how much was published, and the refusal."""
    published = 0
    try:
        while True:
            publish(ledger, 1, room=4096)
            published += 1
    except LedgerError as refusal:
        return published, str(refusal)


def full(path: Path) -> Said:
    ledger = started(path)
    resource.setrlimit(resource.RLIMIT_FSIZE, (140_000, 140_000))
    return until_refused(ledger)


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


def failing(path: Path, call: str) -> Said:
    vfs = Failing(call)
    ledger = started(path)
    vfs.left = 20
    return until_refused(ledger)


def started(path: Path) -> Ledger:
    ledger = opened(path)
    ledger.append(Entry(START, "labels"))
    return ledger


def children(*scenes: Callable[[], Said]) -> list[Said]:
    """Play scenes at the same time, each in a child, and return what each of them says."""
    pipes = []
    for scene in scenes:
        reading, writing = os.pipe()
        if os.fork() == 0:
            os.write(writing, json.dumps(scene()).encode())
            os._exit(0)
        os.close(writing)
        pipes.append(reading)
    said = []
    for pipe in pipes:
        with open(pipe) as child:
            said.append(json.loads(child.read()))
    for _ in scenes:
        os.wait()
    return said


def play(folder: Path) -> None:
    said: dict[str, Any] = {
        str(n): children(*(partial(race, folder / str(n), me, n) for me in range(n))) for n in (2, 4)
    }
    said["apart"] = children(*(partial(race, folder / f"apart{me}", me) for me in range(2)))
    (said["full"],) = children(partial(full, folder / "full"))
    for call in ("xSync", "xWrite"):
        (said[call],) = children(partial(failing, folder / call, call))
    print(json.dumps(said))


if __name__ == "__main__":
    play(Path(sys.argv[1]))
