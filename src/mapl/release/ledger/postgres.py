"""A ledger in a PostgreSQL database, for servers that share one budget; it comes back when the database does."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any, ClassVar, NamedTuple, TypeVar

import psycopg
from psycopg import errors, sql

from mapl.errors import InvalidParameter, LedgerError, LedgerRolledBack, MaplError
from mapl.release.ledger.sql.home_in_tables import MARK
from mapl.release.ledger.sql.postgres_connection import LOST, connect, in_words
from mapl.release.ledger.sql.postgres_tables import STEPS
from mapl.release.ledger.sql.sql_ledger import SqlLedger
from mapl.release.ledger.sql.tables import END, End, Lookup, Sealed

T = TypeVar("T")

SCHEMA = len(STEPS)
PATIENCE = 10_000
"""How long, in milliseconds, to wait for another process that is writing."""

LONGEST_NAME = 63
READING = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
WRITING = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"
LOCK = "SELECT place, locked, stored, sealed FROM home FOR UPDATE"
"""The lock is the one row of `home`; a later command of the same transaction sees the newest there is."""


class LastSeen(NamedTuple):
    """What came with the lock."""

    place: str
    locked: int
    sealed: Sealed
    end: End | None


class PostgresLedger(SqlLedger):
    """A ledger in one schema of a database; any number of servers may share it.

    A transaction that returned was committed with synchronous_commit=on. If the connection is lost while a commit
    is under way, nothing is released and the next call looks again at what is there.

    Parameters
    ----------
    address
        What libpq takes: postgresql://user@host/database or "host=... dbname=...".
    schema
        The schema of this ledger; one run has one.
    create
        Whether the schema is made if it is not there.
    """

    SETTINGS: ClassVar[dict[str, str]] = {
        "synchronous_commit": "on",
        "lock_timeout": str(PATIENCE),
        "statement_timeout": "60000",
        # A server that hangs while it holds the lock must not stop the others for good.
        "idle_in_transaction_session_timeout": "30000",
        "client_min_messages": "warning",
    }
    """What every connection is set to, whatever the database prefers."""

    def __init__(self, address: str, *, schema: str = "mapl", create: bool = True) -> None:
        super().__init__()
        if not 1 <= len(schema.encode()) <= LONGEST_NAME or "\0" in schema:
            raise InvalidParameter(f"The schema's name must have 1 to {LONGEST_NAME} bytes; choose a shorter one.")
        self._address, self._schema = address, schema
        self.name = f"The PostgreSQL schema {schema!r}"
        self._connection = self._connect()
        self._at = ""
        self._seen: LastSeen | None = None
        self._ended = self._warned = False
        try:
            self._prepare(create=create)
        except psycopg.Error as failure:
            self._connection.close()
            raise in_words(self.name, failure) from None
        except MaplError:
            self._connection.close()
            raise

    def close(self) -> None:
        if self._own_process():
            self._connection.close()

    def _connect(self) -> psycopg.Connection[Any]:
        return connect(self._address, self._schema, self.SETTINGS, self._heed, self.name)

    def _prepare(self, *, create: bool) -> None:
        """Make the tables of a new schema, and refuse one that is something else; one process at a time."""
        with self._connection.transaction():
            ask = self._connection.execute
            ask("SELECT pg_advisory_xact_lock(hashtext('mapl'), hashtext(%s))", (self._schema,))
            found = {
                name for (name,) in ask("SELECT tablename FROM pg_tables WHERE schemaname = %s", (self._schema,))
            }
            if not found and not create:
                raise LedgerError(f"{self.name} holds no ledger; name the schema of the run (?schema=NAME).")
            if not found:
                ask(sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(sql.Identifier(self._schema)))
                for step in STEPS:
                    ask(step)
                self._at = self._whereabouts()
                ask(
                    "INSERT INTO home (one, version, place, locked, beat) VALUES (1, %s, %s, 0, 0)",
                    (SCHEMA, self._at),
                )
                self._carry_over()
            elif not {"home", "entries"} <= found:
                raise LedgerError(f"{self.name} holds something else; choose another schema for the ledger.")
            else:
                self._at = self._whereabouts()
                ((version,),) = ask("SELECT version FROM home").fetchall()
                for step in STEPS[version:]:
                    ask(step)
                if version < SCHEMA:
                    ask("UPDATE home SET version = %s", (SCHEMA,))
                    self._carry_over()
                if version > SCHEMA:
                    raise LedgerError(
                        f"{self.name} has version {version}, this mapl reads {SCHEMA}; use the mapl that wrote it."
                    )

    def _whereabouts(self) -> str:
        ((cluster, database, table),) = self._connection.execute(
            "SELECT (SELECT system_identifier FROM pg_control_system()), "
            "(SELECT oid FROM pg_database WHERE datname = current_database()), 'entries'::regclass::oid"
        ).fetchall()
        return f"cluster {cluster}, database {database}, table {table}"

    def _place(self) -> str:
        return self._at

    def _home(self) -> tuple[str, int]:
        return super()._home() if self._seen is None else (self._seen.place, self._seen.locked)

    def _sealed(self) -> Sealed:
        return super()._sealed() if self._seen is None else self._seen.sealed

    def _newest(self) -> End | None:
        return super()._newest() if self._seen is None else self._seen.end

    def _execute(self, command: str, values: tuple[Any, ...] = ()) -> list[Any]:
        return self._connection.execute(_in_percent(command), values or None, binary=True).fetchall()

    def _change(self, command: str, values: tuple[Any, ...] = ()) -> None:
        self._connection.execute(_in_percent(command), values or None)

    def _among(self, question: str, keys: Collection[Any]) -> list[Any]:
        return self._execute(question.format(among="= ANY(?)"), (list(keys),)) if keys else []

    def _lookups(self, *questions: Lookup) -> list[list[Any]]:
        with self._connection.pipeline():
            asked, newest = self._send(questions), self._connection.execute(MARK)
        self._see_end(newest.fetchall())
        return _fetched(asked)

    @contextmanager
    def _locked_lookups(self, *questions: Lookup) -> Iterator[list[list[Any]]]:
        """Ask for the lock and for everything that is to be looked up under it in one go."""
        with self._transaction(writing=True, along=questions) as found:
            yield found

    def _send(self, questions: Sequence[Lookup]) -> list[psycopg.Cursor[Any] | None]:
        """Send questions without waiting for what comes back."""
        return [
            self._connection.execute(_in_percent(question.format(among="= ANY(?)")), (list(keys),), binary=True)
            if keys
            else None
            for question, keys in questions
        ]

    def _glance(self, read: Callable[[], T]) -> T:
        self._refuse_fork()
        with self._turn:
            try:
                try:
                    return read()
                except LOST:
                    if not self._connection.closed:
                        raise
                    self._connect_again()
                    return read()
            except psycopg.Error as failure:
                raise in_words(self.name, failure) from None
            except LedgerRolledBack as failure:
                self._undone(failure)
                raise

    def _insert(self, table: str, columns: Mapping[str, str], rows: Sequence[tuple[Any, ...]]) -> None:
        if rows:
            arrays = ", ".join(f"?::{kind}[]" for kind in columns.values())
            command = f"INSERT INTO {table} ({', '.join(columns)}) SELECT * FROM unnest({arrays})"
            self._change(command, tuple(list(column) for column in zip(*rows, strict=True)))

    @contextmanager
    def _last_changes(self) -> Iterator[None]:
        """Send changes and the commit without waiting for each; after the first that fails none is carried out."""
        self._warned = False
        with self._connection.pipeline():
            yield
            ended = self._connection.execute("COMMIT")
        self._refuse_doubtful(ended.statusmessage)
        self._ended = True

    def _refuse_doubtful(self, ended: str | None) -> None:
        """Believe a commit only if there was no warning: who cancels the wait for a standby is told in one."""
        if ended != "COMMIT":
            raise LedgerError(f"{self.name} did not take an entry; nothing was released. Run again.")
        if self._warned:
            self._forget()
            raise LedgerError(
                f"{self.name} warned while it committed: it may not have reached a standby. Nothing was released; "
                "run again when the database is whole."
            )

    def _heed(self, notice: errors.Diagnostic) -> None:
        self._warned = True  # client_min_messages lets nothing less than a warning through

    @contextmanager
    def _transaction(self, *, writing: bool, along: Sequence[Lookup] = ()) -> Iterator[list[list[Any]]]:
        """Commit everything or nothing; whatever PostgreSQL complains about becomes a LedgerError in words."""
        self._refuse_fork()
        with self._turn:
            self._ended = False
            try:
                yield self._begin(writing=writing, along=along)
                if not self._ended:
                    self._warned = False
                    self._refuse_doubtful(self._connection.execute("COMMIT").statusmessage)
                self._committed()
            except BaseException as failure:
                if not isinstance(failure, MaplError):
                    self._forget()  # it is not known whether a commit arrived; the next append must look again
                self._roll_back()
                self._undone(failure)
                if isinstance(failure, (psycopg.Error, OverflowError)):
                    raise in_words(self.name, failure) from None
                raise
            finally:
                self._seen = None

    def _begin(self, *, writing: bool, along: Sequence[Lookup]) -> list[list[Any]]:
        """Begin a transaction; nothing has happened in it yet, so a connection that was lost is made anew once."""
        try:
            return self._try_to_begin(writing=writing, along=along)
        except LOST:
            if not self._connection.closed:
                raise
            self._connect_again()
            return self._try_to_begin(writing=writing, along=along)

    def _connect_again(self) -> None:
        self._forget()
        self._connection = self._connect()
        self._at = self._whereabouts()

    def _try_to_begin(self, *, writing: bool, along: Sequence[Lookup]) -> list[list[Any]]:
        if not writing:
            self._connection.execute(READING)
            return []
        with self._connection.pipeline():
            self._connection.execute(WRITING)
            lock, newest = self._connection.execute(LOCK), self._connection.execute(END)
            asked = self._send(along)
        home, end = lock.fetchone(), newest.fetchone()
        if home is None:
            raise LedgerError(f"{self.name} has lost its home entry; restore it from its newest copy.")
        self._seen = LastSeen(home[0], home[1], Sealed(*home[2:]), None if end is None else End.read(end))
        return _fetched(asked)

    def _roll_back(self) -> None:
        try:
            if not self._connection.closed:
                self._connection.execute("ROLLBACK")
        except psycopg.Error:
            self._connection.close()  # the server undoes what was not committed


def _fetched(asked: Sequence[psycopg.Cursor[Any] | None]) -> list[list[Any]]:
    return [[] if cursor is None else cursor.fetchall() for cursor in asked]


@cache
def _in_percent(command: str) -> str:
    """Write a command with the places that psycopg has, arrays as binary; none has a percent sign of its own."""
    return command.replace("(?)", "(%b)").replace("?::", "%b::").replace("?", "%s")
