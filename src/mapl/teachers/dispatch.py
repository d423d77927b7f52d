"""Sending teachers to workers: a few at a time, and with more caution after an accident."""

from __future__ import annotations

import pickle
import tempfile
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from mapl.data.rows import Rows, n_rows, take
from mapl.errors import InvalidParameter, MaplError
from mapl.teachers.pool import n_workers, workers
from mapl.teachers.worker import Job, Parcel, Reply, Task, pickled, work
from mapl.types import Labels, finite_positive

if TYPE_CHECKING:
    from mapl.teachers.learner import Learner

SAMPLE_ROWS = 200

MOST_PARCELS = 64
MOST_BYTES = 1 << 23
SHORT, LONG = 0.1, 0.5
"""Tasks that take fewer or more seconds than these get more or fewer teachers."""

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
) -> Iterator[Job]:
    """Lay out what workers need besides the shards, once for all teachers, in a folder only its owner may read.

    Parameters
    ----------
    scratch
        Where to make that folder, in which teachers keep their temporary files too; None for where the system has
        such files. A process that is killed leaves it behind.
    """
    if time_limit is not None:
        finite_positive(time_limit=time_limit)
    n_questions = 0 if questions is None else n_rows(questions)
    own_process = bool(getattr(learner, "own_process", False))
    with tempfile.TemporaryDirectory(prefix="mapl-", dir=scratch, ignore_cleanup_errors=True) as folder:
        n_answers = int(getattr(learner, "n_answers", n_classes))
        job = Job(Path(folder).absolute(), task, n_classes, n_questions, time_limit, own_process, n_answers)
        sendable = _sendable(learner)
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
    job: Job, parcel_of: Callable[[int], bytes | None], teachers: Iterable[int], n_jobs: int
) -> Generator[Reply, None, None]:
    """Yield a reply for every teacher, as they come.

    Teachers share workers until one ends its process. From then on each that is left runs in a child of a worker,
    and one that manages to end the worker too is tried once more by itself.

    Parameters
    ----------
    parcel_of
        Makes what a teacher learns from when its turn comes, or None if it failed already.
    """
    left = dict.fromkeys(teachers)
    n = min(n_workers(n_jobs), max(1, len(left)))
    while left:
        try:
            for k, reply in _dispatched(job, parcel_of, left, n):
                del left[k]
                yield k, reply
        except Accident as accident:
            if not job.isolated:
                job = replace(job, isolated=True)
                continue
            for k in accident.suspects:
                del left[k]
                yield k, _alone(job, parcel_of, k)


class Accident(Exception):
    """A worker died, and one of the teachers that were under way may be why."""

    def __init__(self, suspects: list[int]) -> None:
        self.suspects = suspects


def _alone(job: Job, parcel_of: Callable[[int], bytes | None], k: int) -> bytes | None:
    try:
        ((_, reply),) = _dispatched(job, parcel_of, [k], 1)
    except Accident:
        return None
    return reply


def _dispatched(
    job: Job, parcel_of: Callable[[int], bytes | None], teachers: Iterable[int], n: int
) -> Generator[Reply, None, None]:
    """Keep n workers busy; parcels are made when a worker is about to need them, so few exist at a time."""
    waiting = deque(teachers)
    pending: dict[Future[tuple[float, list[Reply]]], list[int]] = {}
    at_once = 1
    with workers(n, fresh=job.isolated) as lent:
        try:
            while waiting or pending:
                while waiting and len(pending) < n * TASKS_PER_WORKER:
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
                        pending[lent.submit(work, job, parcels)] = [k for k, _ in parcels]
                for future in wait(pending, return_when=FIRST_COMPLETED).done:
                    seconds, answered = future.result()
                    del pending[future]
                    yield from answered
                    if seconds < SHORT:
                        at_once = min(2 * at_once, MOST_PARCELS)
                    elif seconds > LONG:
                        at_once = max(1, at_once // 2)
        except BrokenExecutor:
            raise Accident([k for under_way in pending.values() for k in under_way]) from None


def _sample(questions: Rows, n_classes: int) -> tuple[Rows, Labels]:
    """Return some public rows with made-up labels; few rows are repeated until every class has two."""
    size = max(min(SAMPLE_ROWS, n_rows(questions)), 2 * n_classes)
    places = np.arange(size, dtype=np.int64)
    return take(questions, places % n_rows(questions)), (places % n_classes).astype(np.int32)


def _sendable(learner: Learner) -> bytes:
    try:
        return pickled(learner)
    except Exception as failure:
        raise InvalidParameter(
            f"The learner {learner.name} cannot be sent to worker processes ({type(failure).__name__}); it must "
            "not hold open files, connections, locks or the like."
        ) from None
