"""Worker processes: fresh, single-threaded, silent, and used again by the next poll of this process."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from mapl.errors import InvalidParameter, MaplError
from mapl.teachers.worker import ready, settle

IDLE_SECONDS = 60

SINGLE_THREADED = dict.fromkeys(
    (
        "OMP_NUM_THREADS",
        "OMP_THREAD_LIMIT",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "BLIS_NUM_THREADS",
        "VECLIB_MAXIMUM_THREADS",
        "NUMEXPR_NUM_THREADS",
        "NUMBA_NUM_THREADS",
        "POLARS_MAX_THREADS",
        "RAYON_NUM_THREADS",
    ),
    "1",
)
# Sets of text are walked in the order of their hashes, which must not differ from worker to worker.
SURROUNDINGS = {**SINGLE_THREADED, "PYTHONHASHSEED": "0", "PYTHONWARNINGS": "ignore"}

_idle: dict[tuple[int, int], Any] = {}


def n_workers(n_jobs: int) -> int:
    """Return how many workers are meant; -1 stands for one per processor."""
    import joblib

    if n_jobs == -1:
        return int(joblib.cpu_count())
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, int) or n_jobs < 1:
        raise InvalidParameter(f"n_jobs is {n_jobs}; give a number of processes, or -1 for one per processor.")
    return n_jobs


@contextmanager
def workers(n: int, *, fresh: bool = False) -> Iterator[Any]:
    """Lend an executor with n worker processes; after any error they are ended, with whatever they run.

    Parameters
    ----------
    fresh
        Whether to insist on processes that never ran a learner.
    """
    if not hasattr(os, "fork"):
        raise InvalidParameter("Teachers need a system with fork, such as Linux or macOS; on Windows use WSL.")
    place = (os.getpid(), n)
    executor = _checked(None if fresh else _idle.pop(place, None), n)
    try:
        yield executor
    except BaseException:
        executor.shutdown(kill_workers=True)
        raise
    if fresh or place in _idle:
        executor.shutdown(kill_workers=True)
    else:
        _idle[place] = executor


def _checked(executor: Any, n: int) -> Any:
    """Return an executor whose workers answer; one that was broken while idle is replaced."""
    for candidate in (executor, None):
        started = candidate or _started(n)
        try:
            started.submit(ready).result()
        except (BrokenExecutor, OSError):
            started.shutdown(kill_workers=True)
            continue
        return started
    raise MaplError(
        "Worker processes cannot be started, so no teacher was trained; check memory, the number of processes you "
        "may start, and that mapl can be imported outside of this program."
    )


def _started(n: int) -> Any:
    try:
        loky = import_module("joblib.externals.loky")
    except ModuleNotFoundError:  # joblib brings loky along, within itself or beside it
        loky = import_module("loky")
    return loky.ProcessPoolExecutor(n, timeout=IDLE_SECONDS, initializer=settle, env=SURROUNDINGS)
