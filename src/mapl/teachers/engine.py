"""Polling the teachers: fit a learner on every shard, ask it the questions, count its votes.

The votes of teacher k are a function of shard k, k, the learner and the questions. Proof: docs/proofs/shards.md.
"""

from __future__ import annotations

import pickle
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from mapl.data.tables.rows import Rows, n_rows, take
from mapl.data.units.shards import Sharded
from mapl.engines.address import LOCAL
from mapl.engines.cluster import Cluster
from mapl.engines.opening import open_cluster
from mapl.errors import InvalidParameter
from mapl.teachers.ballot import Ballot
from mapl.teachers.learners.learner import Learner
from mapl.teachers.together.polling import batches, count_together, hasten, train_batch, worth_it
from mapl.teachers.together.recognition import syllabus_of, syllabus_to_keep
from mapl.teachers.workers.dispatch import bench, replies
from mapl.teachers.workers.pool import n_workers
from mapl.teachers.workers.worker import VOTE, TeacherTask, read_questions
from mapl.types import Flags, OnProgress, Tallies

SECONDS_BETWEEN_CHECKPOINTS = 5.0


class AnyBallot(Protocol):
    """What keeps the teachers' answers: each teacher is heard once on every question."""

    @property
    def n_questions(self) -> int: ...

    @property
    def n_numbers(self) -> int:
        """How many whole numbers a teacher sends: one per question, or one per question and class."""

    @property
    def n_classes(self) -> int: ...

    @property
    def n_teachers(self) -> int: ...

    @property
    def n_voted(self) -> int: ...

    def cast(self, k: int, votes: NDArray[Any] | None) -> None: ...

    def note_own_errors(self, k: int, wrong: int, tested: int) -> None: ...

    def missing(self) -> list[int]: ...

    def save(self, path: Path) -> None: ...


Box = TypeVar("Box", bound=AnyBallot)


def poll(
    learner: Learner,
    sharded: Sharded,
    questions: Rows,
    *,
    n_classes: int,
    ballot: Ballot | None = None,
    n_jobs: int = -1,
    time_limit: float | None = None,
    on_progress: OnProgress | None = None,
    checkpoint: Path | None = None,
    held_out: Flags | None = None,
    scratch: Path | None = None,
    engine: str = LOCAL,
) -> Ballot:
    """Train every teacher that has not voted yet, ask it all questions, count its votes, and forget it.

    A teacher whose shard is empty or holds one class, that raises, takes too long, ends its process or answers
    anything but one vote per question votes for the fallback class; the poll goes on and says nothing about it.

    Parameters
    ----------
    questions
        The public rows.
    ballot
        Counts the votes; one that was loaded from a checkpoint goes on where it stopped.
    n_jobs
        How many processes train at the same time; -1 for one per processor. Votes do not depend on it.
    time_limit
        Seconds of computing that a teacher may use; the clock does not count. Where teachers wait without computing
        for as long, the poll stops (`Standstill`), since the clock decides about no vote. None for no limit.
    on_progress
        Called with the number of teachers that have voted.
    checkpoint
        Where to save the ballot now and then, and whenever the poll ends, for whatever reason.
    held_out
        Rows that no teacher learns from; each teacher is tested on those of its own shard (`Ballot.own_errors`).
    scratch
        A private folder for temporary files, which may hold a shard; None for where the system has such files.
    engine
        Where teachers are trained, as `mapl.engines.address` reads it. Votes do not depend on it.
    """
    return gather(
        Ballot(n_rows(questions), n_classes, sharded.n_teachers) if ballot is None else ballot,
        learner,
        sharded,
        questions,
        n_classes=n_classes,
        n_jobs=n_jobs,
        time_limit=time_limit,
        on_progress=on_progress,
        checkpoint=checkpoint,
        held_out=held_out,
        scratch=scratch,
        engine=engine,
    )


def gather(
    ballot: Box,
    learner: Learner,
    sharded: Sharded,
    questions: Rows,
    *,
    n_classes: int,
    n_jobs: int = -1,
    time_limit: float | None = None,
    on_progress: OnProgress | None = None,
    checkpoint: Path | None = None,
    held_out: Flags | None = None,
    scratch: Path | None = None,
    engine: str = LOCAL,
) -> Box:
    """Poll into whatever keeps the answers: a ballot of votes, or of scores. Parameters as in `poll`."""
    if (ballot.n_questions, ballot.n_classes, ballot.n_teachers) != (
        n_rows(questions),
        n_classes,
        sharded.n_teachers,
    ):
        raise InvalidParameter(
            f"The ballot is for {ballot.n_questions} questions, {ballot.n_classes} classes and {ballot.n_teachers} "
            f"teachers, the poll has {n_rows(questions)}, {n_classes} and {sharded.n_teachers}; take the settings "
            "of the run that began the ballot, or begin a new one."
        )
    cluster = open_cluster(engine, n_workers(n_jobs))
    try:
        with bench(
            learner, "vote", n_classes=n_classes, questions=questions, time_limit=time_limit, scratch=scratch
        ) as job:
            saved = time.monotonic()
            for _ in _heard(ballot, learner, job, sharded, held_out, n_jobs, cluster):
                if on_progress is not None:
                    on_progress(ballot.n_voted)
                if checkpoint is not None and time.monotonic() - saved > SECONDS_BETWEEN_CHECKPOINTS:
                    ballot.save(checkpoint)
                    saved = time.monotonic()
    finally:
        if checkpoint is not None:
            ballot.save(checkpoint)
    return ballot


def _heard(
    ballot: AnyBallot,
    learner: Learner,
    job: TeacherTask,
    sharded: Sharded,
    held_out: Flags | None,
    n_jobs: int,
    cluster: Cluster | None,
) -> Iterator[None]:
    """Have every teacher that is missing vote; yield whenever some have."""
    parcel_of = partial(_parcel, sharded, held_out)
    asked = read_questions(job)
    syllabus = syllabus_of(learner, asked) if isinstance(ballot, Ballot) else None
    own_workers = None if cluster is not None else n_workers(n_jobs)
    if syllabus is not None and not worth_it(syllabus, asked.shape[1], own_workers):
        syllabus = None
    if syllabus is None or not isinstance(ballot, Ballot):
        with closing(replies(job, parcel_of, ballot.missing(), n_jobs, cluster=cluster)) as came:
            for k, reply in came:
                _cast(ballot, k, reply)
                yield
        return
    questions, syllabus = read_questions(job), hasten(syllabus, sharded.n_teachers)
    for batch in batches(ballot.missing()):
        trained = train_batch(syllabus, sharded, held_out, batch)
        # A shard with something unusual in it is one more task, and no other moment at which progress is told.
        alone = dict(replies(job, parcel_of, trained.left, n_jobs, cluster=cluster))
        ballot.cast_counted(list(trained.weights), count_together(syllabus, trained, questions, job.n_classes))
        for k, errors in trained.own_errors.items():
            ballot.note_own_errors(k, *errors)
        for k, reply in alone.items():
            _cast(ballot, k, reply)
        yield


def fit_teachers(
    learner: Learner,
    sharded: Sharded,
    *,
    n_classes: int,
    n_jobs: int = -1,
    time_limit: float | None = None,
    on_progress: OnProgress | None = None,
    scratch: Path | None = None,
    engine: str = LOCAL,
) -> Teachers:
    """Train every teacher and keep the models, for questions that come later. Parameters as in `poll`."""
    models: list[bytes | None] = [None] * sharded.n_teachers
    parcel_of = partial(_parcel, sharded, None)
    syllabus = syllabus_to_keep(learner)
    cluster = open_cluster(engine, n_workers(n_jobs))
    with bench(learner, "keep", n_classes=n_classes, time_limit=time_limit, scratch=scratch) as job:
        if syllabus is not None:
            syllabus = hasten(syllabus, sharded.n_teachers)
            for batch in batches(range(sharded.n_teachers)):
                trained = train_batch(syllabus, sharded, None, batch)
                for k, weights in trained.weights.items():
                    models[k] = None if weights is None else pickle.dumps(weights)
                for k, reply in replies(job, parcel_of, trained.left, n_jobs, cluster=cluster):
                    models[k] = reply
                if on_progress is not None:
                    on_progress(batch[-1] + 1)
            return Teachers(learner, tuple(models), n_classes, n_jobs, time_limit)
        with closing(replies(job, parcel_of, range(sharded.n_teachers), n_jobs, cluster=cluster)) as came:
            for done, (k, reply) in enumerate(came, start=1):
                models[k] = reply
                if on_progress is not None:
                    on_progress(done)
    return Teachers(learner, tuple(models), n_classes, n_jobs, time_limit)


@dataclass(frozen=True, slots=True, repr=False)
class Teachers:
    """Models that wait for questions, None for a teacher that failed. Private, and silent about it."""

    learner: Learner
    models: tuple[bytes | None, ...]
    n_classes: int
    n_jobs: int = -1
    time_limit: float | None = None

    def votes(self, rows: Rows) -> Tallies:
        """Ask every teacher; one that fails, now or in training, votes for the fallback class."""
        ballot = Ballot(n_rows(rows), self.n_classes, len(self.models))
        limit = self.time_limit
        with bench(self.learner, "ask", n_classes=self.n_classes, questions=rows, time_limit=limit) as job:
            for k, reply in replies(job, self.models.__getitem__, range(len(self.models)), self.n_jobs):
                _cast(ballot, k, reply)
        return ballot.tallies()

    def __len__(self) -> int:
        return len(self.models)

    def __repr__(self) -> str:
        return f"Teachers({len(self)} teachers, private)"


def _cast(ballot: AnyBallot, k: int, reply: bytes | None) -> None:
    """Count a reply: one vote per question and, from a teacher that was tested, its errors and of how many."""
    if reply is None:
        ballot.cast(k, None)
        return
    votes, own = np.split(np.frombuffer(reply, dtype=VOTE), [ballot.n_numbers])
    ballot.cast(k, votes)
    if own.size:
        ballot.note_own_errors(k, int(own[0]), int(own[1]))


def _parcel(sharded: Sharded, held_out: Flags | None, k: int) -> bytes | None:
    """Return what one teacher gets: the rows and labels of its shard, and apart those it is tested on, if any.

    None if there is nothing to learn in it.
    """
    labels = sharded.labels[sharded.members(k)]
    aside = np.zeros(len(labels), dtype=np.bool_) if held_out is None else held_out[sharded.members(k)]
    if len(np.unique(labels[~aside])) < 2:
        return None
    rows, labels = sharded.shard(k)
    parcel: tuple[Any, ...] = (rows, labels)
    if held_out is not None:
        learned, tested = np.flatnonzero(~aside), np.flatnonzero(aside)
        parcel = (take(rows, learned), labels[learned], take(rows, tested), labels[tested])
    return pickle.dumps(parcel, protocol=pickle.HIGHEST_PROTOCOL)
