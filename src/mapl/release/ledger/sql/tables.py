"""What a ledger asks of a database: transactions that begin with the lock, and the entries of its chain."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, fields
from threading import RLock
from types import TracebackType
from typing import Any, NamedTuple, Self, TypeVar

from mapl.errors import GuaranteeBroken
from mapl.release.ledger.chain import Record
from mapl.release.ledger.head_mark import HeadMark
from mapl.release.ledger.ledger import NeverCopied
from mapl.types import Secret

COLUMNS = ", ".join(field.name for field in fields(Record))
NEWEST = "ORDER BY number DESC LIMIT 1"
END = f"SELECT {COLUMNS}, value FROM entries LEFT JOIN secrets USING (number) {NEWEST}"

T = TypeVar("T")

Lookup = tuple[str, Collection[Any]]
"""A question whose column is compared with `{among}`, and the keys to compare it with."""


class Sealed(NamedTuple):
    """How many requests are stored, and the seal that covers them."""

    stored: int
    seal: str


@dataclass(frozen=True, slots=True, repr=False)
class End:
    """The newest record of a chain, and the secret that hangs on it."""

    record: Record
    secret: Secret | None

    @property
    def mark(self) -> HeadMark:
        return HeadMark(self.record.number, self.record.hash)

    @classmethod
    def read(cls, row: Sequence[Any]) -> Self:
        """Take a row of `END` apart."""
        *record, value = row
        return cls(Record(*record), None if value is None else Secret(value))


class SqlTables(NeverCopied, ABC):
    """The tables of a ledger; a kind of database adds how to connect, to lock and to tell of failures.

    An object may be used by several threads, which take turns.
    """

    name: str
    """What messages call the database; no password is in it."""

    def __init__(self) -> None:
        self._turn = RLock()
        self._process = os.getpid()

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

    @contextmanager
    def _locked_lookups(self, *questions: Lookup) -> Iterator[list[list[Any]]]:
        """Hold the lock for a transaction that begins with some questions."""
        with self._transaction(writing=True):
            yield [self._among(question, keys) for question, keys in questions]

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

    def _at_home(self, place: str) -> bool:
        """Say whether the database is where it noted that it is at home."""
        return place == self._place()

    def _settle(self) -> str:
        """Make this place the home, and return what is to be noted of it."""
        return self._place()

    @abstractmethod
    def _carry_over(self) -> None:
        """Take over into the chain what was stored before it began."""

    @abstractmethod
    def close(self) -> None:
        """Let go of file or connection; what was recorded stays."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    def _own_process(self) -> bool:
        return os.getpid() == self._process

    def _refuse_fork(self) -> None:
        if not self._own_process():
            raise GuaranteeBroken(
                "A ledger was carried into a forked process; open it again in the process that needs it."
            )

    # What is read in the same way everywhere.

    def _records(self, which: str, *values: Any) -> list[Record]:
        return [Record(*row) for row in self._execute(f"SELECT {COLUMNS} FROM entries {which}", values)]

    def _newest(self) -> End | None:
        """Read the newest record with its secret under the lock."""
        found = self._execute(END)
        return End.read(found[0]) if found else None

    def _sealed(self) -> Sealed:
        """Read how the stored requests are sealed."""
        ((stored, seal),) = self._execute("SELECT stored, sealed FROM home")
        return Sealed(stored, seal)
