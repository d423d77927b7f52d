"""A mutant: one line of mapl changed so that a promise breaks, and the tests that must notice."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
SOURCE = REPOSITORY / "src" / "mapl"


class DoesNotApply(Exception):
    """The source has moved on and the mutant with it must, too."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """One deliberate mistake.

    ``breaks`` says in one sentence what would be wrong. ``file`` is relative to src/mapl, and ``old`` stands in it
    once. ``killers`` are the tests, as pytest names them, at least one of which must fail.
    """

    name: str
    breaks: str
    file: str
    old: str
    new: str
    killers: tuple[str, ...]

    @property
    def path(self) -> Path:
        return SOURCE / self.file

    @property
    def test_files(self) -> tuple[str, ...]:
        """The files of the killers, relative to the repository, each once."""
        return tuple(dict.fromkeys(killer.partition("::")[0] for killer in self.killers))

    def mutated(self) -> str:
        """Return the text of the file with the mistake in it.

        Raises
        ------
        DoesNotApply
            If the old text is not there exactly once: such a mutant tests nothing.
        """
        text = self.path.read_text(encoding="utf-8") if self.path.is_file() else ""
        if text.count(self.old) != 1 or self.old == self.new:
            raise DoesNotApply(
                f"{self.name}: the old text stands {text.count(self.old)} times in src/mapl/{self.file}, and must "
                "stand there once. Write the mutant anew for the code as it is; do not drop it."
            )
        return text.replace(self.old, self.new)


def all_killers(mutants: Iterable[Mutant]) -> tuple[str, ...]:
    """Return every test that some mutant names, each once."""
    return tuple(dict.fromkeys(killer for mutant in mutants for killer in mutant.killers))
