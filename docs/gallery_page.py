"""Write docs/gallery.md: every example with its code and with what it printed when this was run.

python docs/gallery_page.py      # runs all examples, which takes minutes
"""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples"
PAGE = ROOT / "docs" / "gallery.md"
HEAD = """# Gallery

Every example with its code and what it printed, to see how a thing is done before you try it.

*Written by `docs/gallery_page.py`.* Every example runs by itself: `python examples/quickstart.py`. Below each is
what it printed. Coins are real, so your figures differ a little; `tests/test_examples.py` runs all and compares.
"""
SHOWN = re.compile(r"^## \[(?P<name>\w+)\].*?^```text\n(?P<shown>.*?)^```$", re.MULTILINE | re.DOTALL)
"""An example on the page, and what it printed."""


def names() -> list[str]:
    """Return the examples in the order of their index."""
    return re.findall(r"\]\((\w+)\.py\)", (EXAMPLES / "README.md").read_text("utf-8"))


def run_example(name: str) -> str:
    """Run an example by itself, with warnings as errors, and return what it prints."""
    ran = subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLES / f"{name}.py")],
        capture_output=True,
        text=True,
        timeout=900,
        env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        check=False,
    )
    if ran.returncode:
        raise RuntimeError(f"{name} failed:\n{ran.stderr[-2000:]}")
    return ran.stdout


def written(printed: Mapping[str, str]) -> str:
    """Return the page, with what each example printed."""
    parts = [HEAD]
    for name in names():
        source = (EXAMPLES / f"{name}.py").read_text("utf-8")
        tree = ast.parse(source)
        said = ast.get_docstring(tree) or ""
        code = "\n".join(source.splitlines()[tree.body[0].end_lineno :]).strip()
        blocks = f"```python\n{code}\n```\n\n```text\n{printed[name]}```\n"
        parts.append(f"## [{name}](../examples/{name}.py)\n\n{said}\n\n{blocks}")
    return "\n".join(parts)


def shown() -> dict[str, str]:
    """Return what the page says that each example prints."""
    return {one["name"]: one["shown"] for one in SHOWN.finditer(PAGE.read_text("utf-8"))}


if __name__ == "__main__":
    PAGE.write_text(written({name: run_example(name) for name in names()}), "utf-8")
