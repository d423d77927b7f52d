"""Whom fits are about, in the words of whoever calls them: the one thing about people that a warning may go by."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from mapl.errors import InvalidParameter

_NAMED: ContextVar[str | None] = ContextVar("people", default=None)


@contextmanager
def people(name: str) -> Iterator[None]:
    """Say whom the fits in a block are about, so that they add up with fits on these people alone.

    Without a name all fits of a process count as fits on the same people, and the second one warns. A name changes
    this warning and nothing else: it is for you to see to that nobody is in tables of two names.

    Examples
    --------
    >>> import mapl
    >>> with mapl.people("the clinic in the north"):
    ...     pass  # PrivateClassifier(...).fit(...)
    """
    if not isinstance(name, str) or not name.strip():
        raise InvalidParameter(f"people is given {name!r}; give a name in words, such as people('clinic A').")
    before = _NAMED.set(name)
    try:
        yield
    finally:
        _NAMED.reset(before)


def named_people() -> str | None:
    """Return the name of whom fits are about now; None for nobody in particular."""
    return _NAMED.get()
