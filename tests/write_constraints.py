"""Write what a plain installation takes, each with its version and the SHA-256 of its archive.

python tests/write_constraints.py WHEEL FILE asks pip what it would install for this system, and downloads nothing
twice. `pip install --require-hashes -r FILE` then installs exactly this, from wherever; no address is in the file.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any


def constraints(installed: Iterable[Mapping[str, Any]]) -> str:
    """Return the lines of pip's report on an installation, in order of names."""
    lines = []
    for one in installed:
        about, archive = one["metadata"], one["download_info"]["archive_info"]
        lines.append(f"{about['name'].lower()}=={about['version']} --hash=sha256:{archive['hashes']['sha256']}\n")
    return "".join(sorted(lines))


def main() -> None:
    """Ask pip, and write the file."""
    wheel, target = sys.argv[1:]
    asked = ("install", "--dry-run", "--ignore-installed", "--quiet", "--report", "-", wheel)
    told = subprocess.run([sys.executable, "-m", "pip", *asked], stdout=subprocess.PIPE, text=True, check=True)
    Path(target).write_text(constraints(json.loads(told.stdout)["install"]), encoding="utf-8")


if __name__ == "__main__":
    main()
