"""Students of soft labels: probabilities in, probabilities out, in a file that is safe to open."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from released_table import public_table
from scipy.special import expit, softmax
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge

from mapl.data.tables.classes import Classes
from mapl.errors import InvalidData, InvalidParameter
from mapl.students.file.student_file import dumps, loads
from mapl.students.soft.logistic import SoftLogistic, calibrate_log_odds
from mapl.students.soft.multinomial import calibrate_slope
from mapl.students.soft.student import train_soft_student

TWO = Classes(("no", "yes"))


def world(n: int = 1500, noise: float = 0.5, seed: int = 0) -> tuple[Any, Any, Any]:
    draws = np.random.default_rng(seed)
    rows = draws.normal(size=(n, 4))
    truth = expit(1.5 * rows[:, 0] - rows[:, 1])
    return rows, truth, truth + draws.normal(0, noise, n)


def test_noisy_targets_outside_0_and_1_are_learned_without_bias() -> None:
    rows, truth, values = world(6000, noise=1.0)
    assert ((values < 0) | (values > 1)).mean() > 0.3
    student = train_soft_student(rows, values, classes=TWO)
    told = student.predict_proba(rows)
    assert told.shape == (6000, 2)
    assert ((told >= 0) & (told <= 1)).all()
    assert np.allclose(told.sum(axis=1), 1)
    assert np.abs(told[:, 1] - truth).mean() < 0.04
    cut_off = train_soft_student(rows, values.clip(0, 1), classes=TWO).predict_proba(rows)[:, 1]
    assert np.abs(cut_off - truth).mean() > 3 * np.abs(told[:, 1] - truth).mean()


def test_classes_follow_the_probabilities() -> None:
    rows, truth, values = world()
    student = train_soft_student(rows, values, classes=TWO)
    assert student.strategy == "soft"
    assert student.n_labels == 1500
    told = student.predict_proba(rows)[:, 1]
    clear = np.abs(told - 0.5) > 1e-9
    assert ((student.predict(rows) == "yes") == (told >= 0.5))[clear].all()
    assert ((student.predict_codes(rows) == 1) == (truth > 0.5)).mean() > 0.9


def test_rows_without_a_value_are_left_out() -> None:
    rows, truth, values = world()
    values[::3] = np.nan
    student = train_soft_student(rows, values, classes=TWO)
    assert student.n_labels == 1000
    assert np.abs(student.predict_proba(rows)[:, 1] - truth).mean() < 0.08


def test_values_with_less_noise_count_more() -> None:
    rows, truth, values = world(800, noise=2.0)
    spreads = np.full(800, 2.0)
    values[:200], spreads[:200] = truth[:200], 0.05
    errors = [
        np.abs(train_soft_student(rows, values, classes=TWO, spreads=s).predict_proba(rows)[:, 1] - truth).mean()
        for s in (spreads, None)
    ]
    assert errors[0] < 0.5 * errors[1]


def test_tables_of_every_kind_and_a_file_that_reads_back() -> None:
    public = public_table()
    values = np.where(public.truth == 1, 0.9, 0.1) + np.random.default_rng(0).normal(0, 0.3, len(public.truth))
    student = train_soft_student(public.rows, values, classes=public.classes)
    again = loads(dumps(student))
    assert np.array_equal(student.predict_proba(public.rows), again.predict_proba(public.rows))
    assert (again.predict_codes(public.rows) == public.truth).mean() > 0.8
    assert again.predict(public.rows).tolist() == student.predict(public.rows.to_pandas()).tolist()


@pytest.mark.parametrize("regressor", [Ridge(), LinearRegression(), HistGradientBoostingRegressor(max_iter=20)])
def test_any_regressor_may_learn(regressor: Any) -> None:
    rows, truth, values = world()
    student = train_soft_student(rows, values, classes=TWO, learner=regressor)
    told = loads(dumps(student)).predict_proba(rows)[:, 1]
    assert ((told >= 0) & (told <= 1)).all()
    assert np.corrcoef(told, truth)[0, 1] > 0.85
    assert student.learner == type(regressor).__name__


def test_the_same_values_give_the_same_student() -> None:
    rows, _, values = world()
    one, two = (train_soft_student(rows, values, classes=TWO).predict_proba(rows) for _ in range(2))
    assert np.array_equal(one, two)


def test_few_values_are_enough_for_a_student() -> None:
    rows, _, values = world(12)
    assert train_soft_student(rows, values, classes=TWO).predict_proba(rows).shape == (12, 2)
    one = np.full(12, np.nan)
    one[4] = 0.3
    told = train_soft_student(rows, one, classes=TWO).predict_proba(rows)[:, 1]
    assert np.allclose(told, 0.3, atol=0.05)


def test_a_slope_mends_what_a_penalty_flattens() -> None:
    rows, truth, values = world(4000, noise=0.1)
    flat = SoftLogistic(("no", "yes"), penalty=3000.0).fit(rows, values)
    slope, offset = calibrate_log_odds(flat.decision_function(rows), values, np.ones(4000))
    assert slope > 1.5
    steep = SoftLogistic(("no", "yes"), penalty=3000.0, slope=slope, offset=offset).fit(rows, values)
    errors = [np.abs(one.predict_proba(rows)[:, 1] - truth).mean() for one in (steep, flat)]
    assert errors[0] < 0.5 * errors[1]


def test_refusals() -> None:
    rows, _, values = world(60)
    for learner in (LogisticRegression(), "hgb", Ridge):
        with pytest.raises(InvalidParameter, match="does not learn from probabilities"):
            train_soft_student(rows, values, classes=TWO, learner=learner)
    with pytest.raises(InvalidData, match="None of the public rows"):
        train_soft_student(rows, np.full(60, np.nan), classes=TWO)
    with pytest.raises(InvalidData, match="one value for each of the 60"):
        train_soft_student(rows, values[:-1], classes=TWO)
    with pytest.raises(InvalidData, match="There are 3 classes"):
        train_soft_student(rows, values, classes=Classes(("a", "b", "c")))


def test_rows_of_three_probabilities_are_learned_without_bias() -> None:
    draws = np.random.default_rng(0)
    rows = draws.normal(size=(1500, 3))
    truth = softmax(2 * rows, axis=1)
    noise = draws.normal(0, 0.5, truth.shape)
    values = truth + noise - noise.mean(axis=1, keepdims=True)
    values[::5] = np.nan
    three = Classes(("a", "b", "c"))
    student = train_soft_student(rows, values, classes=three)
    assert student.n_labels == 1200
    told = loads(dumps(student, statement="{}")).predict_proba(rows)
    assert np.allclose(told.sum(axis=1), 1)
    assert np.abs(told - truth).mean() < 0.05
    assert (student.predict(rows) == np.array(["a", "b", "c"])[told.argmax(axis=1)]).all()
    with pytest.raises(InvalidData, match="one for each of more than two"):
        train_soft_student(rows, values[:, 0], classes=three)
    with pytest.raises(InvalidParameter, match="soft labels of 3 classes are auto or logistic"):
        train_soft_student(rows, values, classes=three, learner=Ridge())


def test_the_slope_mends_what_a_penalty_flattens() -> None:
    scores = np.random.default_rng(1).normal(size=(4000, 3))
    assert calibrate_slope(scores, softmax(2.5 * scores, axis=1), np.ones(4000)) == pytest.approx(2.5, rel=0.01)
    assert calibrate_slope(scores, softmax(-scores, axis=1), np.ones(4000)) == 1.0
