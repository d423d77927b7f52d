"""What somebody may have meant who misspelled a name: of a column, a method, a learner, a mechanism."""

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


def did_you_mean(wanted: str, known: Iterable[str]) -> str:
    """Return the question that ends a refusal, empty where no known name looks like the wanted one.

    >>> did_you_mean("rigde", ["ridge", "hgb"]), did_you_mean("nobody", ["ridge", "hgb"])
    (" Did you mean 'ridge'?", '')
    """
    near = suggest_names(wanted, known)
    return f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
