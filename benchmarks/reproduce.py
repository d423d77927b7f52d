"""The long form of `mapl reproduce`: every claim of every paper at its large sizes.

    python benchmarks/reproduce.py [PAPER ...]

Votes and tables are looked for in ../shared/data; claims about them are skipped where they are absent. The pages go
to build/reproduced, which is made anew; verdicts, figures and CPU-seconds go to benchmarks/results/reproduce.md if
all papers were carried out.
"""

from __future__ import annotations

import shutil
import sys
import time
from collections import Counter
from functools import partial
from pathlib import Path

from datasets import DATA

from mapl.reproduce.carry_out import Reproduced, reproduce
from mapl.reproduce.claim import Ruling
from mapl.reproduce.effort import ReproductionEffort
from mapl.reproduce.page import write_figure, write_pages
from mapl.reproduce.papers import PAPERS

ROOT = Path(__file__).parent
PAGES, RESULT = ROOT.parent / "build" / "reproduced", ROOT / "results" / "reproduce.md"
HEAD = """# The papers at large sizes

`python benchmarks/reproduce.py`: `mapl reproduce all` without `--quick`. What claims say and what verdicts mean is
in [docs/reproduce.md](../../docs/reproduce.md). Worlds are made up and coins are seeded: nothing here is private.

| paper | holds | holds corrected | does not hold | skipped | CPU-seconds |
|---|---|---|---|---|---|
"""


def main(asked: list[str]) -> None:
    effort = ReproductionEffort(
        False,
        DATA / "votes" if (DATA / "votes").is_dir() else None,
        DATA if (DATA / "adult.parquet").exists() else None,
    )
    shutil.rmtree(PAGES, ignore_errors=True)
    lines, claims = [], []
    for paper in asked:
        start = time.process_time()
        found = reproduce(paper, effort, partial(_report, paper, start))
        seconds = time.process_time() - start
        write_pages(PAGES, paper, effort, found)
        counted = Counter(one.ruling for one in found)
        shown = " | ".join(str(counted[ruling]) for ruling in Ruling)
        lines.append(f"| {paper} | {shown} | {seconds:.0f} |")
        claims += ["", f"## {paper}", "", "| where | claim | verdict | measured |", "|---|---|---|---|"]
        claims += map(_row, found)
        print(lines[-1], flush=True)
    if set(asked) == set(PAPERS):
        RESULT.write_text(HEAD + "\n".join(lines + claims) + "\n", encoding="utf-8")


def _report(paper: str, start: float, done: int) -> None:
    print(f"{paper}: {done} claims, {time.process_time() - start:.0f} s of CPU", file=sys.stderr, flush=True)


def _row(one: Reproduced) -> str:
    figures = "; ".join(f"{name}: {write_figure(value)}" for name, value in one.measurement.figures.items())
    return f"| {one.claim.place} | `{one.claim.name}` | **{one.ruling}** | {figures or one.absent} |"


if __name__ == "__main__":
    main(sys.argv[1:] or list(PAPERS))
