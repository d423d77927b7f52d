"""The kernel student: any number of classes, clean borders, and labels cleaned before they are learned."""

from __future__ import annotations

import numpy as np
import pytest
import skops.io
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process.kernels import RBF

from mapl.students.images import kernel as module
from mapl.students.images.kernel import KernelStudent


def rings(n: int, *, seed: int = 0, n_classes: int = 3) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Classes that no line parts."""
    draws = np.random.default_rng(seed)
    truth, angle = draws.integers(n_classes, size=n), draws.uniform(0, 2 * np.pi, n)
    radius = 1 + truth + 0.1 * draws.normal(size=n)
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1).astype(np.float32), truth


@pytest.mark.parametrize("names", [np.array(["a", "b", "c"]), np.array([7, 3, 10])], ids=["text", "numbers"])
def test_borders_that_bend(names: NDArray[np.str_]) -> None:
    rows, truth = rings(600)
    others, their = rings(300, seed=1)
    model = KernelStudent(sharpness=5.0).fit(rows, names[truth])
    assert (model.predict(others) == names[their]).mean() > 0.97
    assert model.decision_function(others).shape == (300, 3)


def test_scores_solve_the_equations_of_kernel_ridge_regression() -> None:
    rows, truth = rings(80)
    others, _ = rings(20, seed=1)
    model = KernelStudent().fit(rows, truth)
    gaps = ((rows[:, None] - rows) ** 2).sum(axis=2)
    law = RBF(np.sqrt(np.median(gaps) / 0.6))
    targets = np.eye(3)[truth]
    dual = np.linalg.solve(law(rows) + 0.3 * np.eye(80), targets - targets.mean(axis=0))
    expected = law(others, rows) @ dual + targets.mean(axis=0)
    np.testing.assert_allclose(model.decision_function(others), expected, atol=1e-3)


def test_two_classes_have_one_score() -> None:
    rows, truth = rings(200, n_classes=2)
    model = KernelStudent(sharpness=5.0).fit(rows, truth)
    scores = model.decision_function(rows)
    assert scores.shape == (200,)
    assert np.array_equal(scores > 0, model.predict(rows) == 1)


def test_coordinates_clean_the_labels_and_serve_for_nothing_else() -> None:
    rows, truth = rings(900)
    draws = np.random.default_rng(2)
    labels = np.where(draws.random(900) < 0.3, truth, draws.integers(3, size=900))
    coordinates = np.eye(3, dtype=np.float32)[truth]
    others, their = rings(300, seed=1)
    nowhere = np.zeros((300, 3), np.float32)
    mended = KernelStudent(n_spectral=3, sharpness=5.0).fit(np.hstack([coordinates, rows]), labels)
    as_they_are = KernelStudent(sharpness=5.0).fit(rows, labels)
    mended_accuracy = (mended.predict(np.hstack([nowhere, others])) == their).mean()
    assert mended_accuracy > 0.97
    assert mended_accuracy > (as_they_are.predict(others) == their).mean() + 0.02


def test_weights_count() -> None:
    rows, truth = rings(200, n_classes=2)
    doubtful = np.arange(200) % 2 == 0
    labels = np.where(doubtful, 1 - truth, truth)
    model = KernelStudent(sharpness=5.0).fit(rows, labels, sample_weight=np.where(doubtful, 0.0, 1.0))
    assert (model.predict(rows) == truth).mean() > 0.97


def test_of_very_many_rows_some_become_anchors(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, truth = rings(500)
    monkeypatch.setattr(module, "MOST_ANCHORS", 200)
    monkeypatch.setattr(module, "DISTANCES_AT_ONCE", 1000)
    model = KernelStudent(sharpness=5.0).fit(rows, truth)
    assert len(model.anchors_) == 200
    assert (model.predict(rows) == truth).mean() > 0.95


def test_rows_that_are_all_alike() -> None:
    model = KernelStudent().fit(np.zeros((5, 2)), [1, 1, 0, 1, 0])
    assert (model.predict(np.zeros((3, 2))) == 1).all()


def test_it_can_be_cloned_and_stored() -> None:
    rows, truth = rings(100)
    model = clone(KernelStudent(sharpness=5.0)).fit(rows, truth)
    stored = skops.io.dumps(model)
    name = "mapl.students.images.kernel.KernelStudent"
    assert skops.io.get_untrusted_types(data=stored) == [name]
    assert np.array_equal(skops.io.loads(stored, trusted=[name]).predict(rows), model.predict(rows))
    with pytest.raises(NotFittedError):
        KernelStudent().predict(rows)
