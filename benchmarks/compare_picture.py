"""The picture and the tables of docs/compare.md and README.md, from the numbers of benchmarks/results/learn.json.

python benchmarks/compare_picture.py      # draws and writes them again without measuring again
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
FOUND = ROOT / "benchmarks" / "results" / "learn.json"
COSTS = ROOT / "benchmarks" / "results" / "peer_costs.json"
TABLES = {
    "adult": "Adult",
    "a9a": "a9a",
    "credit_default": "Credit Default",
    "mushroom": "Mushroom",
    "diamonds": "diamonds",
    "health": "health insurance",
    "covertype": "Covertype",
    "mnist": "MNIST",
    "sst2": "SST-2",
}
MAPL = ("mapl, auto", "mapl, cells")
"""What `mapl learn` does by itself; where nobody measured that, cells, and the tables say so."""
PEERS = {
    "dp-sgd": "DP-SGD",
    "diffprivlib": "diffprivlib",
    "opendp": "OpenDP",
    "adassp": "AdaSSP",
    "private-knn": "private kNN",
    "pate": "PATE",
}
OPEN = ("without privacy, hgb", "without privacy, ridge", "without privacy, ridge-bins")
STYLES = {
    "mapl, auto": ("#1f6f8b", "o", "mapl, by itself (auto)"),
    "mapl, cells": ("#3aa17e", "D", "mapl, cells"),
    "mapl, teachers": ("#8fb8c6", "v", "mapl, teachers"),
    "dp-sgd": ("#cf4a12", "s", "DP-SGD (opacus)"),
    "adassp": ("#7a5c99", "P", "AdaSSP (our code)"),
    "private-knn": ("#999999", "X", "private kNN (our code)"),
    "opendp": ("#c9a227", "*", "OpenDP (a linear model)"),
    "pate": ("#5b8c3a", "d", "PATE, sanitised (our code)"),
    "diffprivlib": ("#b08968", "^", "diffprivlib"),
}
LEADERS = tuple(STYLES)[:4]
"""Whose figures decide what a picture shows; what lies far below is cut off."""
MARK = re.compile(r"(<!-- peers at (?P<epsilons>[\d., ]+) -->\n).*?(<!-- end -->)", re.DOTALL)
"""Where a page has its table, and at which epsilons."""
COST_MARK = re.compile(r"(<!-- costs -->\n).*?(<!-- end of costs -->)", re.DOTALL)


class Figure(NamedTuple):
    """A mean in percent over so many seeds."""

    accuracy: float
    seeds: int


Figures = Mapping[tuple[str, str, float | None], Figure]


def figures(path: Path = FOUND) -> Figures:
    """Return what was measured, by table, method and epsilon."""
    summary = json.loads(path.read_text("utf-8"))["summary"]
    return {
        (one["data"], one["method"], one["epsilon"]): Figure(one["accuracy"], one["seeds"])
        for one in summary
        if one["accuracy"] is not None
    }


def written_in(page: str, found: Figures) -> str:
    """Return a page with its tables written anew."""
    page = COST_MARK.sub(lambda mark: mark[1] + cost_table() + mark[2], page)
    return MARK.sub(lambda mark: mark[1] + table(found, _numbers(mark["epsilons"])) + mark[3], page)


def cost_table(path: Path = COSTS) -> str:
    """Return what a fit costs, mapl's first."""
    costs = json.loads(path.read_text("utf-8"))["costs"]
    lines = ["| who | " + " | ".join(f"{TABLES[data]}, CPU-seconds | memory" for data in costs) + " |"]
    lines.append("|---" * (2 * len(costs) + 1) + "|")
    for who in dict.fromkeys(who for by_method in costs.values() for who in by_method):
        cells = [costs[data].get(who) for data in costs]
        shown = (
            f"{one['cpu_seconds']:.1f} | {one['peak_mb']:.0f} MB" if one else "not measured | " for one in cells
        )
        lines.append(f"| {PEERS.get(who, who)} | {' | '.join(shown)} |")
    return "\n".join(lines) + "\n"


def table(found: Figures, epsilons: Sequence[float]) -> str:
    """Return accuracies of mapl and its peers as lines of a table; the best private one of a line is bold."""
    heads = ("table", "epsilon", "mapl", *PEERS.values(), "without privacy")
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for data, name in TABLES.items():
        own = next((way for way in MAPL if any((data, way, each) in found for each in epsilons)), MAPL[-1])
        for epsilon in epsilons:
            ways = [found.get((data, way, epsilon)) for way in (own, *PEERS)]
            if ways[0] is None:
                continue
            best = max(round(one.accuracy, 1) for one in ways if one)
            cells = [_cell(one, best) for one in ways]
            without = max(found[data, way, None].accuracy for way in OPEN if (data, way, None) in found)
            said = name + (" (cells)" if own != MAPL[0] else "")
            lines.append(f"| {said} | {epsilon:g} | {' | '.join(cells)} | {without:.1f} |")
    return "\n".join(lines) + "\n"


def _cell(one: Figure | None, best: float) -> str:
    if one is None:
        return "not measured"
    figure = f"{one.accuracy:.1f}"
    figure = f"**{figure}**" if round(one.accuracy, 1) == best else figure
    return figure if one.seeds > 1 else f"{figure}\N{NO-BREAK SPACE}¹"


def _numbers(words: str) -> list[float]:
    return [float(one) for one in words.split(",")]


def draw(found: Figures, path: Path) -> None:
    """Draw accuracy against epsilon, one small picture for each table."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot as plt

    settings = {"svg.fonttype": "none", "svg.hashsalt": "compare", "font.size": 10, "font.family": "sans-serif"}
    with plt.rc_context(settings):
        figure, axes = plt.subplots(3, 3, figsize=(10, 8), layout="constrained")
        for axis, data in zip(axes.flat, TABLES, strict=True):
            _panel(axis, found, data)
            axis.set_title(TABLES[data])
        for axis in axes[:, 0]:
            axis.set_ylabel("accuracy, %")
        for axis in axes[-1]:
            axis.set_xlabel("epsilon")
        handles: dict[str, Any] = {}
        for axis in axes.flat:
            lines, names = axis.get_legend_handles_labels()
            handles.update(zip(names, lines, strict=True))
        figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=3, frameon=False)
        figure.savefig(path, metadata={"Date": None})
        plt.close(figure)


def _panel(axis: Any, found: Figures, data: str) -> None:
    for method, (colour, mark, label) in STYLES.items():
        points = sorted(
            (key[2], one.accuracy) for key, one in found.items() if key[:2] == (data, method) and key[2]
        )
        if points:
            axis.plot(*zip(*points, strict=True), color=colour, marker=mark, markersize=4, label=label)
    without = [found[data, way, None].accuracy for way in OPEN if (data, way, None) in found]
    axis.axhline(
        max(without), color="#444444", linestyle="--", linewidth=1, label="without privacy, the better of two"
    )
    axis.set_xscale("log")
    axis.set_xticks([0.1, 0.5, 1, 2, 4], ["0.1", "0.5", "1", "2", "4"])
    axis.set_xticks([], minor=True)
    axis.set_xlim(0.085, 4.8)
    axis.grid(alpha=0.25)
    # The weakest figures on many classes would squeeze all others into one line.
    shown = [*without, *(one.accuracy for key, one in found.items() if key[0] == data and key[1] in STYLES)]
    inner = [one.accuracy for key, one in found.items() if key[0] == data and key[1] in LEADERS and key[2]]
    span = max(shown) - min(inner)
    axis.set_ylim(min(inner) - 0.3 * span, max(shown) + 0.15 * span)


def main() -> None:
    """Write the picture and the tables."""
    found = figures()
    draw(found, ROOT / "docs" / "compare.svg")
    for page in (ROOT / "docs" / "compare.md", ROOT / "README.md"):
        page.write_text(written_in(page.read_text("utf-8"), found), "utf-8")


if __name__ == "__main__":
    main()
