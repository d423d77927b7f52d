"""API keys: 256 random bits that only their owner keeps; the ledger holds a keyed digest of them."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from typing import Any

from mapl.errors import InvalidParameter
from mapl.release.ledger.inquiries import KeyRecord

ASK, READ, ADMIN = "ask", "read", "admin"
SCOPES = (ASK, READ, ADMIN)
"""What a key may be for: asking questions, reading what was published, looking after keys and the ledger."""

PREFIX = "mapl"
LONGEST_NAME = 100
LONGEST_TOKEN = 100


@dataclass(frozen=True, slots=True, repr=False)
class KeyMaker:
    """Makes and recognises API keys with what a run's service key derives for them."""

    secret: bytes

    @classmethod
    def of(cls, service_key: bytes) -> KeyMaker:
        """Derive the secret for API keys from the run's service key."""
        return cls(derive_key(service_key, "api keys"))

    def new(
        self, name: str, scopes: Iterable[str], *, most: int | None = None, expires: int | None = None
    ) -> tuple[str, KeyRecord]:
        """Return a new key as its owner gets it, once, and as the ledger keeps it.

        Parameters
        ----------
        most
            How many new questions the key may ask in all; without it, as many as the budget has.
        expires
            When it ends, in seconds since 1970; without it, never.
        """
        wanted = tuple(dict.fromkeys(scopes))
        unknown = [one for one in wanted if one not in SCOPES]
        if unknown or not wanted:
            raise InvalidParameter(
                f"The scopes are {', '.join(wanted) or 'none'}; choose one or more of {', '.join(SCOPES)}."
            )
        if not 1 <= len(name) <= LONGEST_NAME or not name.isprintable() or name != name.strip():
            raise InvalidParameter(
                f"The name of a key must be 1 to {LONGEST_NAME} printable characters without blanks around them; "
                "choose another name."
            )
        if most is not None and most < 1:
            raise InvalidParameter(f"most is {most}; it must be a whole number of at least 1, or left away.")
        id = secrets.token_hex(6)
        token = f"{PREFIX}_{id}_{secrets.token_urlsafe(32)}"
        return token, KeyRecord(
            id=id, name=name, scopes=wanted, digest=self.digest(token), most=most, revoked=False, expires=expires
        )

    def digest(self, token: str) -> bytes:
        """Return what the ledger keeps of a key."""
        return keyed_digest(self.secret, token.encode())

    def recognised(self, token: str, records: Mapping[str, KeyRecord], *, now: float) -> KeyRecord | None:
        """Return whose key this is, or None; an unknown, revoked or ended one takes as long as a known one."""
        given = self.digest(token[:LONGEST_TOKEN])
        prefix, _, rest = token.partition("_")
        record = records.get(rest.partition("_")[0])
        same = hmac.compare_digest(given, self.secret if record is None else record.digest)
        if record is None or not record.valid(now) or not same or prefix != PREFIX or len(token) > LONGEST_TOKEN:
            return None
        return record

    def __repr__(self) -> str:
        return "KeyMaker(...)"


def key_in_public(record: KeyRecord) -> dict[str, Any]:
    """Return what may be told about a key."""
    return {
        "id": record.id,
        "name": record.name,
        "scopes": list(record.scopes),
        "most": record.most,
        "taken": record.taken,
        "revoked": record.revoked,
        "expires": record.expires,
    }


def derive_key(service_key: bytes, purpose: str) -> bytes:
    """Derive the key for one purpose, so that no two purposes share any."""
    return keyed_digest(service_key, f"mapl {purpose}".encode())


def keyed_digest(secret: bytes, content: bytes | bytearray) -> bytes:
    """Return the HMAC of SHA-256; three times as fast as to prepare the key for every content anew."""
    begun = _prepared(secret).copy()
    begun.update(content)
    return begun.digest()


@lru_cache(maxsize=64)
def _prepared(secret: bytes) -> hmac.HMAC:
    return hmac.new(secret, digestmod=sha256)
