"""A chain in a database: every change is one transaction that begins with the lock."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from operator import attrgetter
from typing import Any

from mapl.errors import LedgerError, LedgerTampered
from mapl.release.ledger.chain import (
    Answers,
    Entry,
    Limits,
    Record,
    Tail,
    broken_chain,
    find_awaited,
    follow,
    genesis,
    run_id_of,
    same_plan,
)
from mapl.release.ledger.head_mark import HeadMark
from mapl.release.ledger.ledger import (
    Progress,
    progress_of,
    refuse_unfit_answers,
    seal_of,
    state_of,
    still_there,
)
from mapl.release.ledger.run_id import new_run_id
from mapl.release.ledger.sql.check import check_stored
from mapl.release.ledger.sql.home_in_tables import SqlHome, mark_of
from mapl.release.ledger.sql.tables import COLUMNS, NEWEST, End
from mapl.types import Secret, State

IN_ORDER = attrgetter(*(field.name for field in fields(Record)))


@dataclass(frozen=True, slots=True, repr=False)
class View:
    """The end of the chain as it was read under the lock, with where one stage stands."""

    genesis: Record
    head: Record
    stage: str
    first: Record | None
    last: Record | None
    secret: Secret | None
    awaited: Record | None = None
    """The newest record of the stage that this one waits for; once it has begun it waits no more."""

    @property
    def tail(self) -> Tail:
        return Tail(self.genesis, self.head, self.last, self.awaited)

    def after(self, record: Record, secret: Secret | None) -> View:
        return replace(self, head=record, first=self.first or record, last=record, secret=secret)


class SqlChain(SqlHome):
    """A ledger in a database: entries that follow one another, read and written under its lock."""

    def __init__(self) -> None:
        super().__init__()
        self._genesis: str | None = None
        self._head: str | None = None
        self._view: View | None = None

    def open(self, plan_digest: str, limits: Limits, *, fresh: bool = False) -> None:
        # A long chain is checked without keeping others from writing.
        with self._transaction(writing=False):
            records = self._records("ORDER BY number")
            check_stored(records, self._execute)
            self._go_on(mark_of(records))
        if not records:
            with self._transaction(writing=True):
                self._refuse_unfit()
                records = self._records("ORDER BY number")
                if not records:
                    records, fresh = [genesis(plan_digest, limits, new_run_id())], False
                    self._add(records[0])
                    self._carry_over()
                    records = self._records("ORDER BY number")
        same_plan(records[0], plan_digest, limits, fresh=fresh)
        self._genesis, self._head, self._view = records[0].hash, records[-1].hash, None
        self._mark = mark_of(records)

    def append(self, entry: Entry, *, secret: Secret | None = None, answers: Answers | None = None) -> None:
        refuse_unfit_answers(entry, answers)
        with self._transaction(writing=True):
            view = self._look(entry.stage, self._refuse_unfit())
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
            self._go_on(mark_of(newest))
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

    @property
    def run_id(self) -> str | None:
        with self._transaction(writing=False):
            first = self._records("WHERE number = 0")
        if not first:
            raise LedgerError(f"{self.name} has no plan yet, hence no run; call `open` first.")
        return run_id_of(first[0])

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

    def _look(self, stage: str, end: End | None) -> View | None:
        """See where a stage stands, under the lock; what has not changed since the last look is not read again."""
        if self._genesis is None:
            return None
        view = self._view
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
        other = find_awaited(first[0], stage)
        awaited = self._records("WHERE stage = ? ORDER BY number DESC LIMIT 1", other) if other else []
        return View(
            first[0],
            self._records(NEWEST)[0],
            stage,
            mine[0] if mine else None,
            last[0] if last else None,
            self._secret_of(last[0]) if last else None,
            awaited[0] if awaited else None,
        )

    def _remember(self, view: View | None, record: Record, secret: Secret | None) -> None:
        """Keep what is about to be committed, so that the next transaction need not read it again.

        If the commit fails, it is forgotten.
        """
        self._view = None if view is None else view.after(record, secret)
        self._head = record.hash
        self._written = HeadMark(record.number, record.hash)

    def _went_on(self, record: Record) -> None:
        """Keep up with an entry of no stage that this process adds itself."""
        if self._head == record.previous:
            self._head = record.hash
        self._view = None
        self._written = HeadMark(record.number, record.hash)

    def _forget(self) -> None:
        """Drop what was seen; it is not known what reached the disk."""
        self._view = self._head = None

    def _write(self, view: View | None, entry: Entry, secret: Secret | None, answers: Answers | None) -> Record:
        record = follow(None if view is None else view.tail, entry, "" if answers is None else answers.digest)
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
            raise broken_chain()
        value = found[0][0]
        return None if value is None else Secret(value)
