"""scikit-learn's own checks of the regressor: all pass with a seed, but one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sklearn.base import clone
from sklearn.utils.estimator_checks import check_dataframe_column_names_consistency, parametrize_with_checks

from mapl import PrivateRegressor

# Only labels are private, so that fit(X, y) needs no public rows.
CHECKED = PrivateRegressor(low=-5, high=5, adjacency="labels", epsilon=20.0, delta=1e-3, seed=0)

EXCEPTIONS = {"check_supervised_y_no_nan": "an infinite private label counts as an end of the range, unrefused"}


@parametrize_with_checks([CHECKED], expected_failed_checks=lambda estimator: EXCEPTIONS)
def test_all_other_checks_pass(estimator: PrivateRegressor, check: Callable[[Any], None]) -> None:
    check(estimator)


def test_names_of_columns_are_kept_and_compared() -> None:
    check_dataframe_column_names_consistency("PrivateRegressor", clone(CHECKED))


def test_scikit_learn_is_told_that_fits_differ_unless_they_are_seeded() -> None:
    assert not CHECKED.__sklearn_tags__().non_deterministic
    assert clone(CHECKED).set_params(seed=None).__sklearn_tags__().non_deterministic
