"""The pictures of docs/prediction.md, from the numbers of benchmarks/results/prediction.json.

python benchmarks/prediction_picture.py      # draws them again without measuring again
"""

from __future__ import annotations

import json
import re
from io import StringIO
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("svg")
from matplotlib import pyplot as plt

COLOURS = {"A^sta": "#1f6f8b", "padded stumps": "#cf4a12", "naive averaging": "#8a8f98"}
MARKERS = {"A^sta": "o", "padded stumps": "s", "naive averaging": "^"}
FLOOR = "#222222"
SHOWN = 0.4
"""Which noise the curves are shown for."""
# Words stay words: a third of the size, and readers can search them.
SETTINGS = {"svg.fonttype": "none", "svg.hashsalt": "prediction", "font.size": 10, "font.family": "sans-serif"}


def draw(found: dict[str, Any], folder: Path) -> None:
    """Write the three pictures."""
    with plt.rc_context(SETTINGS):
        for name, figure in (
            ("stability", curves(found, ("gamma 0.01", "gamma 0.1"))),
            ("privacy", curves(found, ("epsilon 0.1", "epsilon 1"))),
            ("noise", factors(found)),
        ):
            text = StringIO()
            figure.savefig(text, format="svg", metadata={"Date": None})
            plt.close(figure)
            # A hundredth of a point is fine enough, and half of the size.
            short = re.sub(r"(\d+\.\d{2})\d+", r"\1", text.getvalue())
            (folder / f"prediction-{name}.svg").write_text(re.sub(r"\n +", "\n", short))


def curves(found: dict[str, Any], goals: tuple[str, str]) -> Any:
    figure, axes = plt.subplots(1, 4, figsize=(13, 4.2), layout="constrained", sharey=True)
    panels = [(kind, goal) for kind in ("thresholds", "stumps") for goal in goals]
    for axis, (kind, goal) in zip(axes, panels, strict=True):
        for name in {line["line"]: None for line in found["bounds"]}:
            line = [b for b in found["bounds"] if (b["class"], b["goal"], b["line"]) == (kind, goal, name)]
            colour = COLOURS.get(name.partition(",")[0], FLOOR)
            dashes = (0, (1, 2)) if "fresh" in name else (0, (5, 3)) if "," in name else "solid"
            style = {"color": colour, "linestyle": dashes, "linewidth": 1.1, "label": name}
            if line:
                axis.plot([b["n"] for b in line], [b["excess"] for b in line], **style)
        here = [p for p in found["points"] if (p["class"], p["goal"], p["flipped"]) == (kind, goal, SHOWN)]
        for method, colour in COLOURS.items():
            part = [p for p in here if p["method"] == method and p["excess"]]
            if part:
                style = {
                    "color": colour,
                    "marker": MARKERS[method],
                    "markersize": 5,
                    "label": f"{method}, measured",
                }
                axis.plot([p["n"] for p in part], [p["excess"] for p in part], **style)
        finished(axis, f"{kind}, {goal}", "records n")
        axis.set_ylim(3e-5, 1.3)
    axes[0].set_ylabel("error above the best rule's")
    title = f"Promise for each answer, one record replaced; a label is flipped with chance {SHOWN:g}"
    return headed(figure, axes, title, columns=4)


def factors(found: dict[str, Any]) -> Any:
    figure, axes = plt.subplots(1, 2, figsize=(10, 4.4), layout="constrained")
    for axis, letter in zip(axes, ("gamma", "epsilon"), strict=True):
        here = [p for p in found["noise"] if p["goal"].startswith(letter) and p["factor"]]
        for method, kind, goal in sorted({(p["method"], p["class"], p["goal"]) for p in here}):
            part = [p for p in here if (p["method"], p["class"], p["goal"]) == (method, kind, goal)]
            noise = [p["flipped"] for p in part]
            style = {
                "color": COLOURS[method],
                "marker": "o" if kind == "thresholds" else "D",
                "linestyle": (0, (5, 3)) if goal in ("gamma 0.01", "epsilon 0.1") else "solid",
                "markersize": 5,
                "label": f"{method}, {kind}, {goal}",
            }
            axis.plot(noise, [p["factor"] for p in part], **style)
        axis.axhline(1, color=FLOOR, linewidth=0.8)
        finished(axis, "stability" if letter == "gamma" else "pure epsilon", "chance that a label is flipped")
        axis.set_xscale("linear")
        axis.legend(frameon=False, fontsize=8)
    axes[0].set_ylabel("records of naive averaging for the same error, times")
    figure.suptitle("How many times as many records naive averaging needs (at n = 100,000)", fontsize=11)
    return figure


def finished(axis: Any, title: str, across: str) -> None:
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set_title(title, loc="left", fontsize=11)
    axis.set_xlabel(across)
    axis.minorticks_off()
    axis.grid(alpha=0.25)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)


def headed(figure: Any, axes: Any, title: str, *, columns: int) -> Any:
    """Put one legend and the terms around all panels."""
    entries = {
        words: handle for axis in axes for handle, words in zip(*axis.get_legend_handles_labels(), strict=True)
    }
    figure.legend(entries.values(), entries.keys(), loc="outside lower center", ncol=columns, frameon=False)
    figure.suptitle(title, fontsize=11)
    return figure


if __name__ == "__main__":
    here = Path(__file__).parent
    draw(json.loads((here / "results" / "prediction.json").read_text()), here.parent / "docs")
