"""Signed cookies for the page: who signed in with an API key, until when, and which of them were ended."""

from __future__ import annotations

import hmac
import secrets
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from mapl.service.access.keys import derive_key

COOKIE = "mapl_session"
SECONDS = 8 * 3600
QUIET = 900
"""Seconds that a cookie counts; a page that is open has it renewed until the session is over."""

NAME_BYTES = 12


@dataclass(frozen=True, slots=True)
class Session:
    """Somebody who signed in: by the id of a key, under a name of its own, until some time at the latest."""

    key_id: str
    name: str
    last: int

    def renewed_until(self, now: float) -> int:
        """Return until when a cookie counts that is given now."""
        return min(int(now) + QUIET, self.last)


@dataclass(slots=True)
class EndedSessions:
    """Sessions that somebody has signed out of.

    All workers of a server share a folder with one empty file for each. Servers on other hosts do not know of them;
    there a cookie ends when it is not renewed.
    """

    folder: Path | None = None
    _here: set[str] = field(default_factory=set)

    def add(self, name: str) -> None:
        self._here.add(name)
        if self.folder is not None:
            with suppress(OSError):
                (self.folder / name).touch()

    def __contains__(self, name: str) -> bool:
        return name in self._here or (self.folder is not None and (self.folder / name).exists())


@dataclass(frozen=True, slots=True, repr=False)
class Sessions:
    """Writes and reads the cookie; it names a key by its id and holds nothing that could be used as one.

    >>> sessions = Sessions.of(bytes(32))
    >>> one = sessions.begun("0123456789ab", now=1000.0)
    >>> cookie = sessions.cookie(one, now=1000.0)
    >>> [sessions.read(shown, now=now) == one for shown, now in ((cookie, 1e3), (cookie, 2e3), ("x" + cookie, 1e3))]
    [True, False, False]
    >>> sessions.ended.add(one.name)
    >>> sessions.read(cookie, now=1e3) is None
    True
    """

    secret: bytes
    ended: EndedSessions = field(default_factory=EndedSessions)

    @classmethod
    def of(cls, service_key: bytes, folder: Path | None = None) -> Sessions:
        """Derive the secret for cookies from the run's service key."""
        return cls(derive_key(service_key, "page sessions"), EndedSessions(folder))

    def begun(self, key_id: str, *, now: float) -> Session:
        """Return the session of somebody who has just shown a key."""
        return Session(key_id, secrets.token_hex(NAME_BYTES), int(now) + SECONDS)

    def cookie(self, session: Session, *, now: float) -> str:
        """Return the cookie of a session, which counts for a while."""
        content = f"{session.key_id}.{session.name}.{session.last}.{session.renewed_until(now)}"
        return f"{content}.{self._seal(content)}"

    def read(self, cookie: str, *, now: float) -> Session | None:
        """Return the session of a cookie, or None where it is none, too old, or was ended."""
        content, _, seal = cookie.rpartition(".")
        if not hmac.compare_digest(self._seal(content).encode(), seal.encode()):
            return None
        key_id, name, last, end = content.split(".")
        return None if now >= int(end) or name in self.ended else Session(key_id, name, int(last))

    def _seal(self, content: str) -> str:
        return hmac.digest(self.secret, content.encode(), sha256).hex()

    def __repr__(self) -> str:
        return "Sessions(...)"
