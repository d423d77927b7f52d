"""Which mutants a change touches: those of a changed source file first, then those whose tests or words changed."""

from __future__ import annotations

import subprocess
from collections.abc import Collection, Mapping

from mutant import REPOSITORY, Mutant


def changed_files(base: str) -> set[str]:
    """Return what differs between a revision and the work tree, by path in the repository.

    Raises
    ------
    ValueError
        If git knows no such revision.
    """
    told = [_git("diff", "--name-only", base, "--"), _git("ls-files", "--others", "--exclude-standard")]
    return {line for text in told for line in text.splitlines()}


def most_relevant(lists: Mapping[str, Collection[Mutant]], changed: Collection[str]) -> list[Mutant]:
    """Return the mutants that a change touches, the nearest to it first.

    Parameters
    ----------
    lists
        All mutants, by the file that lists them.
    """
    touched: list[tuple[int, Mutant]] = []
    for listed_in, mutants in lists.items():
        for mutant in mutants:
            parts = ({f"src/mapl/{mutant.file}"}, set(mutant.test_files), {listed_in})
            near = next((place for place, part in enumerate(parts) if not part.isdisjoint(changed)), None)
            if near is not None:
                touched.append((near, mutant))
    return [mutant for _, mutant in sorted(touched, key=lambda one: one[0])]


def _git(*arguments: str) -> str:
    ran = subprocess.run(["git", *arguments], cwd=REPOSITORY, capture_output=True, text=True, check=False)
    if ran.returncode:
        raise ValueError(f"git {' '.join(arguments)} failed: {ran.stderr.strip()} Give a revision that is there.")
    return ran.stdout
