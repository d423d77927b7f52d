"""What others reach: private linear models of opacus, diffprivlib and OpenDP, each in its own environment; and
three methods of papers, a linear model of sufficient statistics, nearest neighbours and PATE, in our own code.

    python benchmarks/baseline.py adult mushroom [--seeds 2] [--bins]

The tools need what mapl's own environment should not hold (torch; an older scikit-learn), so environments are made
below benchmarks/.envs (or MAPL_PEERS) at first use, and matrices go there as .npz files. Where one cannot be made,
its baseline is skipped with the reason.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from datasets import CLASSES, DataAbsent, Matrices, load, matrices

HERE = Path(__file__).parent
EPSILONS = (0.5, 1.0, 2.0)
SPARSE = ("sst2",)  # text: sparse rows for DP-SGD by a script of its own; all others take dense ones
SPARSE_SCRIPT = "dp_sgd_text.py"
PAPERS = {"adassp": "adassp.py", "private-knn": "private_knn.py", "pate": "pate.py"}
SCRIPTS = {"dp-sgd": "dp_sgd.py", "diffprivlib": "diffprivlib_lr.py", "opendp": "opendp_linear.py", **PAPERS}
REQUIREMENTS = {
    # This spelling of torch is a build for the CPU; pinned beside opacus, it stays.
    "dp-sgd": ("torch==2.13.0", "opacus==1.5.4", "numpy>=2,<3"),
    "diffprivlib": ("diffprivlib==0.6.6", "scikit-learn==1.6.*", "numpy>=2,<3"),
    "opendp": ("opendp==0.16.0", "numpy>=2,<3"),
}
LAUNCHER = """
import resource, subprocess, sys
code = subprocess.run(sys.argv[1:]).returncode
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print()
print(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)
sys.exit(code)
"""
"""A small process between: a child begins with its parent's peak of memory, and ours is large."""
ENVIRONMENTS = Path(os.environ.get("MAPL_PEERS", HERE / ".envs"))


@functools.cache
def environment(name: str) -> Path | None:
    """Return the interpreter of a baseline's environment, made if need be; None, with a printed reason, if not."""
    if name in PAPERS:  # they need nothing that the tests do not
        return Path(sys.executable)
    folder = ENVIRONMENTS / name
    python, wanted = folder / "bin" / "python", "\n".join(REQUIREMENTS[name])
    installed = folder / "installed.txt"
    if installed.exists() and installed.read_text() == wanted:
        return python
    for command in (
        [sys.executable, "-m", "venv", "--clear", str(folder)],
        [str(python), "-m", "pip", "install", "--quiet", *REQUIREMENTS[name]],
    ):
        made = subprocess.run(command, capture_output=True, text=True)
        if made.returncode:
            complaints = [line for line in (made.stderr or made.stdout).splitlines() if line.startswith("ERROR")]
            reason = complaints[0] if complaints else f"exit code {made.returncode}"
            print(f"skipped: {name}, because its environment cannot be made ({reason})", flush=True)
            return None
    installed.write_text(wanted)
    return python


def run(
    name: str,
    X_private: Any,
    y_private: Any,
    X_eval: Any,
    y_eval: Any,
    *,
    epsilon: float,
    seed: int,
    X_public: Any = None,
) -> float | None:
    """Train a baseline on private rows and return its accuracy on the evaluation rows, in [0, 1]."""
    told = measure(name, X_private, y_private, X_eval, y_eval, epsilon=epsilon, seed=seed, X_public=X_public)
    return None if told is None else told["accuracy"]


def measure(
    name: str,
    X_private: Any,
    y_private: Any,
    X_eval: Any,
    y_eval: Any,
    *,
    epsilon: float,
    seed: int,
    X_public: Any = None,
) -> dict[str, float] | None:
    """Train a baseline on private rows and return what its script tells.

    Parameters
    ----------
    X_private, X_eval
        Dense matrices, encoded by public facts; for DP-SGD also sparse ones.
    X_public
        Public rows, which diffprivlib needs to bound the norm of a row.

    Returns
    -------
    "accuracy" in [0, 1], of DP-SGD also the CPU "seconds" of training; "cpu_seconds" and "peak_mb" of the whole
    process, imports and reading included. None where there is no environment for it; the reason is printed.
    """
    if name == "diffprivlib" and X_public is None:
        raise ValueError("diffprivlib bounds the norm of a row by public rows; give X_public.")
    python = environment(name)
    if python is None:
        return None
    arrays = {"y_private": y_private, "y_eval": y_eval}
    for one, rows in (("X_private", X_private), ("X_eval", X_eval), ("X_public", X_public)):
        if sp.issparse(rows):
            arrays |= {f"{one}_{part}": getattr(rows, part) for part in ("data", "indices", "indptr", "shape")}
        elif rows is not None:
            arrays[one] = rows
    script = SPARSE_SCRIPT if sp.issparse(X_private) else SCRIPTS[name]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "split.npz"
        np.savez(path, **arrays)
        said, cost = run_measured([python, HERE / script, path, str(epsilon), str(seed)])
    told: dict[str, float] = json.loads(said.splitlines()[-1])
    return told | cost


def run_measured(command: Sequence[str | Path]) -> tuple[str, dict[str, float]]:
    """Run a process with one thread for numbers; return what it says, its CPU seconds and its peak of memory."""
    done = subprocess.run(
        [sys.executable, "-S", "-c", LAUNCHER, *map(str, command)],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        env={"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", **os.environ},
    )
    said, _, cost = done.stdout.rstrip("\n").rpartition("\n")
    seconds, peak = map(float, cost.split())
    return said, {"cpu_seconds": seconds, "peak_mb": peak}


def accuracies(baseline: str, encoded: list[Matrices], epsilon: float) -> list[float]:
    """Return the accuracies in percent over seeded splits, none where the baseline is skipped."""
    found = [run(baseline, **asdict(one), epsilon=epsilon, seed=seed) for seed, one in enumerate(encoded)]
    return [round(100 * accuracy, 2) for accuracy in found if accuracy is not None]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="+", choices=[name for name in CLASSES if name not in SPARSE])
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--bins", action="store_true", help="give numbers one more column per public bin")
    asked = parser.parse_args()
    for data in asked.data:
        try:
            encoded = [matrices(load(data, seed), bins=asked.bins) for seed in range(asked.seeds)]
        except DataAbsent as absent:
            print(absent)
            continue
        for baseline in SCRIPTS:
            start = time.perf_counter()
            found = {epsilon: accuracies(baseline, encoded, epsilon) for epsilon in EPSILONS}
            print(f"{data}, {baseline}: {found}, {time.perf_counter() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main()
