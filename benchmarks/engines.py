"""What a cluster costs over this machine's own processes: seconds by the clock of one poll, in one run.

    python benchmarks/engines.py             # 200 teachers of about 0.1 s, two workers, medians of five
    python benchmarks/engines.py --teachers 8 --repeats 1 --engines dask

Every engine polls once before it is measured, so that its workers are there. Clocks of a busy machine say little:
run it on an idle one. Results: benchmarks/results/engines.md.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from mapl.data.tables.classes import Classes
from mapl.data.tables.private_rows import PrivateRows
from mapl.data.units.shards import Sharded, ShardKey, Shards
from mapl.engines.opening import close_clusters
from mapl.teachers import as_learner, poll

RESULTS = Path(__file__).parent / "results"
ROWS, QUESTIONS, WORKERS = 100, 1000, 2


def slow_learner(seconds: float) -> Any:
    """Return a learner that computes for about so many seconds."""

    def train(X: Any, y: Any) -> Any:
        until = time.process_time() + seconds
        while time.process_time() < until:
            X.T @ X
        majority = max(set(y.tolist()), key=y.tolist().count)
        return lambda rows: [majority] * len(rows)

    return as_learner(train, Classes(("no", "yes")))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--teachers", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=0.1)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--engines", nargs="+", default=["dask", "ray"])
    told = parser.parse_args()
    world = np.random.default_rng(0)
    ids = [str(i).encode() for i in range(ROWS * told.teachers)]
    rows, labels = world.normal(size=(len(ids), 20)), world.integers(2, size=len(ids)).astype(np.int32)
    sharded = Sharded(PrivateRows(rows), labels, ids, Shards(ShardKey(bytes(32)), told.teachers))
    questions, learner = world.normal(size=(QUESTIONS, 20)), slow_learner(told.seconds)
    votes: dict[str, Any] = {}
    seconds: dict[str, list[float]] = {engine: [] for engine in ("local", *told.engines)}
    for attempt in range(told.repeats + 1):
        for engine in seconds:
            began = time.perf_counter()
            polled = poll(learner, sharded, questions, n_classes=2, n_jobs=WORKERS, engine=engine)
            if attempt:
                seconds[engine].append(time.perf_counter() - began)
            votes[engine] = polled.tallies().counts
    close_clusters()
    lines = [
        "# Engines\n",
        f"`python benchmarks/engines.py`: {told.teachers} teachers of {told.seconds:g} s each, {WORKERS} workers, "
        f"medians of {told.repeats}, seconds by the clock.\n",
        "| engine | seconds | over local | same votes |",
        "|---|---|---|---|",
    ]
    at_home = median(seconds["local"])
    for engine, found in seconds.items():
        same = "yes" if (votes[engine] == votes["local"]).all() else "NO"
        lines.append(f"| {engine} | {median(found):.2f} | {median(found) / at_home - 1:+.1%} | {same} |")
    text = "\n".join(lines) + "\n"
    print(text)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "engines.md").write_text(text)


if __name__ == "__main__":
    main()
