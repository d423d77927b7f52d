"""What leaves a site: noisy whole numbers of one round, and the statement of what they cost.

The seal tells of damage and of mixed-up files. It is no signature: who sent a file is for the channel to say.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from mapl.errors import InvalidData
from mapl.federation.agreement import SitesPlan
from mapl.parameters import spell
from mapl.planning.plan import canonical
from mapl.types import Integers

FORMAT = 1
LARGEST = (1 << 31) - 1
"""Where the numbers of a ledger end, and so those of an answer."""
LARGEST_MASKED = 1 << 63


@dataclass(frozen=True, slots=True, eq=False)
class SiteAnswer:
    """One site's release of one round, counted from 1. Everything here is public.

    ``heard`` is the digest of the rounds that it was made after, empty for the first one. ``masked`` names all
    sites whose masks are in the numbers (`mapl.federation.masks`), its own too; none where they are plain.
    """

    agreement: str
    site: str
    round: int
    heard: str
    numbers: Integers
    statement: Mapping[str, Any]
    masked: tuple[str, ...] = ()

    @property
    def private(self) -> bool:
        return bool(self.statement["private"])

    @property
    def seal(self) -> str:
        """The SHA-256 of all that it says."""
        return hashlib.sha256(canonical(self._content()).encode()).hexdigest()

    def to_bytes(self) -> bytes:
        """Return it as a file holds it, and as it travels."""
        return (canonical({**self._content(), "seal": self.seal}) + "\n").encode()

    @classmethod
    def of_bytes(cls, content: bytes, source: str) -> Self:
        """Read an answer, or refuse what is none."""
        try:
            given = json.loads(content)
            seal, known = given.pop("seal"), given.pop("mapl_site")
            numbers = given.pop("numbers")
            given["masked"] = tuple(given.pop("masked", ()))
            largest = LARGEST_MASKED if given["masked"] else LARGEST
            if known != FORMAT or not all(type(one) is int and abs(one) <= largest for one in numbers):
                raise ValueError
            found = cls(**given, numbers=np.array(numbers, dtype=np.int64))
            found._refuse_odd()
            if found.seal != seal:
                raise ValueError
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
            raise InvalidData(
                f"{source} is no answer of a site, or was changed on its way; let the site send it again. Files of "
                "rounds that are over (rounds-1.json) are no answers."
            ) from None
        return found

    def _refuse_odd(self) -> None:
        texts = (self.agreement, self.site, self.heard, self.statement["in_plain_words"], *self.masked)
        if not all(isinstance(one, str) for one in texts) or type(self.round) is not int:
            raise ValueError

    def _content(self) -> dict[str, Any]:
        return {
            "mapl_site": FORMAT,
            "agreement": self.agreement,
            "site": self.site,
            "round": self.round,
            "heard": self.heard,
            "numbers": self.numbers.tolist(),
            "statement": dict(self.statement),
            **({"masked": list(self.masked)} if self.masked else {}),
        }


def read_answers(paths: Sequence[Path]) -> list[SiteAnswer]:
    """Read the files that sites sent."""
    found = []
    for path in paths:
        try:
            content = path.read_bytes()
        except OSError as failure:
            raise InvalidData(f"{path} cannot be read ({failure.strerror}); check the path.") from None
        found.append(SiteAnswer.of_bytes(content, str(path)))
    return found


def gather(
    answers: Sequence[SiteAnswer], agreed: SitesPlan, left_out: Sequence[str] = ()
) -> list[list[SiteAnswer]]:
    """Return the answers round by round, each with every site that was not left out, or refuse them.

    Parameters
    ----------
    left_out
        Sites that are not waited for any more, as was decided by public facts; what they sent before counts.
    """
    for name in left_out:
        agreed.check_site(name)
    rounds: dict[int, dict[str, SiteAnswer]] = {}
    for one in answers:
        if one.agreement != agreed.digest:
            raise InvalidData(f"The answer of {one.site!r} is to another plan; let the site answer this one.")
        agreed.check_site(one.site)
        if one.site in rounds.setdefault(one.round, {}):
            raise InvalidData(f"There are two answers of {one.site!r} to round {one.round}; give one of them.")
        rounds[one.round][one.site] = one
    if sorted(rounds) != list(range(1, len(rounds) + 1)):
        raise InvalidData("Answers to an earlier round are missing; give those of all rounds so far.")
    for number, found in sorted(rounds.items()):
        missing = [name for name in agreed.sites if name not in found and name not in left_out]
        if missing:
            raise InvalidData(
                f"Round {number} has no answer of {', '.join(missing)}; wait for it, or go on without with "
                f"{spell('without', missing[0])}, which costs what that site knows and nobody's privacy."
            )
        if any(one.masked not in ((), tuple(sorted(found))) for one in found.values()) or (
            len({one.masked for one in found.values()}) > 1
        ):
            raise InvalidData(
                f"Answers to round {number} are masked with other sites than those that answered, so that nothing "
                "can be made of them; ask all of these again, masked with each other."
            )
    return [[found[name] for name in agreed.sites if name in found] for _, found in sorted(rounds.items())]
