"""Polling teachers that are trained together: batch after batch, into a ballot."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapl.data.units.shards import Sharded
from mapl.teachers.ballot import FALLBACK
from mapl.teachers.compiled.compiling import can_compile
from mapl.teachers.together.logistic import Logistic
from mapl.teachers.together.naive_bayes import GaussianBayes
from mapl.teachers.together.networks import Networks
from mapl.teachers.together.recognition import Syllabus
from mapl.teachers.together.training import TrainedTogether, count_teachers, train_together
from mapl.types import Flags

TEACHERS_AT_ONCE = 1024
"""A public number: where a batch ends tells nothing about shards."""

ENOUGH_TO_COMPILE = 1000
"""With fewer teachers, numba takes longer to load than it saves. Public, too."""


WORKERS_BEATEN = (1000, 4), (10_000, 2)
"""Networks of so many weights gain by stacks what so many processes gain at most: 6 times, and 2.5 times, measured
by one process."""


def hasten(syllabus: Syllabus, n_teachers: int) -> Syllabus:
    """Have very many teachers trained by compiled code, where numba is there; no private row has a say in it."""
    family = syllabus.family
    if n_teachers < ENOUGH_TO_COMPILE or not isinstance(family, (Logistic, GaussianBayes)) or not can_compile():
        return syllabus
    return replace(syllabus, family=replace(family, compiled=True))


def worth_it(syllabus: Syllabus, n_columns: int, n_workers: int | None) -> bool:
    """Say whether teachers are trained together rather than by so many processes; the votes are the same.

    Networks gain less than other families do, and only this process trains them: where there is a cluster, whose
    workers are not counted, they go there.
    """
    family = syllabus.family
    if not isinstance(family, Networks):
        return True
    if n_workers is None:
        return False
    n_weights = family.n_weights(n_columns)
    return any(n_weights <= most and n_workers <= workers for most, workers in WORKERS_BEATEN)


def batches(teachers: Sequence[int]) -> Iterator[Sequence[int]]:
    """Part teachers into batches."""
    for start in range(0, len(teachers), TEACHERS_AT_ONCE):
        yield teachers[start : start + TEACHERS_AT_ONCE]


@contextmanager
def one_thread() -> Iterator[None]:
    """Have products of matrices computed by one thread, so that no bit depends on how many there are."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1):
        yield


def train_batch(
    syllabus: Syllabus, sharded: Sharded, held_out: Flags | None, teachers: Sequence[int]
) -> TrainedTogether:
    """Train the teachers of a batch, in one thread."""
    with one_thread():
        return train_together(syllabus, sharded, held_out, teachers)


def count_together(
    syllabus: Syllabus, trained: TrainedTogether, questions: NDArray[Any], n_classes: int
) -> NDArray[np.int32]:
    """Count the votes of the teachers of a batch that need not be trained one by one."""
    known = [weights for weights in trained.weights.values() if weights is not None]
    counts = np.zeros((len(questions), n_classes), dtype=np.int32)
    if known:
        with one_thread():
            counts += count_teachers(syllabus, known, questions, n_classes)
    counts[:, FALLBACK] += len(trained.weights) - len(known)
    return counts
