"""The long form of `mapl reproduce`: every claim of every paper at its large sizes.

    python benchmarks/reproduce.py [PAPER ...]

Votes and tables are looked for in ../shared/data; claims about them are skipped where they are absent. The pages go
to build/reproduced, which is made anew; verdicts and seconds go to benchmarks/results/reproduce.md if all papers
were carried out.
"""

from __future__ import annotations

import shutil
import sys
import time
from collections import Counter
from pathlib import Path

from datasets import DATA

from mapl.reproduce.carry_out import reproduce
from mapl.reproduce.claim import Ruling
from mapl.reproduce.effort import ReproductionEffort
from mapl.reproduce.page import write_pages
from mapl.reproduce.papers import PAPERS

ROOT = Path(__file__).parent
PAGES, RESULT = ROOT.parent / "build" / "reproduced", ROOT / "results" / "reproduce.md"
HEAD = """# The papers at large sizes

`python benchmarks/reproduce.py`: `mapl reproduce all` without `--quick`. What verdicts mean is in
[docs/reproduce.md](../../docs/reproduce.md). Worlds are made up and coins are seeded: nothing here is private.

| paper | holds | holds corrected | does not hold | skipped | seconds |
|---|---|---|---|---|---|
"""


def main(asked: list[str]) -> None:
    effort = ReproductionEffort(
        False,
        DATA / "votes" if (DATA / "votes").is_dir() else None,
        DATA if (DATA / "adult.parquet").exists() else None,
    )
    shutil.rmtree(PAGES, ignore_errors=True)
    lines, other = [], []
    for paper in asked:
        start = time.perf_counter()
        found = reproduce(paper, effort, lambda done: None)
        seconds = time.perf_counter() - start
        write_pages(PAGES, paper, effort, found)
        counted = Counter(one.ruling for one in found)
        shown = " | ".join(str(counted[ruling]) for ruling in Ruling)
        lines.append(f"| {paper} | {shown} | {seconds:.0f} |")
        failed = [one.claim for one in found if one.ruling is Ruling.fails]
        other += [f"- {paper}: {claim.name} ({claim.place})" for claim in failed]
        print(lines[-1], flush=True)
    if set(asked) == set(PAPERS):
        unmet = "\n\nWhat does not hold at these sizes:\n\n" + "\n".join(other) if other else ""
        RESULT.write_text(HEAD + "\n".join(lines) + unmet + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:] or list(PAPERS))
