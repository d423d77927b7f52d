"""Whether what a database holds is what was recorded: chain, answers, secrets and questions."""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby
from typing import Any

from mapl.release.chain import Answers, Record, broken, check
from mapl.release.exchange import ASKED, digest_of
from mapl.release.ledger import seal_of


def check_stored(records: list[Record], execute: Callable[[str], list[Any]]) -> None:
    """Check the chain, and that answers, secrets and questions are those that were recorded with it."""
    check(records)
    _check_answers(records, execute("SELECT number, width, labels, fallback FROM answers"))
    _check_secrets(records, execute("SELECT number, value, seal FROM secrets"))
    _check_questions(records, execute("SELECT number, place, digest FROM questions ORDER BY number, place"))


def _check_answers(records: list[Record], rows: list[Any]) -> None:
    sizes = {record.number: record.answered + record.abstained for record in records}
    digests = {
        number: _digest(width, labels, fallback, sizes.get(number, 0)) for number, width, labels, fallback in rows
    }
    if any(record.answers != digests.pop(record.number, "") for record in records) or digests:
        raise broken()


def _check_secrets(records: list[Record], rows: list[Any]) -> None:
    secrets = {number: (value, seal) for number, value, seal in rows}
    for record in records[1:]:
        value, seal = secrets.pop(record.number, (None, None))
        if seal != seal_of(record, value):
            raise broken()
    if secrets:
        raise broken()


def _check_questions(records: list[Record], rows: list[Any]) -> None:
    """An entry names the digest of its block's questions, so no answer can be tied to another question."""
    asked = {}
    for number, block in groupby(rows, key=lambda row: row[0]):
        places, digests = zip(*((place, digest) for _, place, digest in block), strict=True)
        if places != tuple(range(len(places))):
            raise broken()
        asked[number] = (digest_of(digests), len(places))
    for record in records:
        digest, n = asked.pop(record.number, (None, 0))
        if record.told().get(ASKED) != digest or (digest is not None and n < record.answered + record.abstained):
            raise broken()
    if asked:
        raise broken()


def _digest(width: int, labels: bytes, fallback: bytes | None, taken: int) -> str:
    try:
        return Answers.read(width, labels, fallback, taken).digest
    except (TypeError, ValueError):  # a width or a length that nobody wrote
        raise broken() from None
