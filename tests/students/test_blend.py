"""A linear model of images beside a kernel that it taught."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from mapl.data.drafts.draft_schema import draft_schema
from mapl.data.encoding.choice import encoder_for, with_bins
from mapl.data.encoding.encoder import Encoder
from mapl.data.moments.feature_map import FeatureMap
from mapl.data.moments.row_map import RowMap
from mapl.data.tables.classes import Classes
from mapl.errors import InvalidData
from mapl.students.file.student_file import dumps, loads, name_learner
from mapl.students.images.blend import DOUBT, KERNEL, SURENESS, BlendStudent
from mapl.students.moments.linear import LinearStudent
from mapl.students.moments.student import BLENDED, LINEAR, MomentsLesson, MomentsStudent, sees_images

CLASSES = Classes(("bright left", "bright right", "bright below"))
SIDE = 8


def pictures(n: int, seed: int) -> tuple[pa.Table, NDArray[np.int64]]:
    """Noisy pictures of which one part is brighter."""
    draws = np.random.default_rng(seed)
    truth = draws.integers(3, size=n)
    images = draws.integers(0, 120, size=(n, SIDE, SIDE))
    for where, code in ((np.s_[:, :, :4], 0), (np.s_[:, :, 4:], 1), (np.s_[:, 4:, :], 2)):
        images[where] += np.where(truth == code, 100, 0)[:, None, None]
    column = pa.FixedSizeListArray.from_arrays(pa.array(images.reshape(-1).astype(np.uint8)), SIDE * SIDE)
    return pa.table({"pixels": column}), truth


@pytest.fixture(scope="module")
def taught() -> Any:
    """How students of public pictures are made, and a linear model of them."""
    rows, truth = pictures(240, 0)
    schema = draft_schema(rows, label="label", classes=CLASSES.names)
    encoder = with_bins(encoder_for(schema, rows), schema, bins=False, dense=True)
    encoded = encoder.transform(rows)
    features = FeatureMap.fit(encoded, ridge=0.3)
    means = np.stack([features(encoded)[truth == code].mean(axis=0) for code in range(3)], axis=1)
    weights = 40 * (means - means.mean(axis=1, keepdims=True)) / np.abs(means).max()
    lesson = MomentsLesson(RowMap(encoder, features), weights)
    return MomentsStudent(CLASSES, schema), rows, lesson


def test_images_get_a_kernel_beside_the_linear_model(taught: Any) -> None:
    student, rows, lesson = taught
    made = student.train(rows, lesson)
    assert made.learner == BLENDED != LINEAR
    others, truth = pictures(120, 1)
    chances = made.predict_proba(others)
    assert np.allclose(chances.sum(axis=1), 1)
    assert (chances >= 0).all()
    assert (made.predict_codes(others) == chances.argmax(axis=1)).all()
    assert (made.predict_codes(others) == truth).mean() > 0.8
    encoded = made.model.steps[0][1].transform(others)
    assert made.model.steps[-1][1].predict_proba(encoded[:0]).shape == (0, chances.shape[1])


def test_it_says_what_both_say_together(taught: Any) -> None:
    student, rows, lesson = taught
    made = student.train(rows, lesson)
    encoded = made.model.steps[0][1].transform(rows)
    both: BlendStudent = made.model.steps[-1][1]
    linear = both.linear.predict_proba(encoded)
    points = encoded[:, both.n_spectral :].astype(np.float64)
    gaps = ((points[:, None] - points) ** 2).sum(axis=2)
    kernel = np.exp(-both.rate_ * gaps)
    share = linear.mean(axis=0)
    told = np.maximum(kernel @ np.linalg.solve(kernel + 0.01 * np.eye(len(points)), linear - share) + share, 0)
    parts = [told, linear**DOUBT]
    parts = [one / one.sum(axis=1, keepdims=True) for one in parts]
    expected = (KERNEL * parts[0] + (1 - KERNEL) * parts[1]) ** SURENESS
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(both.predict_proba(encoded), expected, atol=2e-3)


def test_a_student_file_holds_it(taught: Any, tmp_path: Path) -> None:
    student, rows, lesson = taught
    made = student.train(rows, lesson)
    again = loads(dumps(made))
    assert np.array_equal(again.predict_proba(rows), made.predict_proba(rows))
    path = tmp_path / "student.skops"
    path.write_bytes(dumps(made))
    assert name_learner(path) == BLENDED
    path.write_bytes(b"PK")
    with pytest.raises(InvalidData, match="damaged"):
        name_learner(path)


def test_what_nobody_speaks_for_is_even() -> None:
    """The kernel of a place far from all public rows says little; a row of zeros has equal chances."""
    draws = np.random.default_rng(3)
    encoded = draws.normal(size=(40, 4)).astype(np.float32)
    features = FeatureMap.fit(encoded, ridge=0.3)
    linear = LinearStudent(features.turn, np.zeros((features.width, 3)), np.array(["a", "b", "c"]))
    both = BlendStudent(linear).fit(encoded)
    for rows in (encoded, 1e4 * encoded):
        np.testing.assert_allclose(both.predict_proba(rows), 1 / 3, atol=1e-6)


def test_texts_beside_images_and_named_learners_stay_as_they_were(taught: Any) -> None:
    student, rows, lesson = taught
    assert replace(student, learner="logistic").train(rows, lesson).learner == "logistic"
    assert not sees_images(Encoder.of(student.schema))
