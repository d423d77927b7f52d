"""What a teacher is made of: anything that learns from rows and labels and then votes."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from concurrent.futures import BrokenExecutor
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from mapl.data.tables.classes import Classes
from mapl.data.tables.rows import Rows
from mapl.data.tables.schema import Schema
from mapl.engines.address import LOCAL
from mapl.engines.cluster import Trouble, result_of, submit_alike
from mapl.engines.opening import open_cluster
from mapl.errors import InvalidParameter
from mapl.teachers.learners.command import Command, CommandLearner
from mapl.teachers.learners.estimator import EstimatorLearner
from mapl.teachers.learners.function import FunctionLearner
from mapl.teachers.learners.presets import preset
from mapl.teachers.workers.afar import let_start_processes
from mapl.teachers.workers.dispatch import bench, pickle_learner
from mapl.teachers.workers.pool import n_workers, workers
from mapl.teachers.workers.stillness import Standstill
from mapl.teachers.workers.worker import DIED, rehearse_in_worker
from mapl.types import Labels

if TYPE_CHECKING:
    from mapl.data.encoding.encoder import Encoder

Predict = Callable[[Rows], NDArray[np.int64]]
"""A fitted teacher: maps prepared questions to class numbers, UNKNOWN for what names no class."""


class Learner(Protocol):
    """How teachers are trained. A learner sees one shard at a time, and must keep nothing from it for the next."""

    @property
    def name(self) -> str: ...

    def prepare(self, questions: Rows) -> Rows:
        """Bring public rows into the form that predictions take, once for all teachers."""
        ...

    def train(self, rows: Rows, labels: Labels, *, n_classes: int, seed: int) -> Predict:
        """Learn from one shard. All randomness must come from the seed or from the global generators."""
        ...


def as_learner(
    given: Any, classes: Classes, schema: Schema | None = None, encoder: Encoder | None = None
) -> Learner:
    """Make a learner of what a user hands over.

    Parameters
    ----------
    given
        The name of a preset, an estimator with fit and predict (or a whole Pipeline), a function
        ``train(X, y) -> predict``, a `Command`, or a learner.
    classes
        The declared classes; estimators and functions get their names, as whole numbers if all names are such.
    schema
        The declared columns, from which presets build their encoder.
    encoder
        The encoder of the run, fitted on public rows (`mapl.data.encoding.choice`), which presets take instead.
    """
    if isinstance(given, str):
        return EstimatorLearner(given, preset(given).build(schema, encoder), classes)
    if isinstance(given, Command):
        return CommandLearner(given, classes, "label" if schema is None or schema.label is None else schema.label)
    if hasattr(given, "train") and hasattr(given, "prepare"):
        learner: Learner = given
        return learner
    if hasattr(given, "fit") and hasattr(given, "predict"):
        return EstimatorLearner(type(given).__name__, given, classes)
    if callable(given):
        return FunctionLearner(getattr(given, "__name__", type(given).__name__), given, classes)
    raise InvalidParameter(
        f"The learner is of type {type(given).__name__}; hand over the name of a preset, an estimator with fit and "
        "predict, a function train(X, y) that returns a prediction function, or a Command."
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
        try:
            with workers(n, fresh=job.isolated) as lent:
                (done,) = lent.first_done([lent.submit(rehearse_in_worker, job)], time_limit)
                words: str = done.result()
                return words
        except BrokenExecutor:
            return DIED
        except Standstill as standstill:
            return standstill.words
