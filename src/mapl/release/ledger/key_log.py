"""Who made and ended API keys: a log in the chain, from which the table of keys must follow.

The public entry of a change holds a digest only. What it stands for stays in the private file; a digest of the
key's random token is part of it, so that nobody can guess it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from mapl.errors import InvalidParameter, LedgerError
from mapl.planning.plan import canonical
from mapl.release.ledger.chain import KEYS, Entry, broken_chain
from mapl.release.ledger.inquiries import Author, KeyRecord

ADDED, REVOKED, ENDS, CARRIED_OVER = "added", "revoked", "ends", "carried over"
CHANGED = "change"
"""Under this name an entry holds the digest of what was changed."""

TAKEN = "taken"
"""Under this name an entry of answers holds the digest of how many new questions each caller has asked."""


@dataclass(frozen=True, slots=True)
class KeyChange:
    """One line of the log: what was done, to which key, by whom and when; `until` where a key was made to end."""

    did: str
    key: str
    name: str
    by: str
    at: int
    until: int | None = None


def log_added(key: KeyRecord, author: Author) -> str:
    """Write down that a key was made."""
    return _line(ADDED, [key], author)


def log_revoked(key: KeyRecord, author: Author) -> str:
    """Write down that a key was revoked."""
    return _line(REVOKED, [key], author)


def log_ends(key: KeyRecord, until: int, author: Author) -> str:
    """Write down that a key will end sooner than it would have."""
    return _line(ENDS, [replace(key, expires=until)], author)


def log_carried_over(keys: Iterable[KeyRecord]) -> str:
    """Write down the keys of a ledger of an earlier version, which had no log."""
    return _line(CARRIED_OVER, keys, Author("an earlier version of mapl"))


def entry_of(line: str) -> Entry:
    """Return the public entry of a line of the log; no clock reaches the chain, so it leaves out the time."""
    told = json.loads(line or "{}")
    told.pop("at", None)
    return Entry(KEYS, "", payload={CHANGED: hashlib.sha256(canonical(told).encode()).hexdigest()})


def taken_line(taken: Mapping[str, int]) -> str:
    """Write down how many new questions each caller has asked with a block."""
    return canonical(dict(sorted(taken.items())))


def digest_of_taken(line: str, questions: Iterable[bytes]) -> str:
    """Return what an entry says of it; the questions' digests, which are keyed, keep it from being guessed."""
    return hashlib.sha256(b"".join(questions) + line.encode()).hexdigest()


def changes_in(lines: Iterable[str]) -> list[KeyChange]:
    """Return the log as its readers want it, oldest first."""
    changes: list[KeyChange] = []
    for line in lines:
        told = json.loads(line)
        until = {one["id"]: one["expires"] for one in told["keys"]} if told["did"] == ENDS else {}
        changes += [
            KeyChange(told["did"], one["id"], one["name"], told["by"], told["at"], until.get(one["id"]))
            for one in told["keys"]
        ]
    return changes


class KeysReplayed:
    """The table of keys that a log comes to, line by line."""

    def __init__(self) -> None:
        self.keys: dict[str, KeyRecord] = {}

    def change(self, line: str) -> None:
        """Carry out one line of the log."""
        told = json.loads(line)
        for one in told["keys"]:
            key = _key(one)
            known = key.id in self.keys
            if known == (told["did"] in (ADDED, CARRIED_OVER)):
                raise broken_chain()
            match told["did"]:
                case "added":
                    self.keys[key.id] = replace(key, taken=0, revoked=False)
                case "carried over":
                    self.keys[key.id] = key
                case "revoked":
                    self.keys[key.id] = replace(self.keys[key.id], revoked=True)
                case "ends":
                    self.keys[key.id] = replace(self.keys[key.id], expires=key.expires)
                case _:
                    raise broken_chain()

    def take(self, line: str) -> None:
        """Count what callers have taken; those without a key are not counted."""
        for id, n in json.loads(line).items():
            if id in self.keys:
                self.keys[id] = replace(self.keys[id], taken=self.keys[id].taken + n)


def refuse_later_end(key: KeyRecord, until: int) -> None:
    """Refuse to let a key live longer than it was made for."""
    if key.expires is not None and until > key.expires:
        raise LedgerError("A key ends when it was made to end, or sooner; make a new one instead.")


def fit_into_place(old: KeyRecord, new: KeyRecord, until: int | None) -> KeyRecord:
    """Return the key that takes the place of another, once: with what is left of its cap now, or less.

    Whoever made the new one may have read the old one before its last question; a key that is much in use could
    not be replaced otherwise.
    """
    if old.revoked:
        raise InvalidParameter("This key was revoked or replaced already; list the keys to see which there are.")
    if old.most is None:
        return new
    if until is not None:
        raise LedgerError("A key with a cap is replaced at once; both together could ask more than it allows.")
    left = old.most - old.taken
    if left == 0:
        raise InvalidParameter("This key has asked all that its cap allows; create a new one.")
    return replace(new, most=left if new.most is None else min(new.most, left))


def _line(did: str, keys: Iterable[KeyRecord], author: Author) -> str:
    return canonical({"did": did, "by": author.name, "at": author.at, "keys": [_plain(key) for key in keys]})


def _plain(key: KeyRecord) -> dict[str, Any]:
    return {
        "id": key.id,
        "name": key.name,
        "scopes": list(key.scopes),
        "digest": key.digest.hex(),
        "most": key.most,
        "revoked": key.revoked,
        "taken": key.taken,
        "expires": key.expires,
    }


def _key(told: Mapping[str, Any]) -> KeyRecord:
    return KeyRecord(**{**told, "scopes": tuple(told["scopes"]), "digest": bytes.fromhex(told["digest"])})
