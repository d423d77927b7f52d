"""What the site adds to the pages: all of them in the navigation, and options that its search finds first."""

from __future__ import annotations

from pathlib import Path
from typing import Any

OPTIONS = "docs/commands.md"
RESULTS = "benchmarks/results/"
FIGURES = "*Figures as a script measured and wrote them, for whoever wants to check what the guides say.*"
FIRST = 8.0
"""How much more a word counts to the search on the page of all options than elsewhere."""


def on_config(config: Any) -> Any:
    """Add what was measured, and the pages that the navigation leaves out."""
    pages = Path(config["docs_dir"])
    named = set(_pages(config["nav"]))
    for words, folder in (("All figures, by script", RESULTS), ("More", "docs")):
        found = [one.relative_to(pages).as_posix() for one in sorted((pages / folder).rglob("*.md"))]
        more = [one for one in found if one not in named]
        if more:
            config["nav"].append({words: more})
    return config


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Let the search find an option where it is explained before where it is used; say what results are for."""
    if page.file.src_uri == OPTIONS:
        page.meta["search"] = {"boost": FIRST}
    if page.file.src_uri.startswith(RESULTS):
        title, _, rest = markdown.partition("\n")
        return f"{title}\n\n{FIGURES}\n{rest}"
    return markdown


def _pages(part: Any) -> list[str]:
    """Return all pages that a part of the navigation names."""
    if isinstance(part, str):
        return [part]
    inner = part.values() if isinstance(part, dict) else part
    return [page for one in inner for page in _pages(one)]
