"""What the last trial of all mutants found, on record in docs/audit.md by the commit that it tried."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass

from docs_table import DOCS
from mutant import REPOSITORY

BEGIN, END = "<!-- mutants tried: begin -->", "<!-- mutants tried: end -->"


@dataclass(frozen=True, slots=True)
class WholeRun:
    """How many mutants there were and were killed, and of which commit, with its date."""

    n_mutants: int
    n_killed: int
    commit: str
    date: str

    def __str__(self) -> str:
        killed = f"{self.n_killed} of {self.n_mutants}"
        return f"The last whole run killed {killed}, at commit {self.commit} of {self.date}."


def whole_run(n_mutants: int, n_killed: int) -> WholeRun:
    """Return the result of a whole run on the work tree; what is not committed is said so."""
    commit, date = _git("log", "-1", "--format=%h %cs").split()
    clean = not _git("status", "--porcelain", "--", "src", "tests")
    return WholeRun(n_mutants, n_killed, commit if clean else f"{commit} with changes", date)


def write_result(found: WholeRun) -> None:
    """Put the result between its marks."""
    text = DOCS.read_text(encoding="utf-8")
    before, after = text[: text.index(BEGIN)], text[text.index(END) :]
    DOCS.write_text(f"{before}{BEGIN}\n{found}\n{after}", encoding="utf-8")


def written_result() -> str:
    """Return what the docs say of the last whole run."""
    text = DOCS.read_text(encoding="utf-8")
    return text[text.index(BEGIN) + len(BEGIN) : text.index(END)].strip()


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout
