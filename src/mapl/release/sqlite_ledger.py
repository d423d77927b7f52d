"""A ledger in one SQLite file: every append is one durable transaction, and the database checks the limits too."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import astuple, fields
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import apsw

from mapl.errors import GuaranteeBroken, LedgerError, LedgerTampered, MaplError
from mapl.release.chain import Answers, Entry, Limits, Record, Tail, broken, check, following, genesis, same_plan
from mapl.release.ledger import NeverCopied, Progress, fitting, progress_of, seal_of, still_there
from mapl.release.sqlite_schema import CREATE
from mapl.types import Secret

APPLICATION = int.from_bytes(b"mapl", "big")
SCHEMA = 1
PATIENCE = 10_000
"""How long, in milliseconds, to wait for another process that is writing."""

COLUMNS = ", ".join(field.name for field in fields(Record))


class SqliteLedger(NeverCopied):
    """A ledger in a file that its owner alone may read; any number of processes may open it.

    Write-ahead log, synchronous=FULL: `append` returns when the transaction has reached the disk. A process that
    acts on an outdated view of the ledger is refused. Secret state has its own table and is never exported.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self._process = os.getpid()
        self._opened = False
        self._head: str | None = None
        self._connection = _connect(self.path)
        with self._transaction("BEGIN IMMEDIATE"):
            self._prepare()

    def open(self, plan_digest: str, limits: Limits, *, fresh: bool = False) -> None:
        with self._transaction("BEGIN IMMEDIATE"):
            records = self._records("ORDER BY number")
            self._check(records)
            if records:
                same_plan(records[0], plan_digest, limits, fresh=fresh)
            else:
                records = [genesis(plan_digest, limits)]
                self._insert(records[0])
        self._opened, self._head = True, records[-1].hash

    def append(self, entry: Entry, *, secret: Secret | None = None, answers: Answers | None = None) -> None:
        fitting(entry, answers)
        digest = "" if answers is None else answers.digest
        with self._transaction("BEGIN IMMEDIATE"):
            tail = self._tail(entry.stage) if self._opened else None
            if tail is not None and tail.head.hash != self._head:
                self._head = None
                raise LedgerError(
                    f"{self.path} has changed since this process last looked, or a write failed; nothing was "
                    "released. Read its progress and go on from there (run again)."
                )
            record = following(tail, entry, digest)
            self._insert(record)
            if answers is not None:
                stored = (record.number, answers.width, *answers.content(answers.room))
                self._execute("INSERT INTO answers VALUES (?, ?, ?, ?)", stored)
            value = None if secret is None else secret.value
            self._execute("INSERT INTO secrets VALUES (?, ?, ?)", (record.number, value, seal_of(record, value)))
        self._head = record.hash

    def progress(self, stage: str) -> Progress:
        with self._transaction("BEGIN"):
            tail = self._tail(stage)
            if tail is None or tail.of_stage is None:
                progress = progress_of(None, None, (), None)
            else:
                first = self._records("WHERE stage = ? ORDER BY number LIMIT 1", stage)[0]
                value, _ = self._secret_of(tail.of_stage)
                secret = None if value is None else Secret(value)
                progress = progress_of(first, tail.of_stage, self._answers_of(stage), secret)
        self._head = None if tail is None else tail.head.hash
        return progress

    @property
    def head(self) -> str:
        with self._transaction("BEGIN"):
            newest = self._records("ORDER BY number DESC LIMIT 1")
        if not newest:
            raise LedgerError(f"{self.path} has no plan yet, hence no head; call `open` first.")
        return newest[0].hash

    def entries(self) -> list[Record]:
        with self._transaction("BEGIN"):
            return self._records("ORDER BY number")

    def verify(self, *, seen: str | None = None) -> None:
        with self._transaction("BEGIN"):
            records = self._records("ORDER BY number")
            self._check(records)
        still_there(records, seen)

    def export(self) -> list[dict[str, Any]]:
        return [record.public() for record in self.entries()]

    def close(self) -> None:
        """Close the file; what was appended stays."""
        if os.getpid() == self._process:
            self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"SqliteLedger({str(self.path)!r})"

    def _prepare(self) -> None:
        """Make the tables of a new file, and refuse a file that is something else."""
        application, schema = self._value("PRAGMA application_id"), self._value("PRAGMA user_version")
        if application == 0 and not self._value("SELECT count(*) FROM sqlite_schema"):
            self._execute(CREATE)
            self._execute(f"PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {SCHEMA}")
        elif application != APPLICATION:
            raise LedgerError(f"{self.path} is a database of something else; choose another file for the ledger.")
        elif schema != SCHEMA:
            raise LedgerError(
                f"{self.path} has schema {schema} and this mapl reads {SCHEMA}; use the mapl that wrote it."
            )

    def _check(self, records: list[Record]) -> None:
        """Check the chain, and that answers and secrets are those that were recorded."""
        check(records)
        sizes = {record.number: record.answered + record.abstained for record in records}
        digests = {
            number: _digest(width, labels, fallback, sizes.get(number, 0))
            for number, width, labels, fallback in self._execute("SELECT * FROM answers")
        }
        if any(record.answers != digests.pop(record.number, "") for record in records) or digests:
            raise broken()
        for record in records[1:]:
            value, seal = self._secret_of(record)
            if seal != seal_of(record, value):
                raise broken()

    def _tail(self, stage: str) -> Tail | None:
        newest = self._records("ORDER BY number DESC LIMIT 1")
        if not newest:
            return None
        of_stage = self._records("WHERE stage = ? ORDER BY number DESC LIMIT 1", stage)
        return Tail(self._records("WHERE number = 0")[0], newest[0], of_stage[0] if of_stage else None)

    def _records(self, which: str, *values: Any) -> list[Record]:
        return [Record(*row) for row in self._execute(f"SELECT {COLUMNS} FROM entries {which}", values)]

    def _answers_of(self, stage: str) -> Iterable[Answers]:
        stored = self._execute(
            "SELECT width, labels, fallback, answered + abstained FROM entries JOIN answers USING (number) "
            "WHERE stage = ? ORDER BY number",
            (stage,),
        )
        return [Answers.read(*row) for row in stored]

    def _secret_of(self, record: Record) -> tuple[int | None, str]:
        found = self._execute("SELECT value, seal FROM secrets WHERE number = ?", (record.number,))
        if not found:
            raise broken()
        value, seal = found[0]
        return value, seal

    def _insert(self, record: Record) -> None:
        places = ", ".join("?" * len(fields(Record)))
        self._execute(f"INSERT INTO entries ({COLUMNS}) VALUES ({places})", astuple(record))

    def _value(self, question: str) -> Any:
        return self._execute(question)[0][0]

    def _execute(self, command: str, values: tuple[Any, ...] = ()) -> list[Any]:
        return self._connection.execute(command, values).fetchall()

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[None]:
        """Commit everything or nothing; whatever SQLite complains about becomes a LedgerError in words."""
        if os.getpid() != self._process:
            raise GuaranteeBroken(
                "A ledger was carried into a forked process; open its file again in the process that needs it."
            )
        try:
            self._connection.execute(begin)
            yield
            self._connection.execute("COMMIT")
        except BaseException as failure:
            if not isinstance(failure, MaplError):
                # It is not known what reached the disk; the next append must look again.
                self._head = None
            self._roll_back()
            if isinstance(failure, (apsw.Error, OverflowError)):
                raise _in_words(self.path, failure) from None
            raise

    def _roll_back(self) -> None:
        try:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
        except apsw.Error:
            pass  # the transaction is undone when the file is opened again


def _digest(width: int, labels: bytes, fallback: bytes | None, taken: int) -> str:
    try:
        return Answers.read(width, labels, fallback, taken).digest
    except (TypeError, ValueError):  # a width or a length that nobody wrote
        raise broken() from None


def _connect(path: Path) -> apsw.Connection:
    try:
        # SQLite gives its log the permissions of the file, and the ledger holds secrets.
        os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))
        connection = apsw.Connection(str(path))
        connection.set_busy_timeout(PATIENCE)
        for setting in ("fullfsync = ON", "checkpoint_fullfsync = ON", "foreign_keys = ON", "trusted_schema = OFF"):
            connection.execute(f"PRAGMA {setting}")
        mode = connection.execute("PRAGMA journal_mode = WAL").fetchall()[0][0]
        connection.execute("PRAGMA synchronous = FULL")
    except OSError as failure:
        raise LedgerError(
            f"The ledger {path} cannot be opened ({failure.strerror}); without it nothing is released. Choose a "
            "folder that exists and can be written."
        ) from None
    except apsw.Error as failure:
        raise _in_words(path, failure) from None
    if mode != "wal":
        connection.close()
        raise LedgerError(
            f"The file system of {path} cannot keep a write-ahead log; put the ledger on a local disk."
        )
    return connection


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
