"""What ledgers in a database do for questions that come one by one, and for the keys of those who ask."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from mapl.errors import InvalidParameter, LedgerError
from mapl.release.ledger.chain import KEYS, Answers, broken_chain
from mapl.release.ledger.exchange import (
    UNSEALED,
    count_left,
    decide_new,
    outcomes_of,
    recall_replies,
    refuse_odd,
    reply_to,
    same_request,
    seal_inquiries,
    sort_out,
    unbegun,
)
from mapl.release.ledger.inquiries import (
    DIGEST_BYTES,
    NOBODY,
    NOT_ASKED,
    Author,
    Decide,
    Inquiry,
    KeyRecord,
    Refused,
    Reply,
)
from mapl.release.ledger.key_log import (
    entry_of,
    fit_into_place,
    log_added,
    log_carried_over,
    log_ends,
    log_revoked,
    refuse_later_end,
    taken_line,
)
from mapl.release.ledger.ledger import state_of
from mapl.release.ledger.sql.chain_in_tables import SqlChain, View
from mapl.release.ledger.sql.check import STORED, key_in
from mapl.release.ledger.sql.home_in_tables import MARK
from mapl.release.ledger.sql.tables import NEWEST

INQUIRIES = "SELECT id, caller, body, questions FROM inquiries WHERE id {among}"
PLACES = "SELECT digest, number, place FROM questions WHERE digest {among}"
BLOCKS = (
    "SELECT number, width, labels, fallback, answered + abstained FROM entries JOIN answers USING (number) "
    "WHERE number {among}"
)
LOG = "SELECT content FROM details JOIN entries USING (number) WHERE kind = ? ORDER BY number"
ROOM = (
    "SELECT id, CASE WHEN revoked = 0 THEN most - taken ELSE 0 END FROM keys "
    "WHERE (most IS NOT NULL OR revoked <> 0) AND id {among}"
)
"""`KeyRecord.room` of those callers that have a cap or were revoked, whatever of theirs is still under way."""


class SqlLedger(SqlChain):
    """A ledger in a database that serves questions as they come, from any number of processes."""

    def recall(self, inquiries: Sequence[Inquiry]) -> list[Reply | Refused | None]:
        def read() -> list[Reply | Refused | None]:
            stored = _by_id(self._among(INQUIRIES, _ids(inquiries)))
            self._see_end(self._execute(MARK))
            return recall_replies(inquiries, stored, self._outcomes(_questions(stored.values())))

        return self._glance(read)

    def seen(self, inquiries: Sequence[Inquiry]) -> tuple[list[Reply | Refused | None], set[bytes]]:
        def read() -> tuple[list[Reply | Refused | None], set[bytes]]:
            found, places = self._lookups((INQUIRIES, _ids(inquiries)), (PLACES, _questions(inquiries)))
            stored = _by_id(found)
            outcomes = self._outcomes(_questions(stored.values())) if stored else {}
            return recall_replies(inquiries, stored, outcomes), {digest for digest, _, _ in places}

        return self._glance(read)

    def known(self, questions: Collection[bytes]) -> dict[bytes, int]:
        outcomes = self._glance(lambda: self._outcomes(set(questions)))
        return {one: code for one, code in outcomes.items() if code != NOT_ASKED}

    def exchange(
        self, stage: str, inquiries: Sequence[Inquiry], decide: Decide, *, n_classes: int
    ) -> list[Reply | Refused]:
        refuse_odd(inquiries)
        with self._locked_lookups(
            (INQUIRIES, _ids(inquiries)),
            (PLACES, _questions(inquiries)),
            (ROOM, {inquiry.caller for inquiry in inquiries}),
        ) as (found, places, room):
            view = self._look(stage, self._refuse_unfit())
            if view is None or view.last is None:
                raise unbegun(stage)
            left = count_left(view.first, view.last)
            stored = _by_id(found)
            outcomes = self._outcomes_at(places)
            missing = _questions(stored.values()) - outcomes.keys()
            if missing:  # an id that stands for another request now
                outcomes.update(self._outcomes(missing))
            group = sort_out(inquiries, stored=stored, known=outcomes, room=dict(room), left=left)
            before = self._sealed()
            seal = seal_inquiries(before.seal, group.fresh)
            record, made = None, None
            if group.new:
                state = state_of(view.last, view.secret)
                outcome, made = decide_new(state, group, decide, n_classes=n_classes, sealed=seal)
                outcomes.update(outcomes_of(group.new, outcome))
            with self._last_changes():
                if made is not None:
                    record = self._write(view, made.entry(stage), made.secret, made.answers)
                    self._store_questions(record.number, group.new)
                    self._detail(record.number, taken_line(group.taken))
                self._store_inquiries(group.fresh, before.stored, seal)
                self._count_callers(group.taken)
            if record is not None and made is not None:
                self._remember(view, record, made.secret)
        return group.replies(outcomes)

    def store(self, inquiry: Inquiry) -> Refused | None:
        refuse_odd([inquiry])
        with self._locked_lookups((INQUIRIES, [inquiry.id])) as (found,):
            self._refuse_unfit()
            earlier = _by_id(found).get(inquiry.id)
            if earlier is not None:
                return None if same_request(earlier, inquiry) else Refused.OTHER_BODY
            before = self._sealed()
            with self._last_changes():
                self._store_inquiries([inquiry], before.stored, seal_inquiries(before.seal, [inquiry]))
        return None

    def left(self, stage: str) -> int:
        with self._transaction(writing=False):
            first = self._records("WHERE stage = ? ORDER BY number LIMIT 1", stage)
            last = self._records("WHERE stage = ? ORDER BY number DESC LIMIT 1", stage)
        if not last:
            raise unbegun(stage)
        return count_left(first[0], last[0])

    def reply(self, id: str, caller: str) -> Reply | None:
        def read() -> Reply | None:
            stored = _by_id(self._among(INQUIRIES, [id])).get(id)
            if stored is None or stored.caller != caller:
                return None
            outcomes = self._outcomes(set(stored.questions))
            self._see_end(self._execute(MARK))
            return reply_to(stored, outcomes)

        return self._glance(read)

    def alive(self) -> None:
        with self._transaction(writing=True):
            self._refuse_unfit()
            if self._genesis is None:
                raise LedgerError(f"{self.name} has not been opened with its plan; call its `open` first.")
            # A full or failing disk shows only when something is committed.
            self._change("UPDATE home SET beat = beat + 1")

    def keys(self) -> list[KeyRecord]:
        with self._transaction(writing=False):
            return self._keys("")

    def key(self, id: str) -> KeyRecord | None:
        return self._glance(lambda: next(iter(self._keys("WHERE id = ?", id)), None))

    def add_key(self, key: KeyRecord, *, by: Author = NOBODY) -> None:
        with self._transaction(writing=True):
            self._refuse_unfit()
            self._add_key(key, by)

    def revoke_key(self, id: str, *, by: Author = NOBODY) -> None:
        with self._transaction(writing=True):
            self._refuse_unfit()
            self._revoke_key(self._named_key(id), by)

    def replace_key(self, id: str, new: KeyRecord, *, until: int | None = None, by: Author = NOBODY) -> KeyRecord:
        with self._transaction(writing=True):
            self._refuse_unfit()
            old = self._named_key(id)
            new = fit_into_place(old, new, until)
            self._add_key(new, by)
            if until is None:
                self._revoke_key(old, by)
            else:
                refuse_later_end(old, until)
                self._log(log_ends(old, until, by))
                self._change("UPDATE keys SET expires = ? WHERE id = ?", (until, id))
        return new

    def key_log(self) -> list[str]:
        with self._transaction(writing=False):
            return [content for (content,) in self._execute(LOG, (KEYS,))]

    def _named_key(self, id: str) -> KeyRecord:
        found = self._keys("WHERE id = ?", id)
        if not found:
            raise InvalidParameter("There is no key with this id; list the keys to see which there are.")
        return found[0]

    def _add_key(self, key: KeyRecord, by: Author) -> None:
        if self._keys("WHERE id = ?", key.id):
            raise InvalidParameter("There is a key with this id already; an id is given once.")
        self._log(log_added(replace(key, revoked=False, taken=0), by))
        self._change(
            "INSERT INTO keys (id, name, scopes, digest, most, taken, revoked, expires) "
            "VALUES (?, ?, ?, ?, ?, 0, 0, ?)",
            (key.id, key.name, " ".join(key.scopes), key.digest, key.most, key.expires),
        )

    def _revoke_key(self, key: KeyRecord, by: Author) -> None:
        if not key.revoked:
            self._log(log_revoked(key, by))
            self._change("UPDATE keys SET revoked = 1 WHERE id = ?", (key.id,))

    def _log(self, line: str) -> None:
        """Add a line about keys to the chain."""
        first, newest = self._records("WHERE number = 0"), self._records(NEWEST)
        view = View(first[0], newest[0], "", None, None, None) if first else None
        record = self._write(view, entry_of(line), None, None)
        self._detail(record.number, line)
        self._went_on(record)

    def _detail(self, number: int, content: str) -> None:
        self._change("INSERT INTO details VALUES (?, ?)", (number, content))

    def _carry_over(self) -> None:
        """Seal the requests and log the keys of a ledger that an earlier version wrote, or of a new one."""
        inquiries = [_inquiry(*row) for row in self._execute(STORED)]
        seal = seal_inquiries(UNSEALED, inquiries)
        self._change("UPDATE home SET stored = ?, sealed = ?", (len(inquiries), seal))
        keys = self._keys("")
        if keys and self._records("WHERE number = 0"):
            self._log(log_carried_over(keys))

    def _outcomes(self, questions: Collection[bytes]) -> dict[bytes, int]:
        """Look up what was published of questions: their places first, then the blocks that these are in."""
        return self._outcomes_at(self._among(PLACES, questions))

    def _outcomes_at(self, places: Sequence[tuple[bytes, int, int]]) -> dict[bytes, int]:
        numbers = {number for _, number, _ in places}
        rows = self._among(BLOCKS, numbers) if places else []
        blocks = {number: Answers.read(*stored).labels for number, *stored in rows}
        if len(blocks) < len(numbers):
            raise broken_chain()
        return {
            digest: int(blocks[number][at]) if at < len(blocks[number]) else NOT_ASKED
            for digest, number, at in places
        }

    def _store_questions(self, number: int, questions: Sequence[bytes]) -> None:
        # The undecided ones of a block that halted are stored too: what is written must not depend on outcomes.
        rows = [(question, number, place) for place, question in enumerate(questions)]
        self._insert("questions", {"digest": "bytea", "number": "bigint", "place": "bigint"}, rows)

    def _store_inquiries(self, inquiries: Sequence[Inquiry], stored: int, seal: str) -> None:
        rows = [
            (one.id, one.caller, one.body, b"".join(one.questions), stored + i) for i, one in enumerate(inquiries)
        ]
        columns = {"id": "text", "caller": "text", "body": "bytea", "questions": "bytea", "place": "bigint"}
        self._insert("inquiries", columns, rows)
        if rows:
            self._change("UPDATE home SET stored = ?, sealed = ?", (stored + len(rows), seal))

    def _count_callers(self, taken: Mapping[str, int]) -> None:
        for caller, n in sorted(taken.items()):
            self._change("UPDATE keys SET taken = taken + ? WHERE id = ?", (n, caller))

    def _keys(self, which: str, *values: Any) -> list[KeyRecord]:
        rows = self._execute(
            f"SELECT id, name, scopes, digest, most, revoked, taken, expires FROM keys {which} ORDER BY id", values
        )
        return [key_in(row) for row in rows]


def _apart(questions: bytes) -> tuple[bytes, ...]:
    return tuple(questions[at : at + DIGEST_BYTES] for at in range(0, len(questions), DIGEST_BYTES))


def _ids(inquiries: Iterable[Inquiry]) -> set[str]:
    return {inquiry.id for inquiry in inquiries}


def _questions(inquiries: Iterable[Inquiry]) -> set[bytes]:
    return {question for inquiry in inquiries for question in inquiry.questions}


def _by_id(rows: Iterable[tuple[str, str, bytes, bytes]]) -> dict[str, Inquiry]:
    return {row[0]: _inquiry(*row) for row in rows}


def _inquiry(id: str, caller: str, body: bytes, questions: bytes) -> Inquiry:
    return Inquiry(id, caller, body, _apart(questions))
