"""The table of all mutants in docs/audit.md, written from the list so that both say the same."""

from __future__ import annotations

from every_mutant import MUTANTS
from mutant import REPOSITORY, Mutant

DOCS = REPOSITORY / "docs" / "audit.md"
BEGIN, END = "<!-- mutants: begin -->", "<!-- mutants: end -->"


def table() -> str:
    """Return the table in Markdown."""
    lines = ["| mutant | what it breaks | file | killed by |", "|---|---|---|---|"]
    lines += [f"| `{one.name}` | {one.breaks} | `{one.file}` | {_tests(one)} |" for one in MUTANTS]
    return "\n".join(lines)


def written() -> str:
    """Return the table that the docs have now."""
    text = DOCS.read_text(encoding="utf-8")
    return text[text.index(BEGIN) + len(BEGIN) : text.index(END)].strip()


def write_docs() -> None:
    """Put the table between its marks."""
    text = DOCS.read_text(encoding="utf-8")
    before, after = text[: text.index(BEGIN)], text[text.index(END) :]
    DOCS.write_text(f"{before}{BEGIN}\n{table()}\n{after}", encoding="utf-8")


def _tests(mutant: Mutant) -> str:
    names = (killer.removeprefix("tests/").replace("::", " `") for killer in mutant.killers)
    return ", ".join(f"{name}`" if "`" in name else f"`{name}`" for name in names)
