"""The rates of the theory, measured: in worlds with a known truth, with the real mechanisms at one budget.

    python benchmarks/rates.py      # about 200 s of one core

Seeds are fixed, for the benchmark only: nothing here is private, and no data is needed. Settings come from
forecasts on a rehearsal, that is on other teachers of the same world. Results: benchmarks/results/rates.json and
rates.md, and the pictures docs/rates-*.svg.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rates_picture import draw

from mapl.bounds import Bound
from mapl.bounds.btt18.theorems import BOUNDS as BTT18
from mapl.bounds.lzcw21.theorems import BOUNDS as LZCW21
from mapl.errors import MaplError
from mapl.reproduce.crowds.runs import (
    BUDGET,
    best_student,
    describe,
    misses,
    not_private,
    numbers_of_teachers,
    plan,
    rehearsals,
    slope,
    summary,
)
from mapl.reproduce.crowds.teachers import VotedWorld
from mapl.reproduce.worlds import HalfspaceWorld, LabelNoise, ThresholdWorld
from mapl.types import ADJACENCY, UNIT

HERE = Path(__file__).parent
LINE = ThresholdWorld(cut=0.3)
SPACE = HalfspaceWorld(n_columns=3)
NOISES = {"1": LabelNoise.massart(0.2), "0.5": LabelNoise(0.5), "0": LabelNoise(0.0)}
PAPER = "lzcw21-gaussian"
ALL = ("ladder", "noisy-max", PAPER, "lzcw21-sparse")

FEWEST_ROWS = {LINE.vc: 5, SPACE.vc: 40}
NOTHING = 1e-9
NOISY_TEACHERS, PUBLIC = 1000, (100, 1000, 10_000, 100_000)
SIZES = (30_000, 100_000, 300_000, 1_000_000)

Point = dict[str, Any]


def main() -> None:
    found: dict[str, Any] = {
        "budget": {"epsilon": BUDGET.epsilon, "delta": BUDGET.delta, "adjacency": ADJACENCY, "unit": UNIT}
    }
    for name, measure in EXPERIMENTS.items():
        found[name] = measure()
        found["seconds"] = round(time.process_time())
        print(f"{name}: {found['seconds']} s so far", flush=True)
    (HERE / "results" / "rates.json").write_text(json.dumps(found, indent=1) + "\n")
    (HERE / "results" / "rates.md").write_text(tables(found))
    draw(found, HERE.parent / "docs")


def by_rows(world: VotedWorld, sizes: Sequence[int], names: Sequence[str]) -> list[Point]:
    """Ask m = n/(10 V) questions: as many as stability can serve, up to a constant."""
    points = []
    for n in sizes:
        m = n // (10 * world.vc)
        crowds = rehearsals(world, n, numbers_of_teachers(n, FEWEST_ROWS[world.vc]))
        for name in names:
            planned = plan(name, m, crowds)
            measured = misses(world, planned, n, m, questions=20_000, crowds=5) if planned else []
            points.append({"n": n, "m": m, "mechanism": name, **describe(planned, measured)})
    return points


def by_questions(n: int, sizes: Sequence[int]) -> list[Point]:
    """Keep the private rows and ask more and more."""
    crowds = rehearsals(LINE, n, numbers_of_teachers(n, FEWEST_ROWS[LINE.vc]))
    points = []
    for m in sizes:
        for name in ("ladder", "noisy-max"):
            planned = plan(name, m, crowds)
            measured = misses(LINE, planned, n, m, questions=60_000, crowds=6) if planned else []
            points.append({"n": n, "m": m, "mechanism": name, **describe(planned, measured)})
    return points


def table_1(sizes: Sequence[int]) -> list[Point]:
    """Teach students, each from the number of public rows that serves it best."""
    points = []
    for n in sizes:
        crowds = rehearsals(LINE, n, numbers_of_teachers(n, FEWEST_ROWS[LINE.vc]))
        public = sorted({round(n ** (2 / 3) * 4**i) for i in (-1, 0, 1)} | {n // 16, n // 4, n})
        for name in ("ladder", "noisy-max", PAPER):
            points.append(best_student(LINE, name, n, public, crowds))
    return points


def noise(sizes: Sequence[int]) -> list[Point]:
    """Teach students where labels are noisy, and a learner without privacy from all rows.

    The number of teachers stays: the theorems let it grow with logarithms only.
    """
    points = []
    for tau, law in NOISES.items():
        world = ThresholdWorld(cut=0.3, noise=law)
        for n in sizes:
            crowds = rehearsals(world, n, [NOISY_TEACHERS])
            for name in ("ladder", "noisy-max"):
                points.append({"tau": tau, **best_student(world, name, n, PUBLIC, crowds)})
            risks = not_private(world, n, times=40 if n < 10**6 else 15)
            points.append({"tau": tau, "n": n, "mechanism": "not private", **summary(risks)})
    return points


EXPERIMENTS: dict[str, Callable[[], list[Point]]] = {
    "by rows, thresholds": lambda: by_rows(LINE, (10_000, *SIZES), ALL),
    "by rows, halfspaces": lambda: by_rows(SPACE, (20_000, 50_000, 100_000, 200_000), ALL[:3]),
    "by questions": lambda: by_questions(100_000, (30, 100, 300, 1000, 3000, 10_000, 30_000, 100_000, 300_000)),
    "table 1": lambda: table_1((10_000, *SIZES)),
    "noise": lambda: noise((10_000, *SIZES)),
}


# --- what is written ---------------------------------------------------------------------------------------


def tables(found: dict[str, Any]) -> str:
    """Lay the points out, with the slopes beside what the theory says."""
    lines = [
        "# The rates of the theory, measured",
        "",
        f"`python benchmarks/rates.py` ({found['seconds']} s of one core). Every run: epsilon {BUDGET.epsilon:g} "
        f"at delta {BUDGET.delta:g}; adjacency: {ADJACENCY}; unit: {UNIT}. Worlds are made up, coins are seeded: "
        "nothing here is private. What the figures mean is in [docs/rates.md](../../docs/rates.md).",
    ]
    for world in ("thresholds", "halfspaces"):
        points = found[f"by rows, {world}"]
        factor = 10 * (LINE if world == "thresholds" else SPACE).vc
        lines += ["", f"## Wrong or missing labels by private rows n, {world}, m = n/{factor} questions", ""]
        lines += by_size(points, "n")
        lines += ["", *gains(points)]
        lines += slopes(points, {"ladder": -1.0, "noisy-max": -0.5, PAPER: -0.5}, least=30_000)
    points = found["by questions"]
    lines += ["", "## The same by questions m, thresholds, n = 100,000", "", *by_size(points, "m"), ""]
    lines += gains(points)
    points = found["table 1"]
    lines += ["", "## Table 1 of Liu et al., realizable: error of the student at its best m, thresholds", ""]
    lines += by_size(points, "n")
    theory = {"ladder": exponent("table-1-sparse-realizable"), "noisy-max": exponent("table-1-gaussian-realizable")}
    lines += slopes(points, {**theory, PAPER: theory["noisy-max"]}, least=30_000)
    for tau in NOISES:
        points = [point for point in found["noise"] if point["tau"] == tau]
        lines += ["", f"## Excess risk of the student under Tsybakov noise, tau = {tau}, thresholds", ""]
        lines += by_size(points, "n")
        theory = {
            "ladder": exponent("table-1-sparse-noisy", tau=float(tau)),
            "noisy-max": exponent("table-1-gaussian-noisy", tau=float(tau)),
            "not private": -1 / (2 - float(tau)),
        }
        lines += slopes(points, theory, least=30_000)
    return "\n".join([*lines, "", *promised()]) + "\n"


def by_size(points: Sequence[Point], size: str) -> list[str]:
    """Make a table with a line per size; in brackets the standard error, the teachers K and the limit T."""
    names = list(dict.fromkeys(point["mechanism"] for point in points))
    lines = [f"| {size} | " + " | ".join(names) + " |", "|---|" + "---|" * len(names)]
    for value in dict.fromkeys(point[size] for point in points):
        here = {point["mechanism"]: point for point in points if point[size] == value}
        lines.append(f"| {value:,} | " + " | ".join(shown(here[name], size) for name in names) + " |")
    return lines


def shown(point: Point, size: str) -> str:
    if point["mean"] is None:
        return "–"
    if point["mean"] < NOTHING:
        return f"below {NOTHING:.0e}"
    parts = [f"± {point['standard_error']:.1g}"] if "standard_error" in point else []
    parts += [f"K {point['n_teachers']:,}"] if "n_teachers" in point else []
    parts += [f"T {point['max_abstentions']:,}"] if point.get("max_abstentions") else []
    parts += [f"m {point['m']:,}"] if size == "n" and "m" in point else []
    return f"{point['mean']:.3g}" + (f" ({', '.join(parts)})" if parts else "")


def slopes(points: Sequence[Point], theory: dict[str, float], *, least: int) -> list[str]:
    """Fit a power law to each mechanism from `least` rows on."""
    lines = ["", f"| slope from n = {least:,} on | measured | theory |", "|---|---|---|"]
    for name, expected in theory.items():
        part = [p for p in points if p["mechanism"] == name and p["n"] >= least and p["mean"]]
        fitted = f"{slope([p['n'] for p in part], [p['mean'] for p in part]):.2f}"
        # Nobody can tell such small errors from none, and what they do has no slope.
        measured = fitted if min(p["mean"] for p in part) >= NOTHING else "–"
        lines.append(f"| {name} | {measured} | {expected:.2f} |")
    return lines


def gains(points: Sequence[Point]) -> list[str]:
    """Say by how much stability wins over alpha, the rate of composition; the theory says by about 1/alpha."""
    against = [name for name in ("noisy-max", PAPER) if any(p["mechanism"] == name for p in points)]
    lines = ["| n | m | " + " | ".join(f"{name} / ladder | that times alpha" for name in against) + " |"]
    lines.append("|---|---|" + "---|---|" * len(against))
    for n, m in dict.fromkeys((p["n"], p["m"]) for p in points):
        rates = {p["mechanism"]: p["mean"] for p in points if (p["n"], p["m"]) == (n, m)}
        cells = [f"{rates[a] / rates['ladder']:.2g} | {rates[a] ** 2 / rates['ladder']:.2g}" for a in against]
        lines.append(f"| {n:,} | {m:,} | " + " | ".join(cells) + " |")
    return lines


def exponent(name: str, **more: float) -> float:
    """Return the power of n in a rate of mapl.bounds, public rows being plenty."""
    sizes = (10**6, 10**7)
    budget = {"vc": 1, "epsilon": BUDGET.epsilon, "delta": BUDGET.delta}
    found = [LZCW21[name](n=n, m=10**9, **budget, **more) for n in sizes]
    return slope(sizes, [bound.terms["rate_without_constants_and_logs"] for bound in found])


def promised() -> list[str]:
    """Say what the theorems themselves, with explicit constants, promise at the sizes measured."""
    asked: dict[str, Callable[[int], Bound]] = {
        "BTT18 Theorem 3.4, labels, m = 100,000": lambda n: BTT18["theorem-3.4"](n, 1, 1.0, 1e-6, 10**5, 0.05),
        "BTT18 composition, labels, m = 100,000": lambda n: BTT18["composition"](n, 1, 1.0, 1e-6, 10**5, 0.05),
        "LZCW21 Table 1, sparse, student": lambda n: LZCW21["table-1-sparse-realizable"](
            n=n, m=n, vc=1, epsilon=1.0, delta=1e-6
        ),
        "LZCW21 Table 1, Gaussian, student": lambda n: LZCW21["table-1-gaussian-realizable"](
            n=n, m=n, vc=1, epsilon=1.0, delta=1e-6
        ),
    }
    sizes = (10**6, 10**8, 10**10, 10**12)
    lines = ["## What the theorems promise with explicit constants, V = 1, failure probability 0.05", ""]
    lines += ["| bound | " + " | ".join(f"n = {n:.0e}" for n in sizes) + " |", "|---|" + "---|" * len(sizes)]
    for name, bound in asked.items():
        lines.append(f"| {name} | " + " | ".join(value(bound, n) for n in sizes) + " |")
    return lines


def value(bound: Callable[[int], Bound], n: int) -> str:
    try:
        found = float(bound(n))
    except MaplError:
        return "nothing"
    return f"{found:.2g}" if found < 1 else "nothing"


if __name__ == "__main__":
    main()
