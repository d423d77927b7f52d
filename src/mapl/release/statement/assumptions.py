"""What has to hold for a promise to be true, as a stored statement tells it, by who sees to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

CHECKED_BY_MAPL, FOR_YOU = "Checked by mapl: ", "For you to see to: "
"""How an assumption began in statements up to schema 3, where one list held both kinds."""


@dataclass(frozen=True, slots=True)
class Assumptions:
    """What mapl checked, and what people have to confirm."""

    checked: tuple[str, ...]
    to_confirm: tuple[str, ...]

    @classmethod
    def of(cls, statement: Mapping[str, Any]) -> Self:
        """Read them off a statement of any version; whatever nobody checked has to be confirmed."""
        said = tuple(map(str, statement.get("assumptions") or ()))
        if "checked" in statement:
            return cls(tuple(map(str, statement["checked"] or ())), said)
        checked = tuple(one for one in said if one.startswith(CHECKED_BY_MAPL))
        return cls(
            tuple(_sentence(one.removeprefix(CHECKED_BY_MAPL)) for one in checked),
            tuple(_sentence(one.removeprefix(FOR_YOU)) for one in said if one not in checked),
        )


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]
