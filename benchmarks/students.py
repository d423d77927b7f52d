"""Students that do more than learn from all public rows: active questions.

    python benchmarks/students.py [--data mushroom] [--seeds 5] [--quick]

One run, all parts; each part is a module with DATA, measure(data, seed, epsilons) and written(rows). A seed changes
split, shards and coins, which are seeded for the benchmark only. Data are looked for in ../shared/data and skipped
where absent. Results: benchmarks/results/students.json and students.md; pictures: students_picture.py.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import students_active
from datasets import DataAbsent

RESULTS = Path(__file__).parent / "results"
EPSILONS = (0.5, 1.0, 2.0)
PARTS: dict[str, Any] = {"active": students_active}


def store(rows: list[dict[str, Any]]) -> None:
    """Write what has been measured so far; other parts and data keep their figures."""
    RESULTS.mkdir(exist_ok=True)
    stored = RESULTS / "students.json"
    measured = {(row["part"], row["data"]) for row in rows}
    before = json.loads(stored.read_text())["rows"] if stored.exists() else []
    every = [row for row in before if (row["part"], row["data"]) not in measured] + rows
    stored.write_text(json.dumps({"rows": every}, indent=0) + "\n")
    (RESULTS / "students.md").write_text(written(every))


def written(rows: list[dict[str, Any]]) -> str:
    """Lay all parts out as Markdown."""
    texts = ["# Students\n\n`python benchmarks/students.py`\n"]
    for name, part in PARTS.items():
        mine = [row for row in rows if row["part"] == name]
        if mine:
            texts.append(part.written(mine))
    return "\n".join(texts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", nargs="+", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--data", nargs="+", help="default: all of each part")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--epsilons", nargs="+", type=float, default=list(EPSILONS))
    parser.add_argument("--quick", action="store_true", help="one seed, epsilon 1, nothing stored")
    asked = parser.parse_args()
    seeds, epsilons = (1, (1.0,)) if asked.quick else (asked.seeds, tuple(asked.epsilons))
    rows: list[dict[str, Any]] = []
    for name in asked.part:
        part = PARTS[name]
        for seed in range(seeds):  # outside, so that a run that ends early has fewer seeds and all data
            for data in asked.data or part.DATA:
                start = time.process_time()
                try:
                    for row in part.measure(data, seed, epsilons):
                        rows.append({"part": name, "data": data, "seed": seed, **row})
                except DataAbsent as absent:
                    print(absent)
                    continue
                print(f"{name} {data} seed {seed}: {time.process_time() - start:.0f} s", flush=True)
                if not asked.quick:
                    store(rows)
    print(written(rows))


if __name__ == "__main__":
    main()
