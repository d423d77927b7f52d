"""The default student is chosen on the released labels, and stays sensible with few or odd ones."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from released_table import public_table

from mapl.data.tables.classes import Classes
from mapl.students import train_student
from mapl.students.contest import CANDIDATES
from mapl.types import ABSTAIN

TWO = Classes(("no", "yes"))


def test_the_default_averages_the_noise_of_labels_that_are_two_thirds_right() -> None:
    public, more = public_table(2000, right=0.67, answered=1.0), public_table(2000, seed=1)
    student = train_student(public.rows, public.labels, classes=TWO)
    assert student.learner == "auto: boosting"
    assert (student.predict_codes(more.rows) == more.truth).mean() > 0.95
    named = train_student(public.rows, public.labels, classes=TWO, learner="auto")
    np.testing.assert_array_equal(named.predict_proba(more.rows), student.predict_proba(more.rows))


def test_a_linear_rule_is_left_to_a_linear_student() -> None:
    draws = np.random.default_rng(0)
    rows = draws.normal(size=(1500, 40))
    truth = (rows.sum(axis=1) > 0).astype(np.int32)
    labels = np.where(draws.random(1500) < 0.75, truth, 1 - truth)
    student = train_student(rows, labels, classes=TWO)
    assert student.learner.startswith(("auto: logistic", "auto: ridge"))
    assert (student.predict_codes(rows) == truth).mean() > 0.87


def test_text_goes_to_a_learner_of_sparse_rows() -> None:
    draws = np.random.default_rng(0)
    truth = np.arange(400) % 2
    words = [["poor", "dull", "weak"], ["fine", "great", "good"]]
    texts = [" ".join(["the", "film", "was", *draws.choice(words[c], 3), str(i)]) for i, c in enumerate(truth)]
    student = train_student(pa.table({"review": texts}), truth, classes=TWO)
    assert student.learner.startswith("auto: logistic")
    assert student.predict(pa.table({"review": ["a great film", "so dull"]})).tolist() == ["yes", "no"]


@pytest.mark.parametrize("n_labels", [2, 5, 29, 30, 31])
def test_few_labels(n_labels: int) -> None:
    public = public_table(60, right=1.0, answered=1.0)
    labels = np.where(np.arange(60) < n_labels, public.truth, ABSTAIN)
    labels[0] = 1 - labels[1]  # at least two classes
    student = train_student(public.rows, labels, classes=TWO)
    assert student.learner == "auto: logistic, C = 0.1" or n_labels >= 30
    assert len(student.predict(public.rows)) == 60


@pytest.mark.parametrize("seed", range(3))
def test_no_penalty_outweighs_few_labels_of_doubtful_rows(seed: int) -> None:
    """Active students ask near the border; where most of what they hear is one class, so says a strict model."""
    draws = np.random.default_rng(seed)
    rows = draws.normal(size=(1000, 4))
    lead = rows[:, 0] - rows[:, 1]
    truth = (lead > 0).astype(np.int32)
    near = np.flatnonzero(np.abs(lead) < 1)
    asked = np.concatenate([near[truth[near] == 1][:60], near[truth[near] == 0][:20]])
    labels = np.full(len(rows), ABSTAIN, dtype=np.int32)
    labels[asked] = np.where(draws.random(len(asked)) < 0.9, truth[asked], 1 - truth[asked])
    student = train_student(rows, labels, classes=TWO)
    assert (student.predict_codes(rows) == truth).mean() > 0.75


@pytest.mark.parametrize("n_rare", [1, 2, 3])
def test_a_class_with_fewer_labels_than_folds(n_rare: int) -> None:
    public = public_table(400)
    labels = np.zeros(400, dtype=np.int32)
    labels[:n_rare] = 1
    assert train_student(public.rows, labels, classes=TWO).warnings == ()


def test_as_many_classes_as_labels() -> None:
    rows = np.arange(40.0)[:, None]
    classes = Classes(tuple(f"c{i}" for i in range(40)))
    student = train_student(rows, np.arange(40), classes=classes)
    assert len(student.predict(rows)) == 40


def test_every_candidate_can_be_fitted_and_weighted() -> None:
    draws = np.random.default_rng(0)
    rows, labels = draws.normal(size=(400, 4)).astype(np.float32), np.arange(400) % 3
    rows[:, 0] += 3 * labels
    for candidate in CANDIDATES:
        assert candidate.suits(rows, 3)
        model = candidate.build(400).fit(rows, labels, sample_weight=np.ones(400))
        assert (model.predict(rows) == labels).mean() > 0.7, candidate.name
    assert [one.name for one in CANDIDATES if one.suits(rows[:100], 3)] == [one.name for one in CANDIDATES[1:]]
    assert [one.name for one in CANDIDATES if one.suits(np.broadcast_to(rows[:1, :1], (10**5, 10**3)), 2)] == [
        "logistic, C = 0.01",
        "ridge",
    ]
