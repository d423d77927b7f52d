"""Draw docs/students-active.svg from the stored results: accuracy against questions and against epsilon."""

from __future__ import annotations

import json
import statistics
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("svg")
from matplotlib import pyplot as plt
from students_active import ACTIVE, DATA, HYBRID, NOT_PRIVATE, PASSIVE, PASSIVE_LADDER, USUAL

HERE = Path(__file__).parent
AT = 1.0
"""Epsilon of the upper row."""

STYLES = {
    PASSIVE: ("#9aa3ad", "o-", "passive, link"),
    PASSIVE_LADDER: ("#9aa3ad", "x:", "passive, ladder"),
    ACTIVE: ("#1f6f8b", "o-", "active (margin), link"),
    HYBRID: ("#c8553d", "s--", "hybrid"),
    f"active (margin), {NOT_PRIVATE}": ("#1f6f8b", ".:", f"active, {NOT_PRIVATE}"),
    f"passive, {NOT_PRIVATE}": ("#9aa3ad", ".:", f"passive, {NOT_PRIVATE}"),
}

Point = tuple[float, float, float]


def points(rows: list[dict[str, Any]], by: str) -> list[Point]:
    """Return mean accuracies with their standard errors, by the mean of a field of each group."""
    found: dict[Any, list[dict[str, Any]]] = {}
    for row in rows:
        if row["accuracy"] is not None:
            found.setdefault(row["share"] if by == "questions" else row["epsilon"], []).append(row)
    made = []
    for _, group in sorted(found.items()):
        values = [row["accuracy"] for row in group]
        error = statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else 0.0
        made.append((statistics.mean(row[by] for row in group), statistics.mean(values), error))
    return made


def draw(axis: Any, rows: list[dict[str, Any]], by: str) -> None:
    """Draw one line for each way of asking."""
    for method, (color, line, name) in STYLES.items():
        mine = points([row for row in rows if row["method"] == method], by)
        if mine:
            x, y, error = zip(*mine, strict=True)
            axis.errorbar(
                x, y, yerr=error, fmt=line, color=color, label=name, markersize=4, linewidth=1.4, capsize=2
            )
    axis.set_xscale("log")
    axis.set_xticks(sorted({round(one) for one in _places(rows)} if by == "questions" else {0.5, 1.0, 2.0}))
    axis.get_xaxis().set_major_formatter(matplotlib.ticker.ScalarFormatter())
    axis.minorticks_off()
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)


def _places(rows: list[dict[str, Any]]) -> set[float]:
    return {row["questions"] for row in rows if row["method"] == PASSIVE}


def main() -> None:
    rows = json.loads((HERE / "results" / "students.json").read_text())["rows"]
    rows = [row for row in rows if row["part"] == "active" and not row["method"].startswith("overlap")]
    figure, axes = plt.subplots(2, len(DATA), figsize=(12, 6.4), layout="constrained")
    for column, data in enumerate(DATA):
        mine = [row for row in rows if row["data"] == data]
        above, below = axes[0][column], axes[1][column]
        draw(above, [row for row in mine if row["epsilon"] in (AT, None)], "questions")
        above.set_title(f"{data}, epsilon {AT:g}", loc="left", fontsize=11)
        above.set_xlabel("questions asked")
        usual = [
            row for row in mine if row["epsilon"] and row["share"] == (1 if "passive" in row["method"] else USUAL)
        ]
        draw(below, usual, "epsilon")
        below.set_title(f"{data}: all rows or, active, a quarter", loc="left", fontsize=11)
        below.set_xlabel("epsilon (delta 1e-5, add or remove one record)")
    for row in axes:
        row[0].set_ylabel("student accuracy, %")
    axes[0][0].legend(fontsize=8, frameon=False)
    figure.savefig(HERE.parent / "docs" / "students-active.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
