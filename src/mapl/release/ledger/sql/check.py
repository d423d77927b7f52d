"""Whether what a database holds is what was recorded: chain, answers, secrets, questions, requests and keys."""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby
from typing import Any

from mapl.release.ledger.chain import KEYS, Answers, Record, broken_chain, check
from mapl.release.ledger.exchange import ASKED, INQUIRIES, UNSEALED, digest_of, seal_inquiries
from mapl.release.ledger.inquiries import Inquiry, KeyRecord
from mapl.release.ledger.key_log import TAKEN, KeysReplayed, digest_of_taken, entry_of
from mapl.release.ledger.ledger import seal_of

KEY_ROWS = "SELECT id, name, scopes, digest, most, revoked, taken, expires FROM keys"
STORED = "SELECT id, caller, body, questions FROM inquiries ORDER BY place IS NOT NULL, place, id"
"""All requests in the order in which they are sealed; those of earlier versions have no place, and come first."""


def check_stored(records: list[Record], execute: Callable[[str], list[Any]]) -> None:
    """Check the chain, and that everything beside it is what was recorded with it."""
    check(records)
    if not records:  # keys that an earlier version stored before the chain began are carried over when it does
        return
    _check_answers(records, execute("SELECT number, width, labels, fallback FROM answers"))
    _check_secrets(records, execute("SELECT number, value, seal FROM secrets"))
    asked = _check_questions(records, execute("SELECT number, place, digest FROM questions ORDER BY number, place"))
    _check_keys(records, asked, execute("SELECT number, content FROM details"), execute(KEY_ROWS))
    _check_inquiries(records, execute(STORED), *execute("SELECT stored, sealed FROM home"))


def _check_answers(records: list[Record], rows: list[Any]) -> None:
    sizes = {record.number: record.answered + record.abstained for record in records}
    digests = {
        number: _digest(width, labels, fallback, sizes.get(number, 0)) for number, width, labels, fallback in rows
    }
    if any(record.answers != digests.pop(record.number, "") for record in records) or digests:
        raise broken_chain()


def _check_secrets(records: list[Record], rows: list[Any]) -> None:
    secrets = {number: (value, seal) for number, value, seal in rows}
    for record in records[1:]:
        value, seal = secrets.pop(record.number, (None, None))
        if seal != seal_of(record, value):
            raise broken_chain()
    if secrets:
        raise broken_chain()


def _check_questions(records: list[Record], rows: list[Any]) -> dict[int, bytes]:
    """An entry names the digest of its block's questions, so no answer can be tied to another question."""
    asked, blocks = {}, {}
    for number, block in groupby(rows, key=lambda row: row[0]):
        places, digests = zip(*((place, digest) for _, place, digest in block), strict=True)
        if places != tuple(range(len(places))):
            raise broken_chain()
        asked[number] = (digest_of(digests), len(places))
        blocks[number] = b"".join(digests)
    for record in records:
        digest, n = asked.pop(record.number, (None, 0))
        if record.told().get(ASKED) != digest or (digest is not None and n < record.answered + record.abstained):
            raise broken_chain()
    if asked:
        raise broken_chain()
    return blocks


def _check_keys(records: list[Record], asked: dict[int, bytes], rows: list[Any], stored: list[Any]) -> None:
    """The table of keys must be what the log and the takings come to, line by line."""
    details, replayed = dict(rows), KeysReplayed()
    for record in records:
        told = record.told()
        if record.kind == KEYS:
            line = details.pop(record.number, "")
            if entry_of(line).payload != told:
                raise broken_chain()
            replayed.change(line)
        elif TAKEN in told:
            line = details.pop(record.number, "")
            if digest_of_taken(line, [asked.get(record.number, b"")]) != told[TAKEN]:
                raise broken_chain()
            replayed.take(line)
    if details or replayed.keys != {key.id: key for key in map(key_in, stored)}:
        raise broken_chain()


def _check_inquiries(records: list[Record], rows: list[Any], sealed: tuple[int, str]) -> None:
    """Requests are sealed in order: the seals that entries name must occur along the way, the newest at its end."""
    wanted = [record.told()[INQUIRIES] for record in records if INQUIRIES in record.told()]
    seal, due = UNSEALED, iter(wanted)
    waited = next(due, None)
    for row in [None, *rows]:
        seal = seal if row is None else seal_inquiries(seal, [_inquiry(*row)])
        while waited == seal:  # a block of slices stores no request
            waited = next(due, None)
    if waited is not None or sealed != (len(rows), seal):
        raise broken_chain()


def key_in(row: tuple[Any, ...]) -> KeyRecord:
    """Read a row of the table of keys."""
    id, name, scopes, digest, most, revoked, taken, expires = row
    return KeyRecord(id, name, tuple(scopes.split()), digest, most, bool(revoked), taken, expires)


def _inquiry(id: str, caller: str, body: bytes, questions: bytes) -> Inquiry:
    return Inquiry(id, caller, body, (questions,))


def _digest(width: int, labels: bytes, fallback: bytes | None, taken: int) -> str:
    try:
        return Answers.read(width, labels, fallback, taken).digest
    except (TypeError, ValueError):  # a width or a length that nobody wrote
        raise broken_chain() from None
