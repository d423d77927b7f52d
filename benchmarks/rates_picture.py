"""The pictures of docs/rates.md, from the numbers of benchmarks/results/rates.json.

python benchmarks/rates_picture.py      # draws them again without measuring again
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("svg")
from matplotlib import pyplot as plt

STYLES = {
    "ladder": ("#1f6f8b", "o", "ladder (stability)"),
    "noisy-max": ("#cf4a12", "s", "noisy-max (composition)"),
    "lzcw21-gaussian": ("#b08968", "^", "Gaussian, paper's price"),
    "lzcw21-sparse": ("#9aa3ad", "v", "sparse vector, paper's constants"),
    "not private": ("#444444", "D", "not private: best cut of all rows"),
}
LEAST, SPAN = 1e-9, 3.0
# Words stay words: a third of the size, and readers can search them.
SETTINGS = {"svg.fonttype": "none", "svg.hashsalt": "rates", "font.size": 10, "font.family": "sans-serif"}


def draw(found: dict[str, Any], folder: Path) -> None:
    """Write the three pictures."""
    with plt.rc_context(SETTINGS):
        for name, figure in (("labels", labels(found)), ("table-1", table_1(found)), ("noise", noise(found))):
            figure.savefig(folder / f"rates-{name}.svg", metadata={"Date": None})
            plt.close(figure)


def labels(found: dict[str, Any]) -> Any:
    figure, axes = plt.subplots(1, 3, figsize=(12, 4.2), layout="constrained")
    for axis, world, title in (
        (axes[0], "thresholds", "thresholds, m = n/10"),
        (axes[1], "halfspaces", "halfspaces in R³, m = n/40"),
    ):
        points = found[f"by rows, {world}"]
        lines(axis, points, "n")
        guide(axis, points, "ladder", "n", -1.0, shift=0.5)
        guide(axis, points, "noisy-max", "n", -0.5, shift=2.2)
        finished(axis, title, "private rows n")
    points = found["by questions"]
    lines(axes[2], points, "m")
    guide(axes[2], points, "ladder", "m", 1.0, shift=0.4, skip=1)
    guide(axes[2], points, "noisy-max", "m", 0.5, shift=2.5, skip=1)
    finished(axes[2], "thresholds, n = 100,000", "questions m")
    axes[0].set_ylabel("labels that are wrong or missing")
    return headed(figure, axes, f"Released labels, {terms(found)}")


def table_1(found: dict[str, Any]) -> Any:
    figure, axis = plt.subplots(figsize=(6, 4.4), layout="constrained")
    points = found["table 1"]
    lines(axis, points, "n")
    guide(axis, points, "ladder", "n", -1.0, shift=0.4)
    guide(axis, points, "noisy-max", "n", -2 / 3, shift=3.5)
    finished(axis, "thresholds, the best number of public rows", "private rows n")
    axis.set_ylabel("error of the student")
    return headed(figure, [axis], f"Students, {terms(found)}")


def noise(found: dict[str, Any]) -> Any:
    figure, axes = plt.subplots(1, 3, figsize=(12, 4.2), layout="constrained", sharey=True)
    for axis, tau in zip(axes, ("1", "0.5", "0"), strict=True):
        points = [point for point in found["noise"] if point["tau"] == tau]
        t = float(tau)
        lines(axis, points, "n")
        guide(axis, points, "ladder", "n", -t / (2 - t), shift=2.5 if t == 1 else 0.3)
        guide(axis, points, "not private", "n", -1 / (2 - t), shift=0.4 if t == 1 else 2.5)
        if not drawn(points, "ladder"):
            axis.text(0.04, 0.06, f"private students err below {LEAST:.0e}", transform=axis.transAxes)
        finished(axis, f"tau = {tau}", "private rows n")
    axes[0].set_ylabel("excess risk of the student")
    return headed(figure, axes, f"Students where labels are noisy, {terms(found)}")


def lines(axis: Any, points: Sequence[dict[str, Any]], size: str) -> None:
    """Draw each mechanism's points with bars of two standard errors."""
    for name, (colour, marker, words) in STYLES.items():
        part = drawn(points, name)
        if part:
            means = [p["mean"] for p in part]
            bars = [min(2 * p.get("standard_error", 0.0), 0.9 * p["mean"]) for p in part]
            style = {"color": colour, "marker": marker, "markersize": 5, "linewidth": 1.6, "label": words}
            axis.errorbar([p[size] for p in part], means, yerr=bars, elinewidth=1, **style)


def drawn(points: Sequence[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    """Return a mechanism's points, but for errors that nobody could tell from none."""
    return [p for p in points if p["mechanism"] == name and p["mean"] and p["mean"] >= LEAST]


def guide(
    axis: Any, points: Sequence[dict[str, Any]], name: str, size: str, power: float, *, shift: float, skip: int = 0
) -> None:
    """Draw the theory's slope beside a mechanism's last points: `shift` times as high, so that it hides nothing."""
    part = drawn(points, name)
    if not part:
        return
    part = part[-3 - skip : len(part) - skip]
    middle, height = (math.exp(sum(math.log(p[key]) for p in part) / len(part)) for key in (size, "mean"))
    sizes = [middle / SPAN, middle, middle * SPAN]
    heights = [shift * height * (x / middle) ** power for x in sizes]
    colour = STYLES[name][0]
    axis.plot(sizes, heights, color=colour, linestyle=(0, (4, 3)), linewidth=1.1)
    axis.annotate(
        f"slope {power:.2g}".replace("-", "−") if power else "slope 0",
        (sizes[1], heights[1]),
        textcoords="offset points",
        xytext=(3, 4) if shift > 1 else (-3, -12),
        ha="left" if (shift > 1) == (power <= 0) else "right",
        color=colour,
        fontsize=9,
    )


def finished(axis: Any, title: str, across: str) -> None:
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set_title(title, loc="left", fontsize=11)
    axis.set_xlabel(across)
    axis.minorticks_off()
    axis.grid(alpha=0.25)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)


def headed(figure: Any, axes: Sequence[Any], title: str) -> Any:
    """Put one legend and the terms of the budget around all panels."""
    entries = {
        words: handle for axis in axes for handle, words in zip(*axis.get_legend_handles_labels(), strict=True)
    }
    figure.legend(
        entries.values(), entries.keys(), loc="outside lower center", ncol=4 if len(axes) > 1 else 2, frameon=False
    )
    figure.suptitle(title, fontsize=11)
    return figure


def terms(found: dict[str, Any]) -> str:
    budget = found["budget"]
    return f"epsilon {budget['epsilon']:g} at delta {budget['delta']:g}, one teacher's votes changed"


if __name__ == "__main__":
    here = Path(__file__).parent
    draw(json.loads((here / "results" / "rates.json").read_text()), here.parent / "docs")
