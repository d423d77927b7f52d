"""What parameters are called in messages: every face spells them in its own way, and no message is rewritten.

Shared code names a parameter by its plain name, ``f"ask for fewer with {spell('teachers')}"``. Whoever was called
by a user has said before how that is spelled there: ``--teachers`` on the command line, ``n_teachers`` in Python.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace


def plainly(name: str, value: str | None = None) -> str:
    """Spell a parameter by its plain name, as functions of mapl take it.

    Examples
    --------
    >>> plainly("per_unit"), plainly("method", "cells")
    ('per_unit', 'method="cells"')
    """
    return name if value is None else f'{name}="{value}"'


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a face spells parameters, and which of them it does not have."""

    spelling: Callable[[str, str | None], str] = plainly
    lacks: frozenset[str] = frozenset()


PLAIN = Dialect()
_SPOKEN: ContextVar[Dialect] = ContextVar("dialect", default=PLAIN)


@contextmanager
def speaking(dialect: Dialect) -> Iterator[None]:
    """Let messages spell parameters in a dialect for a while; also a decorator.

    Examples
    --------
    >>> with speaking(Dialect(lambda name, value: f"--{name}")):
    ...     spell("rows")
    '--rows'
    >>> spell("rows")
    'rows'
    """
    before = _SPOKEN.set(dialect)
    try:
        yield
    finally:
        _SPOKEN.reset(before)


@contextmanager
def speaking_without(names: Iterable[str]) -> Iterator[None]:
    """Go on in the same dialect, where some parameters are not there."""
    spoken = _SPOKEN.get()
    with speaking(replace(spoken, lacks=spoken.lacks.union(names))):
        yield


def spell(name: str, value: str | None = None) -> str:
    """Spell a parameter, with the value that it should have if there is one, as the face does that was called."""
    return _SPOKEN.get().spelling(name, value)


def takes(name: str) -> bool:
    """Say whether the face that was called has a parameter, so that advice to use it makes sense."""
    return name not in _SPOKEN.get().lacks
