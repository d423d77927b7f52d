"""The long description of the package: the README, whose relative links would lead nowhere on a package index.

With MAPL_PROJECT_URL, the address under which the files of the repository are shown, links lead there, and the
package names its pages. Without it they become plain words, and the picture is left out: an archive promises no
page that nobody can open.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

LINK = re.compile(r"(?P<picture>!?)\[(?P<words>[^\]]*)\]\((?!https?:|#|mailto:)(?P<path>[^)\s]+)\)")
ELSEWHERE = "The pages named here are in the source archive of this version.\n"
PAGES = {"Documentation": "docs/start.md", "Changelog": "CHANGELOG.md", "Security": "SECURITY.md"}
"""What a package index links to."""


def addresses(address: str | None) -> dict[str, str]:
    """Return the pages of the project, none where nobody knows where they are shown."""
    return {name: f"{address.rstrip('/')}/{path}" for name, path in PAGES.items()} if address else {}


def described(readme: str, address: str | None) -> str:
    """Return a README for readers who do not have the repository."""

    def link(found: re.Match[str]) -> str:
        if address:
            return f"{found['picture']}[{found['words']}]({address.rstrip('/')}/{found['path']})"
        return "" if found["picture"] else found["words"]

    changed = LINK.sub(link, readme)
    return changed if address else f"{changed.rstrip()}\n\n{ELSEWHERE}"


class ReadmeForIndexes(MetadataHookInterface):
    """Writes the long description when the package is built."""

    def update(self, metadata: dict[str, Any]) -> None:
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        address = os.environ.get("MAPL_PROJECT_URL")
        metadata["readme"] = {"content-type": "text/markdown", "text": described(text, address)}
        metadata["urls"] = addresses(address)
