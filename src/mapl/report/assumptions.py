"""What has to hold for a promise to be true, sorted by who sees to it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

CHECKED, YOURS = "Checked by mapl: ", "For you to see to: "
"""How a statement's assumptions begin; those of votes from outside begin with neither."""


@dataclass(frozen=True, slots=True)
class Assumptions:
    """Assumptions that mapl checked, and those that people have to confirm."""

    checked: tuple[str, ...]
    to_confirm: tuple[str, ...]

    @classmethod
    def of(cls, given: Iterable[str]) -> Self:
        """Sort assumptions by how they begin; whatever nobody checked has to be confirmed."""
        checked, to_confirm = [], []
        for assumption in map(str, given):
            if assumption.startswith(CHECKED):
                checked.append(_sentence(assumption.removeprefix(CHECKED)))
            else:
                to_confirm.append(_sentence(assumption.removeprefix(YOURS)))
        return cls(tuple(checked), tuple(to_confirm))


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]
