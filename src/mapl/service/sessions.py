"""Signed cookies for the page: who signed in with an API key, and until when."""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from hashlib import sha256

from mapl.service.keys import derived

COOKIE = "mapl_session"
SECONDS = 8 * 3600


@dataclass(frozen=True, slots=True, repr=False)
class Sessions:
    """Writes and reads the cookie; it names a key by its id and holds nothing that could be used as one.

    >>> sessions = Sessions.of(bytes(32))
    >>> cookie = sessions.begun("0123456789ab", now=1000.0)
    >>> [sessions.caller(shown, now=now) for shown, now in ((cookie, 1e3), (cookie, 1e6), ("x" + cookie, 1e3))]
    ['0123456789ab', None, None]
    """

    secret: bytes

    @classmethod
    def of(cls, service_key: bytes) -> Sessions:
        """Derive the secret for cookies from the run's service key."""
        return cls(derived(service_key, "page sessions"))

    def begun(self, key_id: str, *, now: float) -> str:
        """Return the cookie of somebody who has just shown a key."""
        content = f"{key_id}.{int(now) + SECONDS}"
        return f"{content}.{self._seal(content)}"

    def caller(self, cookie: str, *, now: float) -> str | None:
        """Return the id of the key that somebody signed in with, or None."""
        content, _, seal = cookie.rpartition(".")
        if not hmac.compare_digest(self._seal(content).encode(), seal.encode()):
            return None
        key_id, _, end = content.partition(".")
        return key_id if now < int(end) else None

    def _seal(self, content: str) -> str:
        return hmac.digest(self.secret, content.encode(), sha256).hex()

    def __repr__(self) -> str:
        return "Sessions(...)"
