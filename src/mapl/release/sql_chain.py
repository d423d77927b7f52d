"""A chain in a database: every change is one transaction that begins with the lock."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, fields, replace
from operator import attrgetter
from threading import RLock
from types import TracebackType
from typing import Any, Self, TypeVar

from mapl.errors import GuaranteeBroken, LedgerError, LedgerTampered
from mapl.release.chain import Answers, Entry, Limits, Record, Tail, broken, following, genesis, same_plan
from mapl.release.ledger import NeverCopied, Progress, fitting, progress_of, seal_of, state_of, still_there
from mapl.release.sql_check import check_stored
from mapl.types import Secret, State

COLUMNS = ", ".join(field.name for field in fields(Record))
IN_ORDER = attrgetter(*(field.name for field in fields(Record)))
NEWEST = "ORDER BY number DESC LIMIT 1"
END = f"SELECT {COLUMNS}, value FROM entries LEFT JOIN secrets USING (number) {NEWEST}"

T = TypeVar("T")

Lookup = tuple[str, Collection[Any]]
"""A question whose column is compared with `{among}`, and the keys to compare it with."""


@dataclass(frozen=True, slots=True, repr=False)
class End:
    """The newest record of a chain, and the secret that hangs on it."""

    record: Record
    secret: Secret | None

    @classmethod
    def read(cls, row: Sequence[Any]) -> Self:
        """Take a row of `END` apart."""
        *record, value = row
        return cls(Record(*record), None if value is None else Secret(value))


@dataclass(frozen=True, slots=True, repr=False)
class View:
    """The end of the chain as it was read under the lock, with where one stage stands."""

    genesis: Record
    head: Record
    stage: str
    first: Record | None
    last: Record | None
    secret: Secret | None

    @property
    def tail(self) -> Tail:
        return Tail(self.genesis, self.head, self.last)

    def after(self, record: Record, secret: Secret | None) -> View:
        return replace(self, head=record, first=self.first or record, last=record, secret=secret)


class SqlChain(NeverCopied, ABC):
    """A ledger in a database; a kind of database adds how to connect, to lock and to tell of failures.

    An object may be used by several threads, which take turns. Where the database lives is noted inside it: a
    copy, or what was restored from one, can be read but is locked against spending until `unlock`.
    """

    name: str
    """What messages call the database; no password is in it."""

    def __init__(self) -> None:
        self._turn = RLock()
        self._process = os.getpid()
        self._genesis: str | None = None
        self._head: str | None = None
        self._view: View | None = None

    # What a kind of database gives.

    @abstractmethod
    def _transaction(self, *, writing: bool) -> AbstractContextManager[Any]:
        """Commit everything or nothing; a writing transaction holds the lock from its beginning to its end."""

    @abstractmethod
    def _execute(self, command: str, values: tuple[Any, ...] = ()) -> list[Any]:
        """Run one command, whose places are question marks, and return its rows."""

    @abstractmethod
    def _change(self, command: str, values: tuple[Any, ...] = ()) -> None:
        """Run one command that returns no rows."""

    @abstractmethod
    def _among(self, question: str, keys: Collection[Any]) -> list[Any]:
        """Run a question whose column is compared with `{among}` for any number of keys."""

    def _lookups(self, *questions: Lookup) -> list[list[Any]]:
        """Run several questions for many keys each, in one go where the database gains by that."""
        return [self._among(question, keys) for question, keys in questions]

    @contextmanager
    def _locked_lookups(self, *questions: Lookup) -> Iterator[list[list[Any]]]:
        """Hold the lock for a transaction that begins with some questions."""
        with self._transaction(writing=True):
            yield self._lookups(*questions)

    def _glance(self, read: Callable[[], T]) -> T:
        """Read what never changes once it is there, so that no snapshot is needed."""
        with self._transaction(writing=False):
            return read()

    @abstractmethod
    def _insert(self, table: str, columns: Mapping[str, str], rows: Sequence[tuple[Any, ...]]) -> None:
        """Insert rows; the columns come with the types that PostgreSQL gives them."""

    def _last_changes(self) -> AbstractContextManager[None]:
        """Run the last changes of a transaction, which need no answer; a batch where the database gains by that."""
        return nullcontext()

    @abstractmethod
    def _place(self) -> str:
        """Say where the database is, in words that change when it is copied or restored."""

    @abstractmethod
    def close(self) -> None:
        """Let go of file or connection; what was recorded stays."""

    # The chain.

    def open(self, plan_digest: str, limits: Limits, *, fresh: bool = False) -> None:
        # A long chain is checked without keeping others from writing.
        with self._transaction(writing=False):
            records = self._records("ORDER BY number")
            check_stored(records, self._execute)
        if not records:
            with self._transaction(writing=True):
                self._refuse_locked()
                records = self._records("ORDER BY number")
                if not records:
                    self._add(genesis(plan_digest, limits))
                    fresh = False
            records = records or [genesis(plan_digest, limits)]
        same_plan(records[0], plan_digest, limits, fresh=fresh)
        self._genesis, self._head, self._view = records[0].hash, records[-1].hash, None

    def append(self, entry: Entry, *, secret: Secret | None = None, answers: Answers | None = None) -> None:
        fitting(entry, answers)
        with self._transaction(writing=True):
            self._refuse_locked()
            view = self._look(entry.stage)
            if view is not None and view.head.hash != self._head:
                self._head = None
                raise LedgerError(
                    f"{self.name} has changed since this process last looked, or a write failed; nothing was "
                    "released. Read its progress and go on from there (run again)."
                )
            record = self._write(view, entry, secret, answers)
            self._remember(view, record, secret)

    def progress(self, stage: str) -> Progress:
        with self._transaction(writing=False):
            newest = self._records(NEWEST)
            mine = self._records("WHERE stage = ? ORDER BY number DESC LIMIT 1", stage)
            if not mine:
                progress = progress_of(None, None, (), None)
            else:
                first = self._records("WHERE stage = ? ORDER BY number LIMIT 1", stage)[0]
                progress = progress_of(first, mine[0], self._answers_of(stage), self._secret_of(mine[0]))
        self._head = newest[0].hash if newest else None
        return progress

    @property
    def head(self) -> str:
        with self._transaction(writing=False):
            newest = self._records(NEWEST)
        if not newest:
            raise LedgerError(f"{self.name} has no plan yet, hence no head; call `open` first.")
        return newest[0].hash

    def entries(self) -> list[Record]:
        with self._transaction(writing=False):
            return self._records("ORDER BY number")

    def records(self, after: int, limit: int) -> list[Record]:
        with self._transaction(writing=False):
            return self._records("WHERE number > ? ORDER BY number LIMIT ?", after, limit)

    def verify(self, *, seen: str | None = None) -> None:
        with self._transaction(writing=False):
            records = self._records("ORDER BY number")
            check_stored(records, self._execute)
        still_there(records, seen)

    def export(self) -> list[dict[str, Any]]:
        return [record.public() for record in self.entries()]

    def spending(self, stage: str) -> State:
        with self._transaction(writing=False):
            mine = self._records("WHERE stage = ? ORDER BY number DESC LIMIT 1", stage)
        return state_of(mine[0], None) if mine else State()

    # Where it is, and whether it may spend.

    @property
    def locked(self) -> bool:
        """Whether this is a copy, or was restored or moved, and so may not spend."""
        with self._transaction(writing=False):
            return self._is_locked()

    def lock(self) -> None:
        """Refuse all spending from here on, until `unlock`."""
        with self._transaction(writing=True):
            self._change("UPDATE home SET locked = 1")

    def unlock(self, head: str) -> None:
        """Let a copy spend, if nothing is missing from it that somebody has seen.

        Parameters
        ----------
        head
            The newest head that was ever exported or printed; it must be part of the chain.
        """
        with self._transaction(writing=True):
            records = self._records("ORDER BY number")
            check_stored(records, self._execute)
            still_there(records, head)
            self._change("UPDATE home SET place = ?, locked = 0", (self._place(),))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    def _newest(self) -> End | None:
        """Read the newest record with its secret under the lock."""
        found = self._execute(END)
        return End.read(found[0]) if found else None

    def _home(self) -> tuple[str, bool]:
        """Read where the database is at home, and whether it is locked."""
        ((place, locked),) = self._execute("SELECT place, locked FROM home")
        return place, bool(locked)

    def _own_process(self) -> bool:
        return os.getpid() == self._process

    def _refuse_fork(self) -> None:
        if not self._own_process():
            raise GuaranteeBroken(
                "A ledger was carried into a forked process; open it again in the process that needs it."
            )

    def _is_locked(self) -> bool:
        place, locked = self._home()
        return locked or place != self._place()

    def _refuse_locked(self) -> None:
        if self._is_locked():
            raise LedgerError(
                f"{self.name} is a copy, or was moved or restored, and is locked: two copies would each spend the "
                "whole budget. If no other is in use, unlock it with the newest head that was exported (mapl "
                "ledger unlock)."
            )

    def _look(self, stage: str) -> View | None:
        """Read the end of the chain under the lock; what has not changed since the last look is not read again."""
        if self._genesis is None:
            return None
        view, end = self._view, self._newest()
        if view is not None and view.stage == stage and end is not None:
            if end.record.hash == view.head.hash:
                return view
            if end.record.stage == stage and end.record.number > view.head.number:
                return view.after(end.record, end.secret)  # somebody else has gone on
        first = self._records("WHERE number = 0")
        if not first or first[0].hash != self._genesis:
            raise LedgerTampered(
                f"{self.name} is no longer the ledger that was opened; nothing is released from it."
            )
        mine = self._records("WHERE stage = ? ORDER BY number LIMIT 1", stage)
        last = self._records("WHERE stage = ? ORDER BY number DESC LIMIT 1", stage)
        return View(
            first[0],
            self._records(NEWEST)[0],
            stage,
            mine[0] if mine else None,
            last[0] if last else None,
            self._secret_of(last[0]) if last else None,
        )

    def _remember(self, view: View | None, record: Record, secret: Secret | None) -> None:
        """Keep what is about to be committed, so that the next transaction need not read it again.

        If the commit fails, it is forgotten.
        """
        self._view = None if view is None else view.after(record, secret)
        self._head = record.hash

    def _forget(self) -> None:
        """Drop what was seen; it is not known what reached the disk."""
        self._view = self._head = None

    def _write(self, view: View | None, entry: Entry, secret: Secret | None, answers: Answers | None) -> Record:
        record = following(None if view is None else view.tail, entry, "" if answers is None else answers.digest)
        self._add(record)
        if answers is not None:
            stored = (record.number, answers.width, *answers.content(answers.room))
            self._change("INSERT INTO answers VALUES (?, ?, ?, ?)", stored)
        value = None if secret is None else secret.value
        self._change("INSERT INTO secrets VALUES (?, ?, ?)", (record.number, value, seal_of(record, value)))
        return record

    def _add(self, record: Record) -> None:
        places = ", ".join("?" * len(fields(Record)))
        self._change(f"INSERT INTO entries ({COLUMNS}) VALUES ({places})", IN_ORDER(record))

    def _records(self, which: str, *values: Any) -> list[Record]:
        return [Record(*row) for row in self._execute(f"SELECT {COLUMNS} FROM entries {which}", values)]

    def _answers_of(self, stage: str) -> Iterable[Answers]:
        stored = self._execute(
            "SELECT width, labels, fallback, answered + abstained FROM entries JOIN answers USING (number) "
            "WHERE stage = ? ORDER BY number",
            (stage,),
        )
        return [Answers.read(*row) for row in stored]

    def _secret_of(self, record: Record) -> Secret | None:
        found = self._execute("SELECT value FROM secrets WHERE number = ?", (record.number,))
        if not found:
            raise broken()
        value = found[0][0]
        return None if value is None else Secret(value)
