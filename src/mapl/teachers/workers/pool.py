"""Worker processes: fresh, single-threaded, silent, and used again by the next poll of this process."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from contextlib import contextmanager
from importlib import import_module
from threading import current_thread, main_thread
from typing import Any, NamedTuple, Protocol

import numpy as np

from mapl.errors import InvalidParameter, MaplError
from mapl.parameters import spell
from mapl.teachers.workers.stillness import StillnessWatch
from mapl.teachers.workers.worker import Parcel, Reply, TeacherTask, ready, settle, work

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
# Nor may a worker that starts take a file of the current folder for a module of Python's own.
SAFE_PATH = "PYTHONSAFEPATH"
SURROUNDINGS = {**SINGLE_THREADED, "PYTHONHASHSEED": "0", "PYTHONWARNINGS": "ignore", SAFE_PATH: "1"}

_idle: dict[tuple[int, int, bool, int], Workers] = {}


class Pace(NamedTuple):
    """Tasks that take fewer or more seconds than these get more or fewer teachers."""

    short: float
    long: float


class Crew(Protocol):
    """Who trains teachers: processes of this machine, or workers of a cluster."""

    @property
    def pace(self) -> Pace: ...

    @property
    def size(self) -> int:
        """How many tasks are done at the same time."""

    def send(self, job: TeacherTask, parcels: list[Parcel]) -> Future[Any]:
        """Have some teachers trained by whoever is free."""

    def first_done(self, pending: Collection[Future[Any]], patience: float | None) -> set[Future[Any]]:
        """Wait until one of some tasks is done; return those that are."""

    def receive(self, future: Future[Any]) -> tuple[float, list[Reply]]:
        """Return the seconds that a task took, and the replies."""


class Workers:
    """Some worker processes that take one task each at a time."""

    pace = Pace(short=0.1, long=0.5)

    def __init__(self, n: int) -> None:
        self.size = n
        try:
            loky = import_module("joblib.externals.loky")
        except ModuleNotFoundError:  # joblib brings loky along, within itself or beside it
            loky = import_module("loky")
        mine = (os.getpid(), _in_main_thread(), SAFE_PATH in os.environ)
        with _safe_path():  # for what is started besides the workers, which have surroundings of their own
            self._executor = loky.ProcessPoolExecutor(
                n, timeout=IDLE_SECONDS, initializer=settle, initargs=mine, env=SURROUNDINGS
            )
        self._pending: set[Future[Any]] = set()

    def submit(self, task: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Run a task in the next worker that is free."""
        future: Future[Any] = self._executor.submit(task, *arguments)
        self._pending.add(future)
        future.add_done_callback(self._pending.discard)
        return future

    def send(self, job: TeacherTask, parcels: list[Parcel]) -> Future[Any]:
        """Have some teachers trained in the next worker that is free."""
        return self.submit(work, job, parcels)

    def receive(self, future: Future[Any]) -> tuple[float, list[Reply]]:
        """Return the seconds that a task took, and the replies."""
        seconds, answered = future.result()
        return seconds, answered

    def first_done(self, pending: Collection[Future[Any]], patience: float | None) -> set[Future[Any]]:
        """Wait until one of some tasks is done; return those that are.

        Raises
        ------
        Standstill
            If all workers, and whatever they started, wait without computing for `patience` seconds; None for ever.
        """
        watch = StillnessWatch(patience)
        while pending:  # where all shards are empty there is nobody to wait for
            done = wait(pending, timeout=watch.interval, return_when=FIRST_COMPLETED).done
            if done:
                return done
            watch.look(list(self._executor._processes))
        return set()

    def answer(self) -> bool:
        """Say whether the workers are alive."""
        try:
            with _safe_path():
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
        raise InvalidParameter(
            f"{spell('jobs')} is {n_jobs}; give a number of processes, or -1 for one per processor."
        )
    return int(n_jobs)


@contextmanager
def workers(n: int, *, fresh: bool = False, keeper: int = 0) -> Iterator[Workers]:
    """Lend n worker processes; after any error they are ended, with whatever they run.

    Parameters
    ----------
    fresh
        Whether to insist on processes that never ran a learner.
    keeper
        Who takes them back, and gets the same ones the next time.
    """
    if not hasattr(os, "fork"):
        raise InvalidParameter("Teachers need a system with fork, such as Linux or macOS; on Windows use WSL.")
    place = (os.getpid(), n, _in_main_thread(), keeper)  # they may be ended with the thread that started them
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


@contextmanager
def _safe_path() -> Iterator[None]:
    """Have Python processes that are started inside look for modules elsewhere than in the current folder."""
    before = os.environ.get(SAFE_PATH)
    os.environ[SAFE_PATH] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[SAFE_PATH]
        else:
            os.environ[SAFE_PATH] = before


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
