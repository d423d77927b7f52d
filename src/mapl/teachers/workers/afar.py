"""Teachers on the workers of a cluster: what they learn from goes there as a file, their votes come back.

A worker of a cluster starts processes of its own, just as this machine does without one, so a teacher is trained in
the same surroundings everywhere, and one that ends its process hurts nobody else.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from multiprocessing import process
from pathlib import Path
from threading import get_ident
from typing import Any

from mapl.engines.cluster import Cluster, Trouble, first_done, result_of, submit_alike
from mapl.engines.files import read_down, write_down
from mapl.errors import MaplError
from mapl.teachers.workers.pool import Pace, workers
from mapl.teachers.workers.stillness import Standstill
from mapl.teachers.workers.worker import Parcel, Reply, TeacherTask, load_learner

PACE = Pace(short=0.5, long=4.0)
"""A task of a cluster costs some hundredths of a second more than one of this machine."""

STILL = "still"


class CrewAfar:
    """Workers of a cluster, with the files that are on their way to them."""

    pace = PACE

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._files: dict[Future[Any], Path] = {}

    @property
    def size(self) -> int:
        return self._cluster.n_workers

    def send(self, job: TeacherTask, parcels: list[Parcel]) -> Future[Any]:
        """Write down what some teachers learn from, and have them trained where a worker is free."""
        path = write_down(job.folder, parcels)
        future = submit_alike(self._cluster, attend, job, path)
        self._files[future] = path
        return future

    def first_done(self, pending: Collection[Future[Any]], patience: float | None) -> set[Future[Any]]:
        """Wait until one of some tasks is done; return those that are. Their workers look after stillness."""
        return first_done(self._cluster, pending)

    def receive(self, future: Future[Any]) -> tuple[float, list[Reply]]:
        """Return what came back; nobody needs its file any more."""
        self._files.pop(future).unlink(missing_ok=True)
        seconds, answered = result_of(self._cluster, future)
        if answered == STILL:
            raise Standstill(seconds)
        return seconds, answered

    def dismiss(self) -> None:
        """Call off what is under way."""
        for future, path in self._files.items():
            future.cancel()
            path.unlink(missing_ok=True)


@contextmanager
def crew_afar(cluster: Cluster) -> Iterator[CrewAfar]:
    """Lend the workers of a cluster."""
    crew = CrewAfar(cluster)
    try:
        yield crew
    finally:
        crew.dismiss()


def attend(job: TeacherTask, path: Path) -> tuple[float, list[Reply] | str]:
    """Train some teachers on a worker of a cluster; return the seconds taken and the replies."""
    from mapl.teachers.workers.dispatch import replies

    needed = [job.learner] if job.task == "keep" else [job.learner, job.questions]
    parcels = dict(read_down(path, *needed))
    let_start_processes()
    began = time.perf_counter()
    try:
        _refuse_unloadable(job)
        answered = list(replies(job, parcels.get, parcels, 1, keeper=get_ident()))
    except Standstill:
        assert job.time_limit is not None
        return job.time_limit, STILL
    except MaplError as failure:
        raise Trouble(str(failure)) from None
    return time.perf_counter() - began, answered


_loadable: set[Path] = set()


def _refuse_unloadable(job: TeacherTask) -> None:
    """Find out whether this machine can load the learner: where not, that is no teacher that failed."""
    if job.folder in _loadable:
        return
    with workers(1, keeper=get_ident()) as lent:
        lacking = lent.submit(load_learner, job).result()
    if lacking:
        raise Trouble(f"a worker cannot load the learner ({lacking}); what it needs must be installed everywhere")
    _loadable.add(job.folder)


def let_start_processes() -> None:
    """Let this worker start processes. Those of dask may not, lest these outlive them; ours never do."""
    with suppress(AttributeError):
        process.current_process()._config["daemon"] = False  # type: ignore[attr-defined]
