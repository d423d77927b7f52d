"""How long moments take beside DP-SGD and beside learning without privacy, and how much memory.

    python benchmarks/moments_speed.py [--data adult covertype] [--times 3] [--memory | --before FOLDER]

CPU seconds of one process with one thread for BLAS, in one sitting, so that a busy machine does not matter much;
the median of some repetitions. moments: the product's engine from a table in memory to the student, encoding, exact
sums and noise included. DP-SGD: opacus, 20 epochs (benchmarks/dp_sgd.py), on rows that are encoded already,
which is not counted. Without privacy: scikit-learn's LogisticRegression as it comes, with and without encoding.
Start-up and imports count nowhere. epsilon 0.5, delta 1e-5, add or remove one record; coins are seeded, for
measuring only.

--memory: the peak of what Python and numpy allocate while learning, beyond what was there before (tracemalloc), as
shipped and with no vectors kept between rounds, beside one encoded block; for all private rows and for a quarter.

--before FOLDER: moments of another checkout of mapl and of this one, in turns and processes of their own, each
after a run that does not count; and whether both release the same, bit by bit, by what their students weigh.
Results: benchmarks/results/moments_speed.json and moments_speed.md.
"""

from __future__ import annotations

import argparse
import gc
import hashlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import tracemalloc
import warnings
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import baseline
from datasets import LABEL, matrices
from learn import World

from mapl.data.moments import contributions
from mapl.data.tables.table import private_table
from mapl.pipeline.sums.moments_plan import plan_moments

RESULTS = Path(__file__).parent / "results"
EPSILON, SEED = 0.5, 0
MOMENTS, DP_SGD = "moments", "DP-SGD, 20 epochs"
PLAIN, PLAIN_FIT = "logistic regression without privacy", "the same, rows encoded before"


def cpu_seconds(work: Callable[[], Any]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def measure_time(world: World, times: int) -> dict[str, list[float]]:
    """Return the CPU seconds of everybody, turn by turn."""
    from sklearn.linear_model import LogisticRegression

    found: dict[str, list[float]] = {}
    for turn in range(times):
        found.setdefault(MOMENTS, []).append(cpu_seconds(partial(world.learned, EPSILON, "moments", turn)))
        encoding = cpu_seconds(lambda: world.encoder.transform(world.table.rows.open()))
        encoded = matrices(world.split)
        fitting = cpu_seconds(partial(LogisticRegression().fit, encoded.X_private, encoded.y_private))
        found.setdefault(PLAIN, []).append(encoding + fitting)
        found.setdefault(PLAIN_FIT, []).append(fitting)
        told = baseline.measure("dp-sgd", **asdict(encoded), epsilon=EPSILON, seed=turn)
        if told is not None:
            found.setdefault(DP_SGD, []).append(told["seconds"])
        print(world.split.name, {who: round(seconds[-1], 2) for who, seconds in found.items()}, flush=True)
    return found


def compare(data: str, times: int, before: Path) -> dict[str, Any]:
    """Return the CPU seconds of moments in another checkout and in this one, and whether bits are the same."""
    trees = {"before": before, "now": Path(__file__).parent.parent}
    found: dict[str, list[float]] = {name: [] for name in trees}
    same = True
    for turn in range(times):
        told = {}
        for name, tree in trees.items():
            own = {**os.environ, "PYTHONPATH": str(tree / "src"), "OPENBLAS_NUM_THREADS": "1"}
            command = [sys.executable, __file__, "--data", data, "--alone", str(turn)]
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=own)
            told[name] = json.loads(done.stdout.splitlines()[-1])
            found[name].append(told[name]["seconds"])
        same &= told["before"]["weights"] == told["now"]["weights"]
        print(data, {name: round(one["seconds"], 2) for name, one in told.items()}, same, flush=True)
    return {**found, "same bits": same}


def learn_alone(world: World, turn: int) -> dict[str, Any]:
    """Learn twice, and tell what the second time took and what came out."""
    world.learned(EPSILON, "moments", turn)
    students: list[Any] = []
    seconds = cpu_seconds(lambda: students.append(world.learned(EPSILON, "moments", turn)))
    model = students[0].model.steps[-1][1]
    return {
        "seconds": seconds,
        "weights": hashlib.sha256(model.turn.tobytes() + model.weights.tobytes()).hexdigest(),
    }


def peak_bytes(world: World) -> int:
    """Return the largest number of bytes that are allocated at once while learning."""
    gc.collect()
    tracemalloc.start()
    world.learned(EPSILON, "moments", 0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def measure_memory(world: World) -> dict[str, int]:
    """Return the size of an encoded block and peaks of learning, in bytes."""
    planned = plan_moments(world.request(EPSILON), world.split.public, world.schema, why="benchmark")
    layout, n = planned.maker.layout, len(world.table.labels)
    width = layout.n_others + sum(layout.bins)
    step = min(contributions.ROWS_AT_ONCE, contributions.CELLS_AT_ONCE // world.split.public.num_columns)
    features = planned.maker.draw(None).vectors.features.width
    kept = 4 * n * features
    found = {
        "rows": n,
        "block": 8 * step * width,
        "table": 8 * n * width,
        "kept": kept if kept <= contributions.MOST_KEPT else 0,
        "peak": peak_bytes(world),
    }
    shipped, contributions.MOST_KEPT = contributions.MOST_KEPT, 0
    try:
        found["nothing kept"] = peak_bytes(world)
        found["a quarter, nothing kept"] = peak_bytes(_quarter(world))
    finally:
        contributions.MOST_KEPT = shipped
    return found


def _quarter(world: World) -> World:
    """Return the same world with a quarter of its private rows."""
    some = world.split.private.slice(0, len(world.split.private) // 4)
    table = private_table(some, label=LABEL, classes=world.classes, schema=world.schema)
    return World(
        world.split, world.seed, table, world.classes, world.schema, world.encoder, world.scratch, world.counts
    )


def written(results: dict[str, Any]) -> str:
    """Lay everything out as Markdown."""
    lines = [
        "# How fast moments are",
        "",
        "`python benchmarks/moments_speed.py`, which says what is counted. CPU seconds of one process and one "
        "thread on a machine that others used at the same time, median of so many turns as are said; ratios are of "
        "medians of the same sitting. epsilon 0.5, delta 1e-5, add or remove one record. Asked: at most a fifth "
        "of DP-SGD and at most twice logistic regression without privacy.",
        "",
        "| data | private rows | turns | who | CPU seconds | moments take |",
        "|---|---|---|---|---|---|",
    ]
    for data, found in results.items():
        times = found.get("seconds", {})
        for who, seconds in times.items():
            ratio = statistics.median(times[MOMENTS]) / statistics.median(seconds)
            lines.append(
                f"| {data} | {found['rows']:,} | {len(seconds)} | {who} | {statistics.median(seconds):.2f} | "
                f"{'' if who == MOMENTS else f'{ratio:.2f} times that'} |"
            )
    lines += _before(results)
    lines += [
        "",
        "## Memory",
        "",
        "MiB at the peak of learning, beyond what was there before. A block: so many private rows as are encoded "
        "at once, in 8-byte numbers. Kept: vectors of private rows between rounds, where all of them take less "
        "than 512 MiB. The last column, too, is with nothing kept: what hardly differs from the one before does "
        "not come from private rows. Asked: below twice the block.",
        "",
        "| data | encoded block | encoded table | kept | peak | peak, nothing kept | a quarter of the rows |",
        "|---|---|---|---|---|---|---|",
    ]
    columns = ("block", "table", "kept", "peak", "nothing kept", "a quarter, nothing kept")
    for data, found in results.items():
        if "memory" in found:
            told = " | ".join(f"{found['memory'][name] / 2**20:.1f}" for name in columns)
            lines.append(f"| {data} | {told} |")
    return "\n".join(lines) + "\n"


def _before(results: dict[str, Any]) -> list[str]:
    compared = {data: found["before"] for data, found in results.items() if "before" in found}
    if not compared:
        return []
    lines = [
        "",
        "## Beside the code before",
        "",
        "`--before`: two checkouts in turns, a busy machine, medians of CPU seconds; not of the sitting above.",
        "",
        "| data | turns | before | now | times faster | the same bits |",
        "|---|---|---|---|---|---|",
    ]
    for data, found in compared.items():
        before, now = (statistics.median(found[name]) for name in ("before", "now"))
        same = "yes" if found["same bits"] else "no"
        lines.append(f"| {data} | {len(found['now'])} | {before:.2f} | {now:.2f} | {before / now:.2f} | {same} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", choices=["adult", "covertype"], default=["adult", "covertype"])
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--memory", action="store_true", help="measure memory, and no time")
    parser.add_argument("--before", type=Path, help="another checkout of mapl, to be compared with")
    parser.add_argument("--alone", type=int, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    stored = RESULTS / "moments_speed.json"
    for data in asked.data:
        with tempfile.TemporaryDirectory() as folder:
            world = World.of(data, SEED, Path(folder))
            if asked.alone is not None:
                print(json.dumps(learn_alone(world, asked.alone)))
                continue
            if asked.before is not None:
                new: dict[str, Any] = {"before": compare(data, asked.times, asked.before)}
            elif asked.memory:
                new = {"memory": measure_memory(world)}
            else:
                new = {"seconds": measure_time(world, asked.times)}
            results = json.loads(stored.read_text()) if stored.exists() else {}
            results[data] = {**results.get(data, {}), "rows": len(world.table.labels), **new}
            stored.write_text(json.dumps(results, indent=1) + "\n")
            (RESULTS / "moments_speed.md").write_text(written(results))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
