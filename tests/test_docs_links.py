"""Links between pages lead somewhere, figures in the guides are those of the code, and its snippets run."""

from __future__ import annotations

import json
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from mapl.report.figures import at_most, share_at_most
from mapl.report.risk import Risk
from mapl.types import Budget

ROOT = Path(__file__).parent.parent
PAGES = [
    *sorted(ROOT.glob("*.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "benchmarks" / "results").glob("*.md")),
    *sorted((ROOT / "examples").glob("*.md")),
]
FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ +(.+)$", re.MULTILINE)


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub and Python-Markdown make them."""
    plain = (
        re.sub(r"[^\w\- ]", "", one.lower()) for one in HEADING.findall(FENCED.sub("", page.read_text("utf-8")))
    )
    return {re.sub(r"[ -]+", "-", one.strip()) for one in plain}


def broken(page: Path, text: str) -> list[str]:
    """Return the links of a page that lead nowhere in the repository."""
    wrong = []
    for link in LINK.findall(FENCED.sub("", text)):
        if re.match(r"[a-z]+:", link):
            continue
        place, _, anchor = link.partition("#")
        target = (page.parent / place).resolve() if place else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            wrong.append(link)
    return wrong


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    assert broken(page, page.read_text("utf-8")) == []


def test_links_that_lead_nowhere_are_noticed() -> None:
    page = ROOT / "docs" / "start.md"
    assert broken(page, "[a](nowhere.md) [b](learn.md) [c](learn.md#learners) [d](learn.md#earners)") == [
        "nowhere.md",
        "learn.md#earners",
    ]


@pytest.mark.parametrize("page", [one for one in PAGES if one.parent.name != "results"], ids=lambda page: page.name)
def test_a_page_begins_with_what_it_is_for(page: Path) -> None:
    """In words, before any table, list or code; the hook of the site gives pages of results such a sentence."""
    title, first = page.read_text("utf-8").split("\n\n")[:2]
    assert title.startswith("# ")
    assert not first.startswith(("|", "```", "    ", "#", "- ", "1. ", "![", "*Written by", "Code:"))
    assert first.endswith((".", ":"))


def test_every_page_that_the_navigation_names_is_there() -> None:
    named = re.findall(r"(\S+\.md)$", (ROOT / "mkdocs.yml").read_text("utf-8"), re.MULTILINE)
    assert len(named) > 50
    assert [one for one in named if not (ROOT / one).exists()] == []


def test_the_table_of_risks_is_computed() -> None:
    page = (ROOT / "docs" / "budget.md").read_text("utf-8")
    for epsilon in (0.1, 0.5, 1, 2, 4, 8):
        risk = Risk.of(Budget(epsilon, 1e-6))
        limits = at_most(risk.odds_factor), share_at_most(risk.accuracy), share_at_most(dict(risk.hits)[0.01])
        assert f"| {epsilon:g} | {' | '.join(limits)} |\n" in page


def test_the_snippet_about_images_makes_a_table_that_is_read(tmp_path: Path) -> None:
    (snippet,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "files.md").read_text("utf-8"), re.DOTALL)
    drafted = (
        "\nfrom pathlib import Path\nfrom mapl.data import draft_schema, read_table\n"
        "column, _ = draft_schema(read_table(Path('private.parquet'), what='public rows')).columns\n"
        "print(column.name, column.kind, column.width)"
    )
    ran = subprocess.run([sys.executable, "-c", snippet + drafted], cwd=tmp_path, capture_output=True, text=True)
    assert ran.stdout == "picture image 784\n", ran.stderr


def test_the_pictures_of_ideas_are_those_of_their_script() -> None:
    pictures = runpy.run_path(str(ROOT / "docs" / "idea_pictures.py"))["PICTURES"]
    for name, draw in pictures.items():
        assert (ROOT / "docs" / name).read_text("utf-8") == draw(), f"{name}: python docs/idea_pictures.py"


def test_the_page_of_accuracies_is_that_of_its_script(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    written = runpy.run_path(str(ROOT / "benchmarks" / "learn_page.py"))
    rows = json.loads(written["STORED"].read_text("utf-8"))["rows"]
    assert written["PAGE"].read_text("utf-8") == written["page"](rows), "python benchmarks/learn_page.py"


def test_the_snippet_for_votes_of_pate_answers_clear_questions() -> None:
    (snippet,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "from-pate.md").read_text("utf-8"), re.DOTALL)
    ran = subprocess.run([sys.executable, "-c", snippet], capture_output=True, text=True, check=True)
    (answered,) = re.findall(r"^(\d+) of 1000 questions answered$", ran.stdout, re.MULTILINE)
    assert int(answered) > 950
