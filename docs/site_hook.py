"""Keeps every page in the site's navigation: what mkdocs.yml does not name stands under More."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def on_config(config: Any) -> Any:
    """Add the pages that the navigation leaves out."""
    pages = Path(config["docs_dir"])
    named = set(_pages(config["nav"]))
    others = [one.relative_to(pages).as_posix() for one in sorted((pages / "docs").rglob("*.md"))]
    more = [one for one in others if one not in named]
    if more:
        config["nav"].append({"More": more})
    return config


def _pages(part: Any) -> list[str]:
    """Return all pages that a part of the navigation names."""
    if isinstance(part, str):
        return [part]
    inner = part.values() if isinstance(part, dict) else part
    return [page for one in inner for page in _pages(one)]
