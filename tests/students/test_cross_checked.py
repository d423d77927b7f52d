"""Labels are told by all other rows, exactly, and doubtful rows hardly count."""

from __future__ import annotations

from functools import cache

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.gaussian_process.kernels import RBF

from mapl.data.drafts.draft_schema import draft_schema
from mapl.data.encoding.public_encoder import PublicEncoder
from mapl.data.tables.classes import Classes
from mapl.data.tables.rows import n_rows
from mapl.students.images import kernel
from mapl.students.images.kernel import PENALTY, SHARPNESS, typical_gap
from mapl.students.lesson import Lesson
from mapl.students.strategies.cross_checked import CrossCheck, score_left_out

TEN = Classes(tuple("0123456789"))


@cache
def digits() -> tuple[pa.Table, NDArray[np.int64], PublicEncoder]:
    pixels, truth = load_digits(return_X_y=True)
    chosen = np.random.default_rng(0).permutation(len(pixels))[:700]
    rows = pa.table({"image": pa.FixedSizeListArray.from_arrays(pa.array(pixels[chosen].ravel()), 64)})
    return rows, truth[chosen], PublicEncoder.fit_public(rows, draft_schema(rows))


def noisy(truth: NDArray[np.int64]) -> NDArray[np.int32]:
    draws = np.random.default_rng(1)
    wrong = draws.random(len(truth)) < 0.3
    return np.where(wrong, (truth + draws.integers(1, 10, len(truth))) % 10, truth).astype(np.int32)


def test_left_out_scores_are_those_of_models_that_never_saw_the_row() -> None:
    draws = np.random.default_rng(0)
    points = draws.normal(size=(30, 4)).astype(np.float32)
    targets = np.eye(3)[draws.integers(3, size=30)]
    weights = draws.uniform(0.2, 2.0, size=30)
    found = score_left_out(points, targets, weights)
    law = RBF(np.sqrt(typical_gap(points) / (2 * SHARPNESS)))
    base = targets.mean(axis=0)
    for row in range(30):
        rest = np.delete(np.arange(30), row)
        gram = law(points[rest]) + np.diag(PENALTY / weights[rest])
        expected = law(points[[row]], points[rest]) @ np.linalg.solve(gram, targets[rest] - base) + base
        np.testing.assert_allclose(found[[row]], expected, atol=1e-4)


def test_of_very_many_rows_the_others_are_predicted(monkeypatch: pytest.MonkeyPatch) -> None:
    draws = np.random.default_rng(0)
    truth = draws.integers(2, size=300)
    points = (3 * truth[:, None] + draws.normal(size=(300, 2))).astype(np.float32)
    monkeypatch.setattr(kernel, "MOST_ANCHORS", 200)
    monkeypatch.setattr("mapl.students.strategies.cross_checked.DISTANCES_AT_ONCE", 5000)
    found = score_left_out(points, np.eye(2)[truth], np.ones(300))
    assert (found.argmax(axis=1) == truth).mean() > 0.95


def test_labels_get_better_and_the_doubtful_ones_hardly_count() -> None:
    rows, truth, encoder = digits()
    labels = noisy(truth)
    mended = CrossCheck(encoder)(Lesson(rows, labels, TEN))
    assert n_rows(mended.rows) == 700
    assert mended.weights is not None
    right = mended.codes == truth
    assert (labels == truth).mean() < 0.75
    assert right.mean() > 0.93
    assert mended.weights[~right].mean() < 0.5 * mended.weights[right].mean()
    assert 0 < mended.weights.min() <= mended.weights.max() <= 1


def test_a_row_that_comes_again_does_not_tell_its_own_label() -> None:
    rows, truth, encoder = digits()
    labels = noisy(truth)
    once = CrossCheck(encoder)(Lesson(rows, labels, TEN))
    thrice = Lesson(pa.concat_tables([rows] * 3), np.tile(labels, 3), TEN)
    mended = CrossCheck(encoder)(thrice)
    assert mended.rows.equals(once.rows)
    assert np.array_equal(mended.codes, once.codes)
    assert mended.weights is not None
    assert once.weights is not None
    np.testing.assert_allclose(mended.weights, once.weights)


def test_copies_of_a_row_speak_for_their_classes_by_their_weights() -> None:
    rows, truth, encoder = digits()
    both = np.concatenate([truth, (truth + 1) % 10]).astype(np.int32)
    weights = np.repeat([0.4, 0.6], 700)
    mended = CrossCheck(encoder)(Lesson(pa.concat_tables([rows] * 2), both, TEN, weights=weights))
    assert n_rows(mended.rows) == 700
    assert (mended.codes == (truth + 1) % 10).mean() > 0.95
