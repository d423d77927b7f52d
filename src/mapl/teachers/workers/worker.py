"""What happens inside a worker process: train a teacher on its shard, ask it, send back its votes.

No word that a learner says leaves the worker: not on the terminal, not in a warning, not in an error.
"""

from __future__ import annotations

import gc
import importlib
import os
import pickle
import random
import shutil
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from mapl.import_path import put_current_folder_last
from mapl.teachers.learners.spelling import one_per_row
from mapl.teachers.workers.isolation import in_child, limit_computing
from mapl.teachers.workers.lifeline import die_with_parent

VOTE = np.dtype(np.int32)
"""The type of a vote on its way back."""

Task = Literal["vote", "keep", "ask"]
"""Train and ask a teacher; train it and send back the model; ask a model that was kept."""

DIED = "it ended its process, or computed for longer than its time limit"

Parcel = tuple[int, bytes]
"""The number of a teacher and its pickled rows and labels, or its model where models are asked."""

Reply = tuple[int, bytes | None]
"""The number of a teacher and what came of it: its votes or its model, or None if it failed."""


@dataclass(frozen=True, slots=True)
class TeacherTask:
    """What a worker has to do and where it finds the learner and the questions. Holds nothing private.

    The folder holds the pickled learner, the prepared questions, and a sample of public rows with made-up labels.
    It belongs to one run, only its owner may read it, and it is removed with the run.
    """

    folder: Path
    task: Task
    n_classes: int
    n_numbers: int
    """How many whole numbers a teacher sends: one per question, or one per question and class."""
    time_limit: float | None
    isolated: bool
    n_answers: int
    """How many different answers a teacher has: the classes, or the steps of a score."""

    @property
    def learner(self) -> Path:
        return self.folder / "learner.pickle"

    @property
    def questions(self) -> Path:
        return self.folder / "questions.joblib"

    @property
    def sample(self) -> Path:
        return self.folder / "sample.pickle"


def settle(parent: int, thread_lasts: bool, safe_path: bool) -> None:
    """Make a new worker mortal (`die_with_parent`), silent, single-threaded and expendable."""
    import joblib

    die_with_parent(parent, thread_lasts=thread_lasts)
    put_current_folder_last()
    if not safe_path:  # it was for the start of this process; programs that a learner starts find their own modules
        os.environ.pop("PYTHONSAFEPATH", None)
    silence = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(silence, stream)
    # An interrupt is for the parent, which ends its workers; here it would look like a teacher that failed.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a memory image on disk would hold private rows
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")  # when memory is short, a teacher goes first
    joblib.parallel_config(backend="sequential")


def pickle_anything(given: Any) -> bytes:
    """Pickle what plain pickle does not take too, such as functions of a notebook."""
    from joblib import wrap_non_picklable_objects

    return pickle.dumps(wrap_non_picklable_objects(given, keep_wrapper=False))


def ready() -> bool:
    """Tell that a worker can be started and finds mapl."""
    return True


def load_learner(job: TeacherTask) -> str:
    """Tell what goes wrong, if anything, where a worker loads the learner: on other machines modules may lack."""
    try:
        pickle.loads(job.learner.read_bytes())
    except Exception as failure:
        return type(failure).__name__
    return ""


def work(job: TeacherTask, parcels: list[Parcel]) -> tuple[float, list[Reply]]:
    """Do the job for some teachers, one after the other; return the seconds taken and the replies."""
    began = time.perf_counter()
    if job.isolated:
        _warm_up(job)
        replies = [(k, _in_own_process(job, partial(reply_of, job, k, parcel))) for k, parcel in parcels]
    else:
        _keep_files_in(job.folder)
        replies = [(k, reply_of(job, k, parcel)) for k, parcel in parcels]
    return time.perf_counter() - began, replies


def reply_of(job: TeacherTask, k: int, parcel: bytes) -> bytes | None:
    """Return the votes or the model of teacher k, None whatever goes wrong.

    Nothing here depends on which teachers came before: learner, rows and questions are read anew, since a learner
    may change any of them in place, and the global generators start from the teacher's number.
    """
    try:
        # Loading may import what the learner needs, which takes long once; it is not the teacher's time.
        questions = None if job.task == "keep" else read_questions(job)
        if job.task == "ask":
            predict = pickle.loads(parcel)
            with _undisturbed(job, seed=k):
                return _votes(job, predict, questions)
        rows, labels, *kept_from_it = pickle.loads(parcel)
        learner = pickle.loads(job.learner.read_bytes())
        with _undisturbed(job, seed=k):
            predict = learner.train(rows, labels, n_classes=job.n_classes, seed=k)
            if job.task == "keep":
                return pickle_anything(predict)
            votes = _votes(job, predict, questions)
            return votes + _own_errors(learner, predict, *kept_from_it) if kept_from_it else votes
    except MemoryError:
        if not job.isolated:  # what earlier teachers left behind may be why: once more, in a process of its own
            os._exit(1)
        return None
    except BaseException:  # even SystemExit: a teacher that fails casts the fallback vote, and says nothing
        return None


def rehearse_in_worker(job: TeacherTask) -> str:
    """Train and ask a teacher on the public sample; return the learner's own words on what went wrong, if any."""
    if not job.isolated:
        return _complaint(job)
    told = _in_own_process(job, lambda: _complaint(job).encode())
    return DIED if told is None else told.decode()


def _complaint(job: TeacherTask) -> str:
    try:
        codes = rehearsed_votes(job, _undisturbed(job, seed=0))
    except BaseException as failure:
        return f"{type(failure).__name__}: {failure}"
    return objection_to(codes, job)


def rehearsed_votes(job: TeacherTask, surroundings: AbstractContextManager[None]) -> NDArray[Any]:
    """Return the votes of a teacher that learned from the public sample; what it needs is loaded before."""
    questions = read_questions(job)
    rows, labels = pickle.loads(job.sample.read_bytes())
    learner = pickle.loads(job.learner.read_bytes())
    with surroundings:
        predict = learner.train(rows, labels, n_classes=job.n_classes, seed=0)
        return np.frombuffer(_votes(job, predict, questions), dtype=VOTE)


def objection_to(codes: NDArray[Any], job: TeacherTask) -> str:
    """Return in words what speaks against the votes of a rehearsal, if anything."""
    if ((codes < 0) | (codes >= job.n_answers)).all():
        asked = "one of the declared classes" if job.n_answers == job.n_classes else "a probability"
        return f"none of its predictions is {asked}"
    return ""


@contextmanager
def _undisturbed(job: TeacherTask, *, seed: int) -> Iterator[None]:
    with limit_computing(job.time_limit), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        random.seed(seed)
        np.random.seed(seed)  # noqa: NPY002  (learners may use the global generator)
        if "torch" in sys.modules:
            sys.modules["torch"].manual_seed(seed)
        yield


def read_questions(job: TeacherTask) -> Any:
    """Map the questions for one teacher alone: what it writes into them is its own copy."""
    import joblib

    return joblib.load(job.questions, mmap_mode="c")


def _votes(job: TeacherTask, predict: Callable[[Any], Any], questions: Any) -> bytes:
    codes = one_per_row(predict(questions), job.n_numbers)
    votes: bytes = np.clip(codes, -1, job.n_answers).astype(VOTE).tobytes()
    return votes


def _own_errors(learner: Any, predict: Callable[[Any], Any], rows: Any, labels: Any) -> bytes:
    """Return how many of the rows that were kept from a teacher it gets wrong, and how many there are."""
    wrong = (
        np.count_nonzero(one_per_row(predict(learner.prepare(rows)), len(labels)) != labels) if len(labels) else 0
    )
    return np.array([wrong, len(labels)], dtype=VOTE).tobytes()


def _in_own_process(job: TeacherTask, task: Callable[[], bytes | None]) -> bytes | None:
    """Run a task in a child, with a folder for its temporary files that does not outlive it."""
    scratch = Path(tempfile.mkdtemp(dir=job.folder))

    def inside() -> bytes | None:
        _keep_files_in(scratch)
        return task()

    try:
        return in_child(inside)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _keep_files_in(folder: Path) -> None:
    tempfile.tempdir = os.environ["TMPDIR"] = str(folder)


_warm: set[Path] = set()

WARM_UP_SECONDS = 60.0


def _warm_up(job: TeacherTask) -> None:
    """Import what the learner needs, so that not every child has to do it again.

    A first child rehearses on the public sample and tells which modules that took; this process imports them, but
    never runs a learner, since threads left by one would not survive a fork.
    """
    if job.folder in _warm:
        return
    _warm.add(job.folder)
    for name in (_in_own_process(job, partial(_modules_of_a_rehearsal, job)) or b"").decode().split():
        if name not in sys.modules and name != "__main__":
            with suppress(BaseException):
                importlib.import_module(name)
    gc.collect()
    gc.freeze()  # so that collecting garbage in a child does not touch, and thereby copy, all of this


def _modules_of_a_rehearsal(job: TeacherTask) -> bytes:
    limit = None if job.time_limit is None else max(WARM_UP_SECONDS, 10 * job.time_limit)
    _complaint(replace(job, time_limit=limit))
    return "\n".join(sys.modules).encode()
