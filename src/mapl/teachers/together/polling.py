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
from mapl.teachers.panel.linear import LinearPanel
from mapl.teachers.together.logistic import Logistic
from mapl.teachers.together.naive_bayes import GaussianBayes
from mapl.teachers.together.recognition import Syllabus
from mapl.teachers.together.training import TrainedTogether, train_together
from mapl.types import Flags

TEACHERS_AT_ONCE = 1024
"""A public number: where a batch ends tells nothing about shards."""

ENOUGH_TO_COMPILE = 1000
"""With fewer teachers, numba takes longer to load than it saves. Public, too."""


def hasten(syllabus: Syllabus, n_teachers: int) -> Syllabus:
    """Have very many teachers trained by compiled code, where numba is there; no private row has a say in it."""
    family = syllabus.family
    if n_teachers < ENOUGH_TO_COMPILE or not isinstance(family, (Logistic, GaussianBayes)) or not can_compile():
        return syllabus
    return replace(syllabus, family=replace(family, compiled=True))


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
            features = syllabus.family.features(questions)
            panel = LinearPanel.of(known, n_features=features.shape[1], n_classes=n_classes)
            counts += panel.votes(features).counts
    counts[:, FALLBACK] += len(trained.weights) - len(known)
    return counts
