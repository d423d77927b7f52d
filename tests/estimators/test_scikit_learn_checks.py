"""scikit-learn's own checks: all pass with a seed, and without one all but those that compare two fits."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.utils.estimator_checks import (
    check_dataframe_column_names_consistency,
    estimator_checks_generator,
    parametrize_with_checks,
)

from mapl import PrivateClassifier, PrivateOracle

# Only labels are private, so that fit(X, y) needs no public rows. The tables of the checks are tiny: few teachers
# and a large epsilon leave something to learn from them.
CHECKED = PrivateClassifier(
    "ridge",
    adjacency="labels",
    classes="labels",
    epsilon=20.0,
    delta=1e-3,
    n_teachers=8,
    student="logistic",
    n_jobs=1,
)

NOT_REPRODUCIBLE = "two fits differ: noise and shards come from the operating system"
FEW_LABELS = "ten noisy labels of three classes: once in sixty fits none of them is the class that has the weight"
EXCEPTIONS = {
    "check_class_weight_classifiers": FEW_LABELS,
    "check_classifier_data_not_an_array": NOT_REPRODUCIBLE,
    "check_fit_idempotent": NOT_REPRODUCIBLE,
    "check_pipeline_consistency": NOT_REPRODUCIBLE,
    "check_supervised_y_2d": NOT_REPRODUCIBLE,
}
"""The checks that a private classifier cannot pass every time; with a seed it passes all of them."""


class Careless(PrivateClassifier):
    """Fits its clones, which the real one refuses: the checks clone whatever they fit."""

    __sklearn_clone__ = BaseEstimator.__sklearn_clone__


COUNTED = clone(CHECKED).set_params(learner=None, n_teachers="auto", method="cells", seed=0)


@parametrize_with_checks([clone(CHECKED).set_params(seed=0), COUNTED])
def test_with_a_seed_every_check_passes(estimator: PrivateClassifier, check: Callable[[Any], None]) -> None:
    check(estimator)


@pytest.mark.parametrize(
    ("estimator", "check"),
    [
        pytest.param(estimator, check, id=check.func.__name__)
        for estimator, check in estimator_checks_generator(Careless(**CHECKED.get_params()))
        if check.func.__name__ not in EXCEPTIONS
    ],
)
@pytest.mark.filterwarnings("ignore::mapl.PrivacyWarning")
def test_without_one_all_others_do(estimator: PrivateClassifier, check: Callable[[Any], None]) -> None:
    check(estimator)


def test_every_exception_is_a_check() -> None:
    names = {check.func.__name__ for _, check in estimator_checks_generator(CHECKED)}
    assert names >= set(EXCEPTIONS)


@pytest.mark.filterwarnings("ignore:Estimator does not have a feature_names_in_:FutureWarning")
def test_names_of_columns_are_kept_and_compared() -> None:
    check_dataframe_column_names_consistency("PrivateClassifier", clone(CHECKED).set_params(seed=0))


def test_scikit_learn_is_told_that_fits_differ_unless_they_are_seeded() -> None:
    assert CHECKED.__sklearn_tags__().non_deterministic
    assert not clone(CHECKED).set_params(seed=0).__sklearn_tags__().non_deterministic


@pytest.mark.parametrize("estimator", [PrivateClassifier(), PrivateOracle()], ids=["classifier", "oracle"])
def test_settings_are_kept_as_they_are_given(estimator: Any) -> None:
    changed = clone(estimator).set_params(epsilon=0.5, classes=("a", "b"), settings={"max_abstentions": 3})
    assert changed.get_params()["epsilon"] == 0.5
    assert estimator.get_params()["classes"] is None
    shown = re.sub(r"\s+", " ", repr(changed))
    assert (
        shown == f"{type(estimator).__name__}(classes=('a', 'b'), epsilon=0.5, settings={{'max_abstentions': 3}})"
    )
    with pytest.raises(ValueError, match="Invalid parameter 'random_state'"):
        estimator.set_params(random_state=0)
