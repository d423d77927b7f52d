"""Trying a learner on public rows with made-up labels, before any private row is read."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor
from contextlib import contextmanager

from mapl.data.tables.rows import Rows
from mapl.engines.address import LOCAL
from mapl.engines.cluster import Trouble, result_of, submit_alike
from mapl.engines.opening import open_cluster
from mapl.errors import InvalidParameter
from mapl.teachers.learners.learner import Learner
from mapl.teachers.together.networks import Networks
from mapl.teachers.together.polling import one_thread
from mapl.teachers.together.recognition import syllabus_of
from mapl.teachers.workers.afar import let_start_processes
from mapl.teachers.workers.dispatch import bench, pickle_learner
from mapl.teachers.workers.pool import n_workers, workers
from mapl.teachers.workers.stillness import Standstill
from mapl.teachers.workers.worker import (
    DIED,
    TeacherTask,
    objection_to,
    read_questions,
    rehearse_in_worker,
    rehearsed_votes,
)


def rehearse(
    learner: Learner,
    public_rows: Rows,
    n_classes: int,
    *,
    n_jobs: int = -1,
    time_limit: float | None = None,
    engine: str = LOCAL,
) -> None:
    """Try a learner on public rows with made-up labels, before any private row is read.

    The rehearsal runs where teachers will run, so it also finds a learner that cannot be sent there.

    Raises
    ------
    InvalidParameter
        If it fails, with the learner's own words; they can only speak of public rows.
    """
    cluster = open_cluster(engine, n_workers(n_jobs))
    if cluster is None:
        words = _failure(learner, public_rows, n_classes, n_workers(n_jobs), time_limit)
    else:
        sent = pickle_learner(learner), public_rows, n_classes, time_limit
        words = result_of(cluster, submit_alike(cluster, rehearse_afar, *sent))
    if words:
        raise InvalidParameter(
            f"The learner {learner.name} failed in a rehearsal on public rows with made-up labels: {words[:1000]}. "
            "Nothing private was read. Correct the learner or its settings, or give it more time, and try again."
        )


def rehearse_afar(sent: bytes, public_rows: Rows, n_classes: int, time_limit: float | None) -> str:
    """Rehearse on a worker of a cluster, in a process of its own as teachers have it."""
    try:
        learner = pickle.loads(sent)
    except Exception as failure:
        raise Trouble(
            f"a worker cannot load the learner ({type(failure).__name__}); its module must be installed everywhere"
        ) from None
    let_start_processes()
    return _failure(learner, public_rows, n_classes, 1, time_limit)


def _failure(learner: Learner, public_rows: Rows, n_classes: int, n: int, time_limit: float | None) -> str:
    """Return in words what goes wrong in a rehearsal, if anything.

    It learns from a sample and answers every row: one question that no teacher can answer would fail them all.
    """
    with bench(learner, "vote", n_classes=n_classes, questions=public_rows, time_limit=time_limit) as job:
        if _learns_here(learner, job):
            return _rehearse_here(job)
        try:
            with workers(n, fresh=job.isolated) as lent:
                (done,) = lent.first_done([lent.submit(rehearse_in_worker, job)], time_limit)
                words: str = done.result()
                return words
        except BrokenExecutor:
            return DIED
        except Standstill as standstill:
            return standstill.words


def _learns_here(learner: Learner, job: TeacherTask) -> bool:
    """Say whether this process will train the teachers itself: to start another would take longer than to rehearse.

    Networks would draw from generators that belong to the caller.
    """
    syllabus = syllabus_of(learner, read_questions(job))
    return syllabus is not None and not isinstance(syllabus.family, Networks)


def _rehearse_here(job: TeacherTask) -> str:
    """Train and ask a teacher that draws no lots and takes few steps, and leave this process as it is."""
    try:
        return objection_to(rehearsed_votes(job, _quiet()), job)
    except Exception as failure:
        return f"{type(failure).__name__}: {failure}"


@contextmanager
def _quiet() -> Iterator[None]:
    with one_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
