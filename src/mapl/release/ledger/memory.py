"""A ledger in memory, for runs that are published as a whole or not at all, and as the yardstick of the others."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from threading import RLock
from typing import Any

from mapl.errors import InvalidParameter, LedgerError
from mapl.release.ledger.chain import (
    Answers,
    Entry,
    Limits,
    Record,
    Tail,
    broken_chain,
    check,
    find_awaited,
    follow,
    genesis,
    run_id_of,
    same_plan,
)
from mapl.release.ledger.exchange import (
    ASKED,
    UNSEALED,
    count_left,
    decide_new,
    digest_of,
    outcomes_of,
    recall_replies,
    refuse_odd,
    reply_to,
    same_request,
    seal_inquiries,
    sort_out,
    unbegun,
)
from mapl.release.ledger.head_mark import HeadMark, rolled_back
from mapl.release.ledger.inquiries import NOBODY, NOT_ASKED, Author, Decide, Inquiry, KeyRecord, Refused, Reply
from mapl.release.ledger.key_log import (
    entry_of,
    fit_into_place,
    log_added,
    log_ends,
    log_revoked,
    refuse_later_end,
)
from mapl.release.ledger.ledger import (
    NeverCopied,
    Progress,
    progress_of,
    refuse_unfit_answers,
    state_of,
    still_there,
)
from mapl.release.ledger.run_id import new_run_id
from mapl.types import Secret, State


class MemoryLedger(NeverCopied):
    """A ledger that lasts as long as its process, for runs that are published as a whole or not at all."""

    def __init__(self) -> None:
        self._lock = RLock()
        self._records: list[Record] = []
        self._first: dict[str, Record] = {}
        self._newest: dict[str, Record] = {}
        self._answers: dict[int, Answers] = {}
        self._secrets: dict[int, Secret | None] = {}
        self._asked: dict[int, tuple[bytes, ...]] = {}
        self._outcomes: dict[bytes, int] = {}
        self._inquiries: dict[str, Inquiry] = {}
        self._keys: dict[str, KeyRecord] = {}
        self._lines: list[str] = []
        self._sealed = UNSEALED
        self._shut = False

    def open(self, plan_digest: str, limits: Limits, *, fresh: bool = False) -> None:
        with self._lock:
            if self._records:
                same_plan(self._records[0], plan_digest, limits, fresh=fresh)
            else:
                self._records.append(genesis(plan_digest, limits, new_run_id()))

    def append(self, entry: Entry, *, secret: Secret | None = None, answers: Answers | None = None) -> None:
        with self._lock:
            refuse_unfit_answers(entry, answers)
            tail = None
            if self._records:
                awaited = self._newest.get(find_awaited(self._records[0], entry.stage))
                tail = Tail(self._records[0], self._records[-1], self._newest.get(entry.stage), awaited)
            record = follow(tail, entry, "" if answers is None else answers.digest)
            if answers is not None:
                self._answers[record.number] = answers
            self._secrets[record.number] = secret
            self._records.append(record)
            if record.stage:
                self._first.setdefault(record.stage, record)
                self._newest[record.stage] = record

    def progress(self, stage: str) -> Progress:
        with self._lock:
            last = self._newest.get(stage)
            if last is None:
                return progress_of(None, None, (), None)
            mine = [record.number for record in self._records if record.stage == stage]
            answers = [self._answers[number] for number in mine if number in self._answers]
            return progress_of(self._first[stage], last, answers, self._secrets[last.number])

    @property
    def head(self) -> str:
        if not self._records:
            raise LedgerError("The ledger has no plan yet, hence no head; call its `open` first.")
        return self._records[-1].hash

    @property
    def run_id(self) -> str | None:
        self.alive()
        return run_id_of(self._records[0])

    def entries(self) -> list[Record]:
        return list(self._records)

    def verify(self, *, seen: str | None = None) -> None:
        check(self._records)
        still_there(self._records, seen)
        for record in self._records:
            answers, asked = self._answers.get(record.number), self._asked.get(record.number)
            if record.answers != ("" if answers is None else answers.digest):
                raise broken_chain()
            if asked is not None and record.told().get(ASKED) != digest_of(asked):
                raise broken_chain()

    def export(self) -> list[dict[str, Any]]:
        return [record.public() for record in self._records]

    def recall(self, inquiries: Sequence[Inquiry]) -> list[Reply | Refused | None]:
        return recall_replies(inquiries, self._inquiries, self._outcomes)

    def seen(self, inquiries: Sequence[Inquiry]) -> tuple[list[Reply | Refused | None], set[bytes]]:
        asked = {question for inquiry in inquiries for question in inquiry.questions}
        return self.recall(inquiries), asked & self._outcomes.keys()

    def known(self, questions: Collection[bytes]) -> dict[bytes, int]:
        return {one: self._outcomes[one] for one in questions if self._outcomes.get(one, NOT_ASKED) != NOT_ASKED}

    def exchange(
        self, stage: str, inquiries: Sequence[Inquiry], decide: Decide, *, n_classes: int
    ) -> list[Reply | Refused]:
        refuse_odd(inquiries)
        with self._lock:
            if self._shut:
                raise rolled_back("The ledger in memory")
            left, last = self.left(stage), self._newest[stage]
            room = {key.id: key.room for key in self._keys.values() if key.room is not None}
            group = sort_out(inquiries, stored=self._inquiries, known=self._outcomes, room=room, left=left)
            sealed = seal_inquiries(self._sealed, group.fresh)
            if group.new:
                state = state_of(last, self._secrets[last.number])
                outcome, made = decide_new(state, group, decide, n_classes=n_classes, sealed=sealed)
                self.append(made.entry(stage), secret=made.secret, answers=made.answers)
                self._asked[self._records[-1].number] = group.new
                self._outcomes.update(outcomes_of(group.new, outcome))
            self._inquiries.update((one.id, one) for one in group.fresh)
            self._sealed = sealed
            for caller, n in group.taken.items():
                if caller in self._keys:
                    self._keys[caller] = replace(self._keys[caller], taken=self._keys[caller].taken + n)
            return group.replies(self._outcomes)

    def store(self, inquiry: Inquiry) -> Refused | None:
        refuse_odd([inquiry])
        with self._lock:
            if self._shut:
                raise rolled_back("The ledger in memory")
            earlier = self._inquiries.setdefault(inquiry.id, inquiry)
            if earlier is inquiry:
                self._sealed = seal_inquiries(self._sealed, [inquiry])
            return None if same_request(earlier, inquiry) else Refused.OTHER_BODY

    def reply(self, id: str, caller: str) -> Reply | None:
        stored = self._inquiries.get(id)
        return reply_to(stored, self._outcomes) if stored is not None and stored.caller == caller else None

    def keys(self) -> list[KeyRecord]:
        return sorted(self._keys.values(), key=lambda key: key.id)

    def key(self, id: str) -> KeyRecord | None:
        return self._keys.get(id)

    def add_key(self, key: KeyRecord, *, by: Author = NOBODY) -> None:
        with self._lock:
            if key.id in self._keys:
                raise InvalidParameter("There is a key with this id already; an id is given once.")
            made = replace(key, revoked=False, taken=0)
            self._log(log_added(made, by))
            self._keys[key.id] = made

    def revoke_key(self, id: str, *, by: Author = NOBODY) -> None:
        with self._lock:
            key = self._named_key(id)
            if not key.revoked:
                self._log(log_revoked(key, by))
                self._keys[id] = replace(key, revoked=True)

    def replace_key(self, id: str, new: KeyRecord, *, until: int | None = None, by: Author = NOBODY) -> KeyRecord:
        with self._lock:
            old = self._named_key(id)
            new = fit_into_place(old, new, until)
            if until is None:
                self.add_key(new, by=by)
                self.revoke_key(id, by=by)
            else:
                refuse_later_end(old, until)
                self.add_key(new, by=by)
                self._log(log_ends(old, until, by))
                self._keys[id] = replace(old, expires=until)
        return new

    def key_log(self) -> list[str]:
        return list(self._lines)

    def _named_key(self, id: str) -> KeyRecord:
        if id not in self._keys:
            raise InvalidParameter("There is no key with this id; list the keys to see which there are.")
        return self._keys[id]

    def _log(self, line: str) -> None:
        self.append(entry_of(line))
        self._lines.append(line)

    def spending(self, stage: str) -> State:
        last = self._newest.get(stage)
        return State() if last is None else state_of(last, None)

    def left(self, stage: str) -> int:
        last = self._newest.get(stage)
        if last is None:
            raise unbegun(stage)
        return count_left(self._first.get(stage), last)

    def records(self, after: int, limit: int) -> list[Record]:
        return self._records[after + 1 :][:limit] if after >= -1 else self._records[:limit]

    @property
    def mark(self) -> HeadMark | None:
        return HeadMark(self._records[-1].number, self._records[-1].hash) if self._records else None

    def look(self) -> HeadMark:
        return HeadMark(self._records[-1].number, self.head)

    def holds(self, mark: HeadMark) -> bool:
        return any(mark in (HeadMark(one.number, one.hash), HeadMark(None, one.hash)) for one in self._records)

    def shut(self) -> None:
        self._shut = True

    def alive(self) -> None:
        if not self._records:
            raise LedgerError("The ledger has no plan yet; call its `open` first.")

    def close(self) -> None:
        """Keep everything: a ledger in memory ends with its process."""

    def __repr__(self) -> str:
        return f"MemoryLedger({len(self._records)} entries)"
