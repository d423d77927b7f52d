"""Made-up tables in folders of Parquet files: `mapl learn` by cells and by moments, beside pyarrow's own scan.

Part of `benchmarks/scale.py` (`--parts tables --rows N`), which measures N rows and 10 N. Every command is a
process of its own: seconds of computing and peak of resident memory are as the system counts them.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

COLUMNS, PUBLIC, ROWS_A_FILE = 20, 300, 500_000
MEMORY = "1GB"

MEASURED = """
import json, resource, subprocess, sys
done = subprocess.run(sys.argv[1:], capture_output=True, text=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
seconds, peak = used.ru_utime + used.ru_stime, used.ru_maxrss * 1024
print(json.dumps({"code": done.returncode, "seconds": seconds, "peak": peak, "err": done.stderr}))
"""
"""Runs a command and tells what it took; in a process of its own, since peaks are never reset."""

SCAN = """
import sys
import pyarrow.dataset as ds
from pyarrow import acero
table = ds.dataset(sys.argv[1])
numbers = [name for name in table.schema.names if name != "label"]
sums = [(name, "hash_sum", None, name) for name in numbers]
acero.Declaration.from_sequence([
    acero.Declaration("scan", acero.ScanNodeOptions(table)),
    acero.Declaration("aggregate", acero.AggregateNodeOptions(sums, keys=["label"])),
]).to_table()
"""
"""What pyarrow does with the same files: read every column, and add it up by label."""


def measure_tables(rows: int, methods: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Measure a table and one ten times as large; yield names and lines of the page."""
    with tempfile.TemporaryDirectory(prefix="mapl-tables-") as name:
        folder = Path(name)
        pq.write_table(_made_up(PUBLIC, 0).drop_columns("label"), folder / "public.parquet")
        sizes = rows, 10 * rows
        tables = [_write(folder / str(n), n) for n in sizes]
        scans = [_measured(sys.executable, "-c", SCAN, str(table)) for table in tables]
        for method in methods:
            runs = [_measured(*_learn(table, folder, method, n)) for table, n in zip(tables, sizes, strict=True)]
            yield f"{method}, {rows}", _line(method, rows, runs, scans)


def _made_up(n: int, seed: int) -> pa.Table:
    draws = np.random.default_rng(seed)
    numbers = draws.standard_normal(size=(n, COLUMNS), dtype=np.float32)
    labels = np.where(numbers[:, :5].sum(axis=1) + draws.standard_normal(n) > 0, "yes", "no")
    columns = {f"c{i}": np.ascontiguousarray(numbers[:, i]) for i in range(COLUMNS)}
    return pa.table({**columns, "label": pa.array(labels)})


def _write(folder: Path, n: int) -> Path:
    folder.mkdir()
    for number, start in enumerate(range(0, n, ROWS_A_FILE)):
        pq.write_table(_made_up(min(ROWS_A_FILE, n - start), number + 1), folder / f"{number:05}.parquet")
    return folder


def _learn(table: Path, folder: Path, method: str, n: int) -> tuple[str, ...]:
    return (
        *(sys.executable, "-m", "mapl", "learn", str(table), "--public", str(folder / "public.parquet")),
        *("--label", "label", "--classes", "no,yes", "--unit", "none", "--epsilon", "1", "--delta", "1e-8"),
        *("--method", method, "--rows", str(n), "--memory", MEMORY, "--out", str(folder / f"{method}-{n}")),
    )


def _measured(*command: str) -> dict[str, Any]:
    done = subprocess.run([sys.executable, "-c", MEASURED, *command], stdout=subprocess.PIPE, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    if found["code"]:
        sys.exit(found["err"])
    return found


def _line(method: str, rows: int, runs: list[dict[str, Any]], scans: list[dict[str, Any]]) -> str:
    few, many = (run["seconds"] for run in runs)
    own, theirs = ((large["seconds"] - small["seconds"]) / (9 * rows) * 1e6 for small, large in (runs, scans))
    peaks, scanned = [run["peak"] / 1e6 for run in runs], scans[1]["seconds"]
    return (
        f"| {method}, {rows:,} and {10 * rows:,} rows | {few:.1f} s | {many:.1f} s | {many / few:.1f} (asked 11) | "
        f"{peaks[0]:.0f} and {peaks[1]:.0f} MB (asked 2000) | {scanned:.1f} s | {own:.2f} | {theirs:.2f} |"
    )
