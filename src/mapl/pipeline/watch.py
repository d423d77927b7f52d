"""Who is told how a run goes: bars that count public steps, and words about public facts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from mapl.types import ShowProgress


@contextmanager
def no_progress(what: str, total: int) -> Iterator[None]:
    """Show nothing."""
    yield None


@dataclass(frozen=True, slots=True)
class Watch:
    """Whoever looks on. What it is told follows from public rows, settings and releases, and from nothing else."""

    progress: ShowProgress = no_progress
    on_warning: Callable[[str], None] = lambda words: None

    def warn(self, *words: str | None) -> None:
        """Pass on what a user should think about, if anything."""
        for one in words:
            if one is not None:
                self.on_warning(one)
