"""What a fit costs: CPU-seconds and memory of mapl and its peers, in turns, each as a process of its own.

    python benchmarks/peer_costs.py [--data adult covertype] [--epsilon 1] [--turns 2]

A process counts whole, from its first import to its last word, as the system counts it: seconds by all threads of
it and its children, memory by the largest of them; all compute with one thread. mapl is `mapl learn --method
moments`, what `auto` takes for these tables: it reads Parquet files, encodes them, rehearses everything, spends
from a ledger on the disk and writes a run with its report. Its peers read matrices that are encoded already, which
favours them. Of several turns the quickest is taken. PATE and private nearest neighbours answer questions before
they learn, and PATE tries all its settings, as in learn.py. Results:
benchmarks/results/peer_costs.json and peer_costs.md.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

import baseline
import pyarrow.parquet as pq
from datasets import LABEL, load, matrices
from learn import DELTA, LEARNERS

RESULTS = Path(__file__).parent / "results"
OWN = {"mapl, moments": "moments"}


def measure(data: str, epsilon: float, turns: int) -> dict[str, dict[str, float]]:
    """Return the costs of every method on one table, the quickest of its turns."""
    split = load(data, 0)
    encoded = asdict(matrices(split, bins=data in LEARNERS))
    found: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for part in ("private", "public"):
            pq.write_table(getattr(split, part), Path(folder) / f"{part}.parquet")
        for turn in range(turns):
            for method in (*OWN, *baseline.SCRIPTS):
                if method in OWN:
                    told = learned(Path(folder), OWN[method], split.classes, epsilon, turn)
                else:
                    told = baseline.measure(method, **encoded, epsilon=epsilon, seed=turn)
                if told is None:
                    continue
                cost = {name: told[name] for name in ("cpu_seconds", "peak_mb")}
                found[method] = min(found.get(method, cost), cost, key=lambda one: one["cpu_seconds"])
                print(f"{data}, {method}, turn {turn}: {cost}", flush=True)
    return found


def learned(folder: Path, method: str, classes: tuple[str, ...], epsilon: float, turn: int) -> dict[str, float]:
    """Run `mapl learn` on files as a user would."""
    command = [
        *(sys.executable, "-m", "mapl", "learn", str(folder / "private.parquet")),
        *("--public", str(folder / "public.parquet"), "--label", LABEL, "--classes", ",".join(classes)),
        *("--unit", "none", "--epsilon", str(epsilon), "--delta", str(DELTA), "--method", method),
        *("--jobs", "1", "--out", str(folder / f"{method}-{turn}"), "--json"),
    ]
    return baseline.run_measured(command)[1]


def written(found: dict[str, dict[str, dict[str, float]]], epsilon: float) -> str:
    """Lay the costs out as one table."""
    methods = (*OWN, *baseline.SCRIPTS)
    lines = [
        "# What a fit costs",
        "",
        f"`python benchmarks/peer_costs.py`, epsilon {epsilon:g}, delta {DELTA:g} (cells and diffprivlib: 0), one "
        "record added or removed (diffprivlib: replaced). " + (__doc__ or "").split("\n\n", 2)[2].strip(),
        "",
        "| CPU-seconds, peak memory | " + " | ".join(methods) + " |",
        "|---" * (len(methods) + 1) + "|",
    ]
    for data, costs in found.items():
        lines.append(f"| {data} | " + " | ".join(cell(costs.get(method)) for method in methods) + " |")
    return "\n".join(lines) + "\n"


def cell(cost: dict[str, float] | None) -> str:
    """Write one cost."""
    return "not measured" if cost is None else f"{cost['cpu_seconds']:.1f} s, {cost['peak_mb']:.0f} MB"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=["adult", "diamonds"])
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--turns", type=int, default=2)
    asked = parser.parse_args()
    found: dict[str, Any] = {}
    for data in asked.data:
        found[data] = measure(data, asked.epsilon, asked.turns)
        stored = {"epsilon": asked.epsilon, "turns": asked.turns, "costs": found}
        (RESULTS / "peer_costs.json").write_text(json.dumps(stored, indent=1) + "\n", "utf-8")
        (RESULTS / "peer_costs.md").write_text(written(found, asked.epsilon), "utf-8")


if __name__ == "__main__":
    main()
