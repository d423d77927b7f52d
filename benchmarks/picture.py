"""Draw the README's picture from the stored benchmark results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("svg")
from matplotlib import pyplot as plt

HERE = Path(__file__).parent
TITLE = "Real votes of 250 teachers, delta 1e-5 (tuned on these votes: not private)"
PAPER, OURS = "#9aa3ad", "#1f6f8b"


def bars(axis: Any, rows: list[dict[str, Any]], title: str) -> None:
    """Draw answered questions as bars, with the accuracy of the answers beside them."""
    rows = rows[::-1]
    names = [row["mechanism"] for row in rows]
    values = [row["answered"] for row in rows]
    colors = [PAPER if name in ("btt18", "lzcw21-sparse") else OURS for name in names]
    axis.barh(names, values, color=colors, height=0.7)
    top = max(values)
    for y, row in enumerate(rows):
        right = f"{row['answered']:.0f}" + (f"  ({row['accuracy %']:.1f}% right)" if row["answered"] else "")
        axis.text(row["answered"] + top * 0.015, y, right, va="center", fontsize=9)
    axis.set_xlim(0, top * 1.45)
    axis.set_title(title, loc="left", fontsize=11)
    axis.set_xlabel("questions answered")
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)


def main() -> None:
    rows = json.loads((HERE / "results" / "aggregate.json").read_text())[TITLE]
    figure, axes = plt.subplots(1, 2, figsize=(11, 3.6), layout="constrained")
    for axis, votes, name in zip(axes, ("mnist", "adult"), ("MNIST, 10 classes", "Adult, 2 classes"), strict=True):
        bars(axis, [r for r in rows if r["votes"] == votes and r["epsilon"] == 2], name)
    figure.suptitle(
        "What 250 real teachers may answer at epsilon 2, delta 1e-5 (one teacher's votes changed)", fontsize=12
    )
    figure.savefig(HERE.parent / "docs" / "answers.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
