"""Sending teachers to workers: a few at a time, and with more caution after an accident."""

from __future__ import annotations

import pickle
import tempfile
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import BrokenExecutor, Future
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from mapl.data.tables.rows import Rows, n_rows, take
from mapl.engines.cluster import Cluster
from mapl.errors import InvalidParameter, MaplError
from mapl.teachers.workers.afar import crew_afar
from mapl.teachers.workers.pool import Crew, n_workers, workers
from mapl.teachers.workers.worker import Parcel, Reply, Task, TeacherTask, pickle_anything
from mapl.types import Labels, finite_positive

if TYPE_CHECKING:
    from mapl.teachers.learners.learner import Learner

SAMPLE_ROWS = 200

MOST_PARCELS = 64
MOST_BYTES = 1 << 23

TASKS_PER_WORKER = 2


@contextmanager
def bench(
    learner: Learner,
    task: Task,
    *,
    n_classes: int,
    questions: Rows | None = None,
    time_limit: float | None = None,
    scratch: Path | None = None,
) -> Iterator[TeacherTask]:
    """Lay out what workers need besides the shards, once for all teachers, in a folder only its owner may read.

    Parameters
    ----------
    scratch
        Where to make that folder, in which teachers keep their temporary files too; None for where the system has
        such files. A process that is killed leaves it behind.
    """
    if time_limit is not None:
        finite_positive(time_limit=time_limit)
    n_numbers = 0 if questions is None else n_rows(questions) * int(getattr(learner, "numbers_each", 1))
    own_process = bool(getattr(learner, "own_process", False))
    with tempfile.TemporaryDirectory(prefix="mapl-", dir=scratch, ignore_cleanup_errors=True) as folder:
        n_answers = int(getattr(learner, "n_answers", n_classes))
        job = TeacherTask(Path(folder).absolute(), task, n_classes, n_numbers, time_limit, own_process, n_answers)
        sendable = pickle_learner(learner)
        prepared = None if questions is None else learner.prepare(questions)
        try:
            job.learner.write_bytes(sendable)
            if questions is not None:
                import joblib

                joblib.dump(prepared, job.questions)
                job.sample.write_bytes(pickle.dumps(_sample(questions, n_classes)))
        except OSError as failure:
            otherwise = ", or set the variable TMPDIR to a folder that has some" if scratch is None else ""
            raise MaplError(
                f"The questions cannot be written to a temporary folder in {Path(folder).parent} "
                f"({failure.strerror}); free some space{otherwise}."
            ) from None
        yield job


def replies(
    job: TeacherTask,
    parcel_of: Callable[[int], bytes | None],
    teachers: Iterable[int],
    n_jobs: int,
    *,
    cluster: Cluster | None = None,
    keeper: int = 0,
) -> Generator[Reply, None, None]:
    """Yield a reply for every teacher, as they come.

    Teachers share workers until one ends its process. From then on each that is left runs in a child of a worker,
    and one that manages to end the worker too is tried once more by itself.

    Parameters
    ----------
    parcel_of
        Makes what a teacher learns from when its turn comes, or None if it failed already.
    cluster
        Whose workers train the teachers, each with processes of its own; None for processes of this machine.
    keeper
        Who takes the workers back, and gets the same ones the next time.
    """
    left = dict.fromkeys(teachers)
    if cluster is not None:
        yield from _dispatched(job, parcel_of, left, crew_afar(cluster))
        return
    n = min(n_workers(n_jobs), max(1, len(left)))
    lend = partial(workers, keeper=keeper)
    while left:
        try:
            for k, reply in _dispatched(job, parcel_of, left, lend(n, fresh=job.isolated)):
                del left[k]
                yield k, reply
        except Accident as accident:
            if not job.isolated:
                job = replace(job, isolated=True)
                continue
            for k in accident.suspects:
                del left[k]
                yield k, _alone(job, parcel_of, k, lend(1, fresh=job.isolated))


class Accident(Exception):
    """A worker died, and one of the teachers that were under way may be why."""

    def __init__(self, suspects: list[int]) -> None:
        self.suspects = suspects


def _alone(
    job: TeacherTask, parcel_of: Callable[[int], bytes | None], k: int, crew: AbstractContextManager[Crew]
) -> bytes | None:
    try:
        ((_, reply),) = _dispatched(job, parcel_of, [k], crew)
    except Accident:
        return None
    return reply


def _dispatched(
    job: TeacherTask,
    parcel_of: Callable[[int], bytes | None],
    teachers: Iterable[int],
    crew: AbstractContextManager[Crew],
) -> Generator[Reply, None, None]:
    """Keep a crew busy; parcels are made when a worker is about to need them, so few exist at a time."""
    waiting = deque(teachers)
    pending: dict[Future[tuple[float, list[Reply]]], list[int]] = {}
    at_once = 1
    with crew as lent:
        try:
            while waiting or pending:
                while waiting and len(pending) < lent.size * TASKS_PER_WORKER:
                    parcels: list[Parcel] = []
                    size = 0
                    while waiting and len(parcels) < at_once and size < MOST_BYTES:
                        parcel = parcel_of(waiting[0])
                        k = waiting.popleft()
                        if parcel is None:
                            yield k, None
                            continue
                        parcels.append((k, parcel))
                        size += len(parcel)
                    if parcels:
                        pending[lent.send(job, parcels)] = [k for k, _ in parcels]
                for future in lent.first_done(pending, job.time_limit):
                    seconds, answered = lent.receive(future)
                    del pending[future]
                    yield from answered
                    if seconds < lent.pace.short:
                        at_once = min(2 * at_once, MOST_PARCELS)
                    elif seconds > lent.pace.long:
                        at_once = max(1, at_once // 2)
        except BrokenExecutor:
            raise Accident([k for under_way in pending.values() for k in under_way]) from None


def _sample(questions: Rows, n_classes: int) -> tuple[Rows, Labels]:
    """Return some public rows with made-up labels; few rows are repeated until every class has two."""
    size = max(min(SAMPLE_ROWS, n_rows(questions)), 2 * n_classes)
    places = np.arange(size, dtype=np.int64)
    return take(questions, places % n_rows(questions)), (places % n_classes).astype(np.int32)


def pickle_learner(learner: Learner) -> bytes:
    """Pickle a learner for other processes, or refuse one that cannot be."""
    try:
        return pickle_anything(learner)
    except Exception as failure:
        raise InvalidParameter(
            f"The learner {learner.name} cannot be sent to worker processes ({type(failure).__name__}); it must "
            "not hold open files, connections, locks or the like."
        ) from None
