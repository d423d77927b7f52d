"""How far one method is ahead of another, table by table, on the seeds that both were measured with."""

from __future__ import annotations

import statistics
from typing import Any


def differences(rows: list[dict[str, Any]], one: str, other: str) -> dict[tuple[str, float], list[float]]:
    """Return the differences in accuracy of two methods, seed by seed, for each table and epsilon."""
    found = {
        (row["data"], row["epsilon"], row["seed"], row["method"]): row["accuracy"]
        for row in rows
        if row["method"] in (one, other) and row["accuracy"] is not None
    }
    pairs: dict[tuple[str, float], list[float]] = {}
    for (data, epsilon, seed, method), accuracy in found.items():
        if method == one and (data, epsilon, seed, other) in found:
            pairs.setdefault((data, epsilon), []).append(accuracy - found[data, epsilon, seed, other])
    return pairs


def written(rows: list[dict[str, Any]], one: str, other: str) -> str:
    """Lay the mean differences out as Markdown, with their means over tables; nothing where there are none."""
    pairs = differences(rows, one, other)
    if not pairs:
        return ""
    epsilons = sorted({epsilon for _, epsilon in pairs})
    lines = [
        "",
        f"## {one} minus {other}",
        "",
        "In points of accuracy, on the seeds that both were measured with (how many, in brackets); the last line "
        "is the mean over tables. Asked: nowhere below -0.3, on average 0.5 at epsilon 0.5 and 2 at 0.1.",
        "",
        "| data | " + " | ".join(f"epsilon {epsilon:g}" for epsilon in epsilons) + " |",
        "|---" * (len(epsilons) + 1) + "|",
    ]
    for data in dict.fromkeys(data for data, _ in pairs):
        lines.append(f"| {data} | " + " | ".join(_cell(pairs.get((data, epsilon))) for epsilon in epsilons) + " |")
    means = [
        statistics.mean(statistics.mean(found) for (_, at), found in pairs.items() if at == epsilon)
        for epsilon in epsilons
    ]
    lines.append("| mean | " + " | ".join(f"{mean:+.2f}" for mean in means) + " |")
    return "\n".join(lines) + "\n"


def _cell(found: list[float] | None) -> str:
    return "-" if found is None else f"{statistics.mean(found):+.2f} ({len(found)})"
