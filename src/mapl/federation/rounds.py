"""Rounds that are over: the sums of all sites' noisy numbers, which the coordinator tells to everybody."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from mapl.errors import InvalidData
from mapl.federation.masks import refuse_leftovers
from mapl.federation.message import LARGEST, SiteAnswer
from mapl.planning.plan import canonical
from mapl.types import Integers

FORMAT = 1


@dataclass(frozen=True, slots=True, eq=False)
class AddedUp:
    """One round: who answered, and the sum of their noisy numbers."""

    sites: tuple[str, ...]
    numbers: Integers

    @classmethod
    def of(cls, answers: Sequence[SiteAnswer]) -> Self:
        """Add up the answers of one round; masks cancel modulo 2^64, which is how numpy adds."""
        added = np.asarray(np.sum([one.numbers for one in answers], axis=0, dtype=np.int64))
        if any(one.masked for one in answers):
            refuse_leftovers(added, LARGEST * len(answers))
        return cls(tuple(one.site for one in answers), added)

    @property
    def noisier(self) -> float:
        """By how much the noise of the sum is larger than that of one site."""
        return float(np.sqrt(len(self.sites)))


@dataclass(frozen=True, slots=True, eq=False)
class Heard:
    """All rounds that are over, for whoever answers the next one."""

    agreement: str
    rounds: tuple[AddedUp, ...] = ()

    def first(self, number: int) -> Heard:
        """Return what was known before a later round."""
        return Heard(self.agreement, self.rounds[:number])

    @property
    def digest(self) -> str:
        """What an answer names that was made after these rounds; empty where there were none."""
        return hashlib.sha256(canonical(self._content()).encode()).hexdigest() if self.rounds else ""

    def to_bytes(self) -> bytes:
        """Return it as a file holds it, and as it travels."""
        return (canonical({**self._content(), "seal": self.digest}) + "\n").encode()

    @classmethod
    def of_bytes(cls, content: bytes, source: str) -> Self:
        """Read rounds that `to_bytes` wrote, or refuse what is none."""
        try:
            given = json.loads(content)
            rounds = tuple(AddedUp(tuple(one["sites"]), _whole(one["numbers"])) for one in given["rounds"])
            found = cls(str(given["agreement"]), rounds)
            if (
                given["mapl_rounds"] != FORMAT
                or found.digest != given["seal"]
                or not all(one.sites for one in rounds)
            ):
                raise ValueError
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
            raise InvalidData(
                f"{source} tells no rounds, or was changed on its way; let the coordinator send it again."
            ) from None
        return found

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read the file that the coordinator sent."""
        try:
            return cls.of_bytes(path.read_bytes(), str(path))
        except OSError as failure:
            raise InvalidData(f"{path} cannot be read ({failure.strerror}); check the path.") from None

    def _content(self) -> dict[str, Any]:
        return {
            "mapl_rounds": FORMAT,
            "agreement": self.agreement,
            "rounds": [{"sites": list(one.sites), "numbers": one.numbers.tolist()} for one in self.rounds],
        }


def add_up(agreement: str, rounds: Sequence[Sequence[SiteAnswer]]) -> Heard:
    """Add up all rounds, and refuse answers that were made after other rounds than these."""
    heard = Heard(agreement, tuple(AddedUp.of(answers) for answers in rounds))
    for number, answers in enumerate(rounds):
        for one in answers:
            if one.heard != heard.first(number).digest:
                raise InvalidData(
                    f"The answer of {one.site!r} to round {one.round} was made after other rounds than those "
                    "given; give all answers that the earlier rounds were made of, and no others."
                )
    return heard


def _whole(numbers: Sequence[Any]) -> Integers:
    if not all(type(one) is int for one in numbers):
        raise ValueError
    return np.array(numbers, dtype=np.int64)
