"""What somebody may have meant who misspelled the name of a column."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def suggest_names(wanted: str, known: Iterable[str], *, alike: float = 0.6) -> list[str]:
    """Return the known names that look most like the wanted one, nearest first; small and capital letters are one.

    ``alike`` is the least share of letters in common (`difflib`): more of them where nothing may be wrong at all.

    >>> suggest_names("diabtes", ["age", "Diabetes"])
    ['Diabetes']
    >>> suggest_names("costly", ["city"]), suggest_names("costly", ["city"], alike=0.8)
    (['city'], [])
    """
    by_lower: dict[str, list[str]] = {}
    for name in known:
        by_lower.setdefault(name.lower(), []).append(name)
    return [name for near in get_close_matches(wanted.lower(), by_lower, cutoff=alike) for name in by_lower[near]]
