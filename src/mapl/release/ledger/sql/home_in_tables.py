"""Where a ledger in a database is at home and how far it has come: whether it may spend."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from mapl.errors import LedgerError, LedgerRolledBack
from mapl.release.ledger.chain import Record
from mapl.release.ledger.head_mark import HeadMark, rolled_back
from mapl.release.ledger.ledger import still_there
from mapl.release.ledger.sql.check import check_stored
from mapl.release.ledger.sql.tables import NEWEST, End, Lookup, SqlTables

MARK = f"SELECT number, hash FROM entries {NEWEST}"

LOCKED, ROLLED_BACK = 1, 2
"""Why a ledger answers nothing: as a copy, or because entries are missing that were seen before."""


class SqlHome(SqlTables):
    """A database that knows its place and its head, and answers nothing where either went back.

    Where it lives is noted inside it: a copy, or what was restored from one, can be read but is locked against
    spending until `unlock`. Its head may only move on to a descendant.
    """

    def __init__(self) -> None:
        super().__init__()
        self._mark: HeadMark | None = None
        self._written: HeadMark | None = None  # what is about to be committed

    @property
    def mark(self) -> HeadMark | None:
        return self._mark

    def look(self) -> HeadMark:
        self._glance(lambda: self._see_end(self._execute(MARK)))
        if self._mark is None:
            raise LedgerError(f"{self.name} has no plan yet, hence no head; call `open` first.")
        return self._mark

    def holds(self, mark: HeadMark) -> bool:
        which, value = ("hash", mark.hash) if mark.number is None else ("number", mark.number)
        with self._transaction(writing=False):
            found = self._execute(f"SELECT hash FROM entries WHERE {which} = ?", (value,))
        return found == [(mark.hash,)]

    def _lookups(self, *questions: Lookup) -> list[list[Any]]:
        """Run several questions for many keys each, in one go if the database gains by it; then see the end."""
        found = [self._among(question, keys) for question, keys in questions]
        self._see_end(self._execute(MARK))
        return found

    def _see_end(self, rows: Sequence[tuple[int, str]]) -> None:
        """Take in what `MARK` found, which was read after everything that is told."""
        self._go_on(HeadMark(*rows[0]) if rows else None)

    def _go_on(self, mark: HeadMark | None) -> None:
        """Go on to a newer end of the chain, if what was seen before is still part of it."""
        before = self._mark
        if before is None or before == mark:
            self._mark = mark
            return
        if mark is None or mark.number is None or before.number is None or mark.number <= before.number:
            raise rolled_back(self.name)
        if self._execute("SELECT hash FROM entries WHERE number = ?", (before.number,)) != [(before.hash,)]:
            raise rolled_back(self.name)
        self._mark = mark

    def _committed(self) -> None:
        """Know what this process has just made durable."""
        self._mark, self._written = self._written or self._mark, None

    def _undone(self, failure: BaseException) -> None:
        """Forget what was not committed; a database that has lost entries stays shut, whoever opens it next."""
        self._written = None
        if isinstance(failure, LedgerRolledBack):
            self.shut()

    @property
    def locked(self) -> bool:
        """Whether this is a copy, or was restored or moved, and so may not spend."""
        with self._transaction(writing=False):
            return self._is_locked()

    @property
    def rolled_back(self) -> bool:
        """Whether entries are missing that were seen before, so that nothing new is answered."""
        with self._transaction(writing=False):
            return self._home()[1] == ROLLED_BACK

    def lock(self) -> None:
        """Refuse all spending from here on, until `unlock`."""
        with self._transaction(writing=True):
            self._change("UPDATE home SET locked = ?", (LOCKED,))

    def shut(self) -> None:
        with suppress(LedgerError), self._transaction(writing=True):  # what cannot be written answers nothing
            self._change("UPDATE home SET locked = ? WHERE locked <> ?", (ROLLED_BACK, ROLLED_BACK))

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
            self._change("UPDATE home SET place = ?, locked = 0", (self._settle(),))

    def _home(self) -> tuple[str, int]:
        """Read where the database is at home, and whether it is locked."""
        ((place, locked),) = self._execute("SELECT place, locked FROM home")
        return place, locked

    def _is_locked(self) -> bool:
        place, locked = self._home()
        return locked != 0 or not self._at_home(place)

    def _refuse_unfit(self) -> End | None:
        """Refuse to spend from a copy, and from a chain that does not go on from what was seen of it.

        Returns the end of the chain, for what goes on from it.
        """
        place, locked = self._home()
        if locked == ROLLED_BACK:
            raise rolled_back(self.name)
        end = self._newest()
        self._go_on(None if end is None else end.mark)
        if locked or not self._at_home(place):
            raise LedgerError(
                f"{self.name} is a copy, or was moved or restored, and is locked: two copies would each spend the "
                "whole budget. If no other is in use, unlock it with the newest head that was exported (mapl "
                "ledger unlock)."
            )
        return end


def mark_of(records: Sequence[Record]) -> HeadMark | None:
    """Return the mark of the last of some records."""
    return HeadMark(records[-1].number, records[-1].hash) if records else None
