"""What ledgers in a database do for questions that come one by one, and for the keys of those who ask."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from mapl.errors import InvalidParameter, LedgerError
from mapl.release.chain import Answers, broken
from mapl.release.exchange import decided, left_of, outcomes_of, recalled, refuse_odd, reply_to, sort_out, unbegun
from mapl.release.ledger import state_of
from mapl.release.online import DIGEST_BYTES, NOT_ASKED, Decide, Inquiry, KeyRecord, Refused, Reply
from mapl.release.sql_chain import SqlChain

INQUIRIES = "SELECT id, caller, body, questions FROM inquiries WHERE id {among}"
PLACES = "SELECT digest, number, place FROM questions WHERE digest {among}"
BLOCKS = (
    "SELECT number, width, labels, fallback, answered + abstained FROM entries JOIN answers USING (number) "
    "WHERE number {among}"
)
ROOM = "SELECT id, most - taken FROM keys WHERE most IS NOT NULL AND id {among}"


class SqlLedger(SqlChain):
    """A ledger in a database that serves questions as they come, from any number of processes."""

    def recall(self, inquiries: Sequence[Inquiry]) -> list[Reply | Refused | None]:
        def read() -> list[Reply | Refused | None]:
            stored = _by_id(self._among(INQUIRIES, _ids(inquiries)))
            return recalled(inquiries, stored, self._outcomes(_questions(stored.values())))

        return self._glance(read)

    def seen(self, inquiries: Sequence[Inquiry]) -> tuple[list[Reply | Refused | None], set[bytes]]:
        def read() -> tuple[list[Reply | Refused | None], set[bytes]]:
            found, places = self._lookups((INQUIRIES, _ids(inquiries)), (PLACES, _questions(inquiries)))
            stored = _by_id(found)
            outcomes = self._outcomes(_questions(stored.values())) if stored else {}
            return recalled(inquiries, stored, outcomes), {digest for digest, _, _ in places}

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
            self._refuse_locked()
            view = self._look(stage)
            if view is None or view.last is None:
                raise unbegun(stage)
            left = left_of(view.first, view.last)
            stored = _by_id(found)
            outcomes = self._outcomes_at(places)
            missing = _questions(stored.values()) - outcomes.keys()
            if missing:  # an id that stands for another request now
                outcomes.update(self._outcomes(missing))
            group = sort_out(inquiries, stored=stored, known=outcomes, room=dict(room), left=left)
            record, secret, block = None, None, None
            if group.new:
                state = state_of(view.last, view.secret)
                outcome, entry, block = decided(stage, state, group.new, decide, n_classes=n_classes)
                secret = outcome.state.secret
                outcomes.update(outcomes_of(group.new, outcome))
            with self._last_changes():
                if block is not None:
                    record = self._write(view, entry, secret, block)
                    self._store_questions(record.number, group.new)
                self._store_inquiries(group.fresh)
                self._count_callers(group.taken)
            if record is not None:
                self._remember(view, record, secret)
        return group.replies(outcomes)

    def reply(self, id: str, caller: str) -> Reply | None:
        def read() -> Reply | None:
            stored = _by_id(self._among(INQUIRIES, [id])).get(id)
            if stored is None or stored.caller != caller:
                return None
            return reply_to(stored, self._outcomes(set(stored.questions)))

        return self._glance(read)

    def alive(self) -> None:
        with self._transaction(writing=True):
            self._refuse_locked()
            if self._genesis is None:
                raise LedgerError(f"{self.name} has not been opened with its plan; call its `open` first.")
            # A full or failing disk shows only when something is committed.
            self._change("UPDATE home SET beat = beat + 1")

    def keys(self) -> list[KeyRecord]:
        with self._transaction(writing=False):
            return self._keys("")

    def key(self, id: str) -> KeyRecord | None:
        return self._glance(lambda: next(iter(self._keys("WHERE id = ?", id)), None))

    def add_key(self, key: KeyRecord) -> None:
        with self._transaction(writing=True):
            if self._keys("WHERE id = ?", key.id):
                raise InvalidParameter("There is a key with this id already; an id is given once.")
            self._change(
                "INSERT INTO keys (id, name, scopes, digest, most, taken, revoked) VALUES (?, ?, ?, ?, ?, 0, 0)",
                (key.id, key.name, " ".join(key.scopes), key.digest, key.most),
            )

    def revoke_key(self, id: str) -> None:
        with self._transaction(writing=True):
            if not self._keys("WHERE id = ?", id):
                raise InvalidParameter("There is no key with this id; list the keys to see which there are.")
            self._change("UPDATE keys SET revoked = 1 WHERE id = ?", (id,))

    def _outcomes(self, questions: Collection[bytes]) -> dict[bytes, int]:
        """Look up what was published of questions: their places first, then the blocks that these are in."""
        return self._outcomes_at(self._among(PLACES, questions))

    def _outcomes_at(self, places: Sequence[tuple[bytes, int, int]]) -> dict[bytes, int]:
        numbers = {number for _, number, _ in places}
        rows = self._among(BLOCKS, numbers) if places else []
        blocks = {number: Answers.read(*stored).labels for number, *stored in rows}
        if len(blocks) < len(numbers):
            raise broken()
        return {
            digest: int(blocks[number][at]) if at < len(blocks[number]) else NOT_ASKED
            for digest, number, at in places
        }

    def _store_questions(self, number: int, questions: Sequence[bytes]) -> None:
        # The undecided ones of a block that halted are stored too: what is written must not depend on outcomes.
        rows = [(question, number, place) for place, question in enumerate(questions)]
        self._insert("questions", {"digest": "bytea", "number": "bigint", "place": "bigint"}, rows)

    def _store_inquiries(self, inquiries: Sequence[Inquiry]) -> None:
        rows = [(one.id, one.caller, one.body, b"".join(one.questions)) for one in inquiries]
        self._insert("inquiries", {"id": "text", "caller": "text", "body": "bytea", "questions": "bytea"}, rows)

    def _count_callers(self, taken: Mapping[str, int]) -> None:
        for caller, n in sorted(taken.items()):
            self._change("UPDATE keys SET taken = taken + ? WHERE id = ?", (n, caller))

    def _keys(self, which: str, *values: Any) -> list[KeyRecord]:
        rows = self._execute(
            f"SELECT id, name, scopes, digest, most, revoked, taken FROM keys {which} ORDER BY id", values
        )
        return [
            KeyRecord(id, name, tuple(scopes.split()), digest, most, bool(revoked), taken)
            for id, name, scopes, digest, most, revoked, taken in rows
        ]


def _apart(questions: bytes) -> tuple[bytes, ...]:
    return tuple(questions[at : at + DIGEST_BYTES] for at in range(0, len(questions), DIGEST_BYTES))


def _ids(inquiries: Iterable[Inquiry]) -> set[str]:
    return {inquiry.id for inquiry in inquiries}


def _questions(inquiries: Iterable[Inquiry]) -> set[bytes]:
    return {question for inquiry in inquiries for question in inquiry.questions}


def _by_id(rows: Iterable[tuple[str, str, bytes, bytes]]) -> dict[str, Inquiry]:
    return {id: Inquiry(id, caller, body, _apart(questions)) for id, caller, body, questions in rows}
