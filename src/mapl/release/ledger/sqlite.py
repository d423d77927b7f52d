"""A ledger in one SQLite file: every change is one durable transaction, and the database checks the limits too."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw

from mapl.errors import LedgerError, LedgerTampered, MaplError
from mapl.release.ledger.file_home import FileHome, settle
from mapl.release.ledger.sql.sql_ledger import SqlLedger
from mapl.release.ledger.sql.sqlite_tables import STEPS

APPLICATION = int.from_bytes(b"mapl", "big")
SCHEMA = len(STEPS)
AT_ONCE = 250
SOME = f"IN ({', '.join('?' * AT_ONCE)})"
"""So many keys are looked up by one statement, where there are that many."""

PATIENCE = 10_000
"""How long, in milliseconds, to wait for another process that is writing."""

SETTINGS = (
    "fullfsync = ON",
    "checkpoint_fullfsync = ON",
    "foreign_keys = ON",
    "trusted_schema = OFF",
    "wal_autocheckpoint = 4000",  # in pages; moving the log into the file takes two more waits for the disk
)


class SqliteLedger(SqlLedger):
    """A ledger in a file that its owner alone may read; any number of processes may open it.

    Write-ahead log, synchronous=FULL: `append` returns when the transaction has reached the disk. A process that
    acts on an outdated view of the ledger is refused. Secret state has its own table and is never exported.
    """

    def __init__(self, path: Path | str) -> None:
        super().__init__()
        self.path = Path(path)
        self.name = str(path)
        self._connection = _connect(self.path)
        with self._transaction(writing=True):
            self._prepare()

    def close(self) -> None:
        if self._own_process():
            self._connection.close()

    def backup(self, path: Path | str) -> None:
        """Write a copy that is locked: it can be read, and spends only after `unlock`."""
        target = Path(path)
        try:
            os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except OSError as failure:
            raise LedgerError(
                f"The copy {target} cannot be made ({failure.strerror}); name a new file in a folder that can be "
                "written."
            ) from None
        try:
            copy = apsw.Connection(str(target))
            with copy.backup("main", self._connection, "main") as work:
                work.step(-1)
            copy.execute("PRAGMA synchronous = FULL; UPDATE home SET locked = 1")
            copy.close()
        except apsw.Error as failure:
            target.unlink(missing_ok=True)
            raise _in_words(target, failure) from None

    def _prepare(self) -> None:
        """Make the tables of a new file, bring an older one up to date, and refuse what is something else."""
        application, schema = self._value("PRAGMA application_id"), self._value("PRAGMA user_version")
        if application == 0 and not self._value("SELECT count(*) FROM sqlite_schema"):
            schema = 0
        elif application != APPLICATION:
            raise LedgerError(f"{self.path} is a database of something else; choose another file for the ledger.")
        elif not 1 <= schema <= SCHEMA:
            raise LedgerError(
                f"{self.path} has schema {schema} and this mapl reads up to {SCHEMA}; use the mapl that wrote it."
            )
        if schema < SCHEMA:
            for step in STEPS[schema:]:
                self._execute(step)
            self._settle_anew()
            self._carry_over()
            self._execute(f"PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {SCHEMA}")

    def _settle_anew(self) -> None:
        """Note where a new file is at home; version 2 noted less, and a copy of it stays one."""
        noted = self._execute("SELECT place FROM home")
        if not noted:
            self._execute("INSERT INTO home (one, place, locked, beat) VALUES (1, ?, 0, 0)", (self._settle(),))
        elif self._at_home(noted[0][0]):
            self._execute("UPDATE home SET place = ?", (self._settle(),))

    def _place(self) -> str:
        # A copy is another file; so is what was put in the place of the file that this process holds open.
        return str(self._file_home())

    def _at_home(self, place: str) -> bool:
        noted = FileHome.read(place)
        return noted is not None and noted.same_as(self._file_home())

    def _settle(self) -> str:
        return str(settle(self.path))

    def _file_home(self) -> FileHome:
        try:
            return FileHome.of(self.path)
        except OSError as failure:
            raise LedgerError(f"{self.path} is gone ({failure.strerror}); nothing was released.") from None

    def _value(self, question: str) -> Any:
        return self._execute(question)[0][0]

    def _execute(self, command: str, values: tuple[Any, ...] = ()) -> list[Any]:
        return self._connection.execute(command, values).fetchall()

    def _change(self, command: str, values: tuple[Any, ...] = ()) -> None:
        self._connection.execute(command, values)

    def _among(self, question: str, keys: Collection[Any]) -> list[Any]:
        given = list(keys)
        many = len(given) - len(given) % AT_ONCE
        found = [
            row
            for start in range(0, many, AT_ONCE)
            for row in self._connection.execute(question.format(among=SOME), given[start : start + AT_ONCE])
        ]
        one = question.format(among="= ?")
        return found + self._connection.executemany(one, ((key,) for key in given[many:])).fetchall()

    def _insert(self, table: str, columns: Mapping[str, str], rows: Sequence[tuple[Any, ...]]) -> None:
        places = ", ".join("?" * len(columns))
        self._connection.executemany(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({places})", rows)

    @contextmanager
    def _transaction(self, *, writing: bool) -> Iterator[None]:
        """Commit everything or nothing; whatever SQLite complains about becomes a LedgerError in words."""
        self._refuse_fork()
        with self._turn:
            try:
                self._connection.execute("BEGIN IMMEDIATE" if writing else "BEGIN")
                yield
                self._connection.execute("COMMIT")
                self._committed()
            except BaseException as failure:
                if not isinstance(failure, MaplError):
                    self._forget()  # it is not known what reached the disk; the next append must look again
                self._roll_back()
                self._undone(failure)
                if isinstance(failure, (apsw.Error, OverflowError)):
                    raise _in_words(self.path, failure) from None
                raise

    def _roll_back(self) -> None:
        try:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
        except apsw.Error:
            pass  # the transaction is undone when the file is opened again


def _connect(path: Path) -> apsw.Connection:
    try:
        _make(path)
        connection = apsw.Connection(str(path))
        connection.set_busy_timeout(PATIENCE)
        for setting in SETTINGS:
            connection.execute(f"PRAGMA {setting}")
        mode = _keep_log(connection)
        connection.execute("PRAGMA synchronous = FULL")
        durable = connection.execute("PRAGMA synchronous").fetchall()[0][0]
    except OSError as failure:
        raise LedgerError(
            f"The ledger {path} cannot be opened ({failure.strerror}); without it nothing is released. Choose a "
            "folder that exists and can be written."
        ) from None
    except apsw.Error as failure:
        raise _in_words(path, failure) from None
    if (mode, durable) != ("wal", 2):
        connection.close()
        raise LedgerError(
            f"The file system of {path} cannot keep a write-ahead log; put the ledger on a local disk."
        )
    return connection


def _keep_log(connection: apsw.Connection) -> str:
    """Have a write-ahead log kept; return the mode that the file is in then.

    SQLite does not wait where two connections turn a new file's log on at the same time: one of them is told at
    once that the file is busy. The other is done with it in a moment.
    """
    deadline = time.monotonic() + PATIENCE / 1000
    while True:
        try:
            return str(connection.execute("PRAGMA journal_mode = WAL").fetchall()[0][0])
        except apsw.BusyError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.005)


def _make(path: Path) -> None:
    """Make an empty file if there is none: SQLite gives its log the same permissions, and a ledger holds secrets.

    A file that is there is left alone: opening and closing it by hand would take away the locks that other
    connections of this process hold on it.
    """
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600))
    except FileExistsError:
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR)) from None


def _in_words(path: Path, failure: Exception) -> LedgerError:
    if isinstance(failure, (apsw.CorruptError, apsw.NotADBError)):
        return LedgerTampered(
            f"{path} is damaged or no ledger; nothing is released from it. Restore its newest copy, and count "
            "everything that was ever published as spent."
        )
    if isinstance(failure, (apsw.BusyError, apsw.LockedError)):
        return LedgerError(
            f"Another process keeps {path} locked; nothing was released. Run again when it has ended."
        )
    if isinstance(failure, (apsw.ConstraintError, OverflowError)):
        return LedgerError(
            f"The database refused an entry that would break the rules of {path}; nothing was released."
        )
    if isinstance(failure, (apsw.FullError, apsw.IOError, apsw.ReadOnlyError, apsw.CantOpenError)):
        return LedgerError(
            f"{path} cannot be written: the disk is full, read-only or failing. Nothing was released; make room or "
            "repair it, and run again."
        )
    return LedgerError(f"{path} cannot be used ({type(failure).__name__}); nothing was released.")
