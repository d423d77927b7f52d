"""Worker processes: fresh, single-threaded, silent, and used again by the next poll of this process."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Future
from contextlib import contextmanager
from importlib import import_module
from threading import current_thread, main_thread
from typing import Any

import numpy as np

from mapl.errors import InvalidParameter, MaplError
from mapl.teachers.worker import ready, settle

IDLE_SECONDS = 60
PATIENCE = 5.0

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

_idle: dict[tuple[int, int, bool], Workers] = {}


class Workers:
    """Some worker processes that take one task each at a time."""

    def __init__(self, n: int) -> None:
        try:
            loky = import_module("joblib.externals.loky")
        except ModuleNotFoundError:  # joblib brings loky along, within itself or beside it
            loky = import_module("loky")
        self._executor = loky.ProcessPoolExecutor(
            n,
            timeout=IDLE_SECONDS,
            initializer=settle,
            initargs=(os.getpid(), _in_main_thread()),
            env=SURROUNDINGS,
        )
        self._pending: set[Future[Any]] = set()

    def submit(self, task: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Run a task in the next worker that is free."""
        future: Future[Any] = self._executor.submit(task, *arguments)
        self._pending.add(future)
        future.add_done_callback(self._pending.discard)
        return future

    def answer(self) -> bool:
        """Say whether the workers are alive."""
        try:
            return bool(self.submit(ready).result())
        except (BrokenExecutor, OSError):
            return False

    def dismiss(self) -> None:
        """End workers that have nothing left to do."""
        self._executor.shutdown()

    def end(self) -> None:
        """End the workers with whatever they run."""
        # loky loses its workers if it is told so while a task is still on its way to them.
        deadline = time.monotonic() + PATIENCE
        while any(not future.running() and not future.done() for future in list(self._pending)):
            if time.monotonic() > deadline:
                break
            time.sleep(0.005)
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore"
            )  # without pgrep, loky ends workers only; their children see to themselves
            self._executor.shutdown(kill_workers=True)


def n_workers(n_jobs: int) -> int:
    """Return how many workers are meant; -1 stands for one per processor."""
    import joblib

    if n_jobs == -1:
        return int(joblib.cpu_count())
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, (int, np.integer)) or n_jobs < 1:
        raise InvalidParameter(f"n_jobs is {n_jobs}; give a number of processes, or -1 for one per processor.")
    return int(n_jobs)


@contextmanager
def workers(n: int, *, fresh: bool = False) -> Iterator[Workers]:
    """Lend n worker processes; after any error they are ended, with whatever they run.

    Parameters
    ----------
    fresh
        Whether to insist on processes that never ran a learner.
    """
    if not hasattr(os, "fork"):
        raise InvalidParameter("Teachers need a system with fork, such as Linux or macOS; on Windows use WSL.")
    place = (os.getpid(), n, _in_main_thread())  # they may be ended with the thread that started them
    lent = _alive(None if fresh else _idle.pop(place, None), n)
    try:
        yield lent
    except BaseException:
        lent.end()
        raise
    if fresh or place in _idle:
        lent.dismiss()
    else:
        _idle[place] = lent


def _in_main_thread() -> bool:
    return current_thread() is main_thread()


def _alive(idle: Workers | None, n: int) -> Workers:
    """Return workers that answer; those that died while idle are replaced."""
    for candidate in (idle, None):
        found = candidate or Workers(n)
        if found.answer():
            return found
        found.end()
    raise MaplError(
        "Worker processes cannot be started, so no teacher was trained; check memory, the number of processes you "
        "may start, and that mapl can be imported outside of this program."
    )
