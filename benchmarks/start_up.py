"""What commands cost in seconds of computing, and how much of it imports are.

    python benchmarks/start_up.py                        # this tree
    python benchmarks/start_up.py --against 0e5342e      # and a revision of it, as ratios

Seconds are those of every process that a command starts, by all of their threads, as the system counts them; the
clock decides nothing. Both trees take turns, command by command, under the same interpreter and libraries, so that
a busy machine is busy for both; both compute with one thread, since threads that wait in circles count too, and
both are compiled beforehand, as installed packages are. Results: benchmarks/results/start_up.md.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from mapl.cli.learning.demo import N_PATIENTS, prepare
from mapl.data.synthetic import CLASSES, LABEL, UNIT

HERE = Path(__file__).parent
RESULTS = HERE / "results"
ADOPT_ORPHANS = 36
"""PR_SET_CHILD_SUBREAPER: workers that outlive the command that started them come to us, and are counted."""

ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

PROGRAM = """
import importlib._bootstrap as bootstrap, sys, time
load, depth, spent = bootstrap._load_unlocked, 0, 0.0
def measured(spec):
    global depth, spent
    begun, depth = time.process_time(), depth + 1
    try:
        return load(spec)
    finally:
        depth -= 1
        if not depth:
            spent += time.process_time() - begun
bootstrap._load_unlocked = measured
try:
    from mapl.__main__ import main
    main()
except SystemExit as end:
    if end.code:
        raise
finally:
    print(f"imports: {spent}", file=sys.stderr)
"""


def commands(tables: Path) -> dict[str, tuple[str, ...]]:
    """Return what is measured: words after ``mapl``."""
    learn = (
        *("learn", str(tables / "private.parquet"), "--public", str(tables / "public.parquet"), "--label", LABEL),
        *("--classes", ",".join(CLASSES), "--unit", UNIT, "--rows", str(N_PATIENTS)),
        *("--epsilon", "1", "--delta", "1e-6", "--seed", "1"),
    )
    return {
        "mapl --help": ("--help",),
        "learn --method teachers --jobs 1": (*learn, "--method", "teachers", "--jobs", "1"),
        "learn --method auto --jobs 1": (*learn, "--jobs", "1"),
    }


def seconds(tree: Path, words: tuple[str, ...]) -> tuple[float, float]:
    """Run a command of a tree, and return what it computed with all its children, and the imports among it."""
    with TemporaryDirectory() as folder:
        out = ("--out", f"{folder}/run") if words[0] == "learn" else ()
        begun = _computed()
        ended = subprocess.run(
            [sys.executable, "-c", PROGRAM, *words, *out],
            env={**os.environ, **ONE_THREAD, "PYTHONPATH": str(tree / "src")},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
        if ended.returncode:
            raise SystemExit(f"mapl {' '.join(words)} failed in {tree}: {ended.stderr}")
        _wait_for_orphans()
        return _computed() - begun, float(ended.stderr.rpartition("imports: ")[2])


def _computed() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _wait_for_orphans() -> None:
    while True:
        try:
            os.wait()
        except ChildProcessError:
            return


@contextmanager
def this_tree() -> Iterator[Path]:
    """Copy the sources as they are here into a folder of its own, compiled."""
    with TemporaryDirectory() as folder:
        tree = Path(folder)
        shutil.copytree(HERE.parent / "src", tree / "src")
        compile_all(tree)
        yield tree


def compile_all(tree: Path) -> None:
    """Write bytecode, as installing does, whether or not the surroundings allow a command to do so."""
    surroundings = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    subprocess.run([sys.executable, "-m", "compileall", "-q", tree / "src"], env=surroundings, check=True)


@contextmanager
def tree_of(revision: str) -> Iterator[Path]:
    """Check a revision out into a folder of its own, compiled."""
    with TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        subprocess.run(["git", "worktree", "add", "--detach", "--quiet", tree, revision], cwd=HERE, check=True)
        try:
            compile_all(tree)
            yield tree
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", tree], cwd=HERE, check=True)


def measure(trees: dict[str, Path], repeats: int, say: Callable[[str], None]) -> list[str]:
    """Return a line of the table for each command; trees take turns."""
    lines = []
    with TemporaryDirectory() as folder:
        tables = Path(folder) / "demo"
        prepare(tables)
        for name, words in commands(tables).items():
            runs = [[seconds(tree, words) for tree in trees.values()] for _ in range(repeats)]
            cells = [
                f"{median(run[place][0] for run in runs):.2f} ({median(run[place][1] for run in runs):.2f})"
                for place in range(len(trees))
            ]
            ratio = [f"{median(run[0][0] / run[-1][0] for run in runs):.2f}"] if len(trees) > 1 else []
            lines.append(f"| `{name}` | {' | '.join((*cells, *ratio))} |")
            say(lines[-1])
    return lines


def report(trees: dict[str, Path], lines: list[str], repeats: int) -> str:
    columns = [*trees, *(["ratio"] if len(trees) > 1 else [])]
    return "\n".join(
        (
            "# What commands cost",
            "",
            "Seconds of computing of all processes of a command on the tables of `mapl demo`, in brackets those of "
            f"imports in its first process; medians of {repeats}, on {os.cpu_count()} cores with one thread "
            "(`OMP_NUM_THREADS=1`, `OPENBLAS_NUM_THREADS=1`), both trees compiled. Trees take turns, and a ratio "
            "is the median of the ratios of neighbours. `python benchmarks/start_up.py --against REVISION` wrote "
            "this.",
            "",
            f"| | {' | '.join(columns)} |",
            f"|---|{'---:|' * len(columns)}",
            *lines,
            "",
        )
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", metavar="REV", help="a revision to compare with")
    parser.add_argument("--repeats", type=int, default=3)
    asked = parser.parse_args()
    ctypes.CDLL(None).prctl(ADOPT_ORPHANS, 1)
    if asked.against is None:
        with this_tree() as here:
            trees = {"this tree": here}
            print(report(trees, measure(trees, asked.repeats, print), asked.repeats))
        return
    with this_tree() as here, tree_of(asked.against) as other:
        trees = {"this tree": here, asked.against: other}
        text = report(trees, measure(trees, asked.repeats, lambda line: print(line, flush=True)), asked.repeats)
    (RESULTS / "start_up.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
