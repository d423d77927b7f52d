"""How clearly linear teachers vote on Adult: the experiment of appendix F of Liu et al. (AISTATS 2021).

    python benchmarks/margin.py

Adult's train split counts as public here. 200 logistic regressions of each size vote on 5,000 held-out rows.
Results: benchmarks/results/margin.md, and the plot docs/margin.svg. Skipped where ../shared/data/adult.parquet is
absent.
"""

from __future__ import annotations

import time
from pathlib import Path

from datasets import LABEL, DataAbsent, load

from mapl.pipeline.rehearsal.margin import MarginWish, MeasuredMargin, measure
from mapl.planning.rules.margin import margin_plans
from mapl.report.pages.margin import tau_in_words
from mapl.report.plots.margin import margin_curves
from mapl.types import ADJACENCY, UNIT, Budget

SIZES = (50, 100, 200, 500, 1000)
TEACHERS = 200
LEARNER = "logistic"
MARGINS = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4)
BUDGET, QUERIES = Budget(2.0, 1e-5), 2_000
ROOT = Path(__file__).parent
RESULT, PLOT = ROOT / "results" / "margin.md", ROOT.parent / "docs" / "margin.svg"


def main() -> None:
    try:
        split = load("adult", 0)
    except DataAbsent as absent:
        print(absent)
        return
    start = time.perf_counter()
    measured = measure(split.private, MarginWish(SIZES, TEACHERS), label=LABEL, learner=LEARNER, n_jobs=1)
    seconds = time.perf_counter() - start
    PLOT.write_text(margin_curves([(one.size, one.curve) for one in measured.sizes]) + "\n")
    RESULT.write_text("\n".join([*_curves(measured, seconds), "", *_plans(measured)]) + "\n")
    print(RESULT.read_text())


def _curves(measured: MeasuredMargin, seconds: float) -> list[str]:
    return [
        "# How clearly teachers vote on Adult",
        "",
        f"`python benchmarks/margin.py` ({seconds:.0f} s on one core): {TEACHERS} teachers of each size "
        f"({LEARNER}) on parts of {measured.n_taught_from:,} rows, asked {measured.n_questions:,} others. "
        "Adult's train split counts as public here; nothing below is private.",
        "",
        "Share of rows with at most this margin, by the split estimate:",
        "",
        "| rows per teacher | one teacher errs | the vote errs | " + " | ".join(f"≤ {m:g}" for m in MARGINS) + " |",
        "|---|---|---|" + "---|" * len(MARGINS),
        *(
            f"| {one.size}{'' if one.apart else ' *'} | {one.teacher_error:.1%} | {one.vote_error:.1%} | "
            + " | ".join(f"{one.curve.nu(m):.1%}" for m in MARGINS)
            + " |"
            for one in measured.sizes
        ),
        "",
        "\\* Each of these teachers has its rows drawn by itself: disjoint parts would take more than there are.",
        "",
        f"Tsybakov noise condition: {tau_in_words(measured)}.",
    ]


def _plans(measured: MeasuredMargin) -> list[str]:
    lines = [
        f"T and K that are enough for {QUERIES:,} questions, except with probability 0.05, at epsilon "
        f"{BUDGET.epsilon:g} and delta {BUDGET.delta:g} (adjacency: {ADJACENCY}; unit: {UNIT}):",
        "",
        "| rows per teacher | margin | share below, at most | T | K, ladder | private rows | K, paper corrected |",
        "|---|---|---|---|---|---|---|",
    ]
    for one in measured.sizes:
        for plan in margin_plans(one.curve, one.size, QUERIES, BUDGET):
            teachers = "–" if plan.teachers is None else f"{plan.teachers:,}"
            rows = "–" if plan.rows is None else f"{plan.rows:,}"
            lines.append(
                f"| {one.size} | {plan.margin:g} | {plan.nu:.1%} | {plan.abstentions:,} | {teachers} | {rows} | "
                f"{plan.paper_teachers:,} |"
            )
    return lines


if __name__ == "__main__":
    main()
