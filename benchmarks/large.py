"""A large table through the command line: time and memory of `mapl learn` on all of covertype with 1000 teachers.

    python benchmarks/large.py

The private table has all 581,012 rows of 54 columns; 5,000 public rows are asked, 10,000 rows measure the student.
Memory is the peak of the largest process, less that of the same command on a hundredth of the rows, so that imports
and workers do not count. Results: benchmarks/results/large.md. Skipped where ../shared/data is absent.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from datasets import DATA, LABEL

RESULTS = Path(__file__).parent / "results"
TEACHERS = 1000
N_PUBLIC, N_TEST = 5_000, 10_000

MEASURED = """
import json, resource, subprocess, sys
done = subprocess.run(sys.argv[1:], capture_output=True, text=True)
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
print(json.dumps({"code": done.returncode, "peak": peak, "out": done.stdout, "err": done.stderr}))
"""
"""Runs a command and tells the peak memory of its largest process; by itself, since peaks are never reset."""


def run(folder: Path, private: pa.Table) -> dict[str, Any]:
    """Learn from one table and return accuracy, seconds and peak memory."""
    table, out = folder / f"private-{len(private)}.parquet", folder / f"run-{len(private)}"
    pq.write_table(private, table)
    command = [
        str(Path(sys.executable).with_name("mapl")),
        *("learn", str(table), "--public", str(folder / "public.parquet"), "--test", str(folder / "test.parquet")),
        *("--label", LABEL, "--classes", ",".join(map(str, range(7))), "--teachers", str(TEACHERS)),
        *("--epsilon", "1", "--delta", "1e-6", "--out", str(out), "--json"),
    ]
    start = time.perf_counter()
    told = json.loads(subprocess.run([sys.executable, "-c", MEASURED, *command], stdout=subprocess.PIPE).stdout)
    seconds = time.perf_counter() - start
    if told["code"]:
        sys.exit(told["err"])
    return {"seconds": seconds, "peak": told["peak"], "accuracy": 100 * json.loads(told["out"])["accuracy"]}


def main() -> None:
    path = DATA / "covertype_full.parquet"
    if not path.exists():
        print("skipped: ../shared/data/covertype_full.parquet is not here")
        return
    table = pq.read_table(path).drop_columns("split")
    order = np.random.default_rng(0).permutation(len(table))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pq.write_table(table.take(order[:N_PUBLIC]).drop_columns(LABEL), folder / "public.parquet")
        pq.write_table(table.take(order[N_PUBLIC : N_PUBLIC + N_TEST]), folder / "test.parquet")
        small = run(folder, table.take(order[: len(table) // 100]))
        large = run(folder, table)
    above, size = large["peak"] - small["peak"], table.nbytes
    as_numbers = len(table) * (table.num_columns - 1) * 8
    text = (
        "# A large table through the command line\n\n`python benchmarks/large.py`, one run on two cores.\n\n"
        "| what | measured |\n|---|---|\n"
        f"| rows x columns, teachers, asked | {len(table)} x {table.num_columns - 1}, {TEACHERS}, {N_PUBLIC} |\n"
        f"| seconds | {large['seconds']:.0f}, {large['seconds'] / small['seconds']:.1f} times a hundredth of it |\n"
        f"| the table in memory (Arrow) | {size / 1e6:.0f} MB; as 64-bit numbers {as_numbers / 1e6:.0f} MB |\n"
        f"| peak memory above the small run | {above / 1e6:.0f} MB, {above / size:.1f} times the Arrow table, "
        f"{above / as_numbers:.2f} times its numbers |\n"
        f"| student's accuracy | {large['accuracy']:.1f}% at epsilon 1, delta 1e-6, one record added or removed |\n"
        "\nTables of up to 50 million rows, by cells and by moments: `python benchmarks/scale.py --parts tables`, "
        "[scale.md](scale.md).\n"
    )
    print(text)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "large.md").write_text(text)


if __name__ == "__main__":
    main()
