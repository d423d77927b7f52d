"""How far a chain had come when somebody looked: a chain may only go on from there, and never back behind it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Self

from mapl.errors import InvalidParameter, LedgerRolledBack

WRITTEN = re.compile(r"(?:(?P<number>[0-9]{1,18}):)?(?P<hash>[0-9a-f]{64})")


@dataclass(frozen=True, slots=True)
class HeadMark:
    """The number and the hash of an entry; notes of earlier versions have no number."""

    number: int | None
    hash: str

    @classmethod
    def read(cls, text: str) -> Self:
        """Read what `str` writes, NUMBER:HASH, or a hash alone."""
        found = WRITTEN.fullmatch(text.strip())
        if found is None:
            raise InvalidParameter(
                f"{text.strip()[:80]!r} is no head of a ledger; a head is 64 hexadecimal digits, as mapl ledger "
                "show prints them, or NUMBER:HASH."
            )
        number = found["number"]
        return cls(None if number is None else int(number), found["hash"])

    def __str__(self) -> str:
        return self.hash if self.number is None else f"{self.number}:{self.hash}"


def rolled_back(name: str) -> LedgerRolledBack:
    """Return the error of a ledger that has lost entries which were seen in it before."""
    return LedgerRolledBack(
        f"{name} was put back to an earlier state, or another ledger took its place: entries that were seen in it "
        "before are missing. What they recorded was answered and would be drawn anew, so nothing new is answered. "
        "Put the newest ledger back, and unlock it with the newest head that is known (mapl ledger unlock); if it "
        "is lost, count the whole budget as spent."
    )
