"""Noisy counts give probabilities of rare classes back, which clipped counts inflate."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from mapl.data import Classes, draft_schema
from mapl.noise import SeededCoins
from mapl.release.cell_counts import CellCounts
from mapl.students.on_counts import train_on_counts
from mapl.students.probabilities.by_counts import scale_by_counts
from mapl.students.student import Student
from mapl.students.taught_by_counts import Round, TaughtByCounts
from mapl.types import Floats

N_CELLS, PEOPLE, EPSILON = 1500, 6, 0.5


def world(n_classes: int) -> tuple[pa.Table, Floats]:
    """Return public rows, one in each cell, and the true chances of classes there: the last one is rare."""
    x = np.random.default_rng(1).normal(size=(N_CELLS, 2))
    scores = np.stack([k * x[:, 0] - 2.2 * k for k in range(n_classes)], axis=1)
    chances = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    return pa.table({"x": x[:, 0], "z": x[:, 1]}), chances


def student_of(n_classes: int, seed: int) -> tuple[Student, pa.Table, Floats]:
    rows, chances = world(n_classes)
    counts = np.random.default_rng(seed).multinomial(PEOPLE, chances).astype(np.int64)
    mechanism = CellCounts(EPSILON, N_CELLS, n_classes)
    noisy = mechanism.release(counts, SeededCoins(seed))
    told = Round(np.arange(N_CELLS), noisy, EPSILON, mechanism.deviation)
    names = Classes(tuple("abc"[:n_classes]))
    student = train_on_counts(
        TaughtByCounts(rows, (told,)), classes=names, schema=draft_schema(rows), learner="logistic"
    )
    return student, rows, chances


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_rare_class_is_as_rare_as_it_is(n_classes: int) -> None:
    """By clipped counts its mean probability is far too large; the scale takes most of that away."""
    student, rows, chances = student_of(n_classes, seed=3)
    share = float(chances[:, -1].mean())
    before = float(replace(student, scale=None).predict_proba(rows)[:, -1].mean())
    after = float(student.predict_proba(rows)[:, -1].mean())
    assert before > 1.5 * share
    assert abs(after - share) < 0.5 * (before - share)
    told = np.log(student.predict_proba(rows))
    raw = np.log(np.maximum(replace(student, scale=None).predict_proba(rows), 1e-9))
    assert -(chances * told).sum() < -(chances * raw).sum()
    np.testing.assert_array_equal(student.predict_codes(rows), told.argmax(axis=1))


def test_the_scale_changes_no_decision() -> None:
    """Cells that a student did not learn from are harder than others: offsets by these would decide too timidly."""
    student, rows, _ = student_of(3, seed=4)
    assert student.scale is not None
    assert student.scale.slope != 1
    np.testing.assert_array_equal(student.predict_codes(rows), replace(student, scale=None).predict_codes(rows))


def test_counts_that_are_noise_give_no_scale() -> None:
    scores = np.random.default_rng(0).normal(size=(400, 2))
    noise = np.random.default_rng(1).normal(size=(400, 2)) * 9
    assert scale_by_counts(scores, noise, 9.0, np.ones(400)) is None
