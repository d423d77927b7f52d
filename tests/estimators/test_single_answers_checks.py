"""scikit-learn's own checks of the faces of single answers: what they pass, and why they fail the rest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sklearn.base import ClassifierMixin
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks

from mapl import PrivatePredictor, SemiPrivateClassifier, StableClassifier


class LabelPrivate(SemiPrivateClassifier):
    """Hands its own rows over as the public ones, so that fit(X, y) needs no others, as the checks want it."""

    def fit(self, X: Any, y: Any, *, public: Any = None) -> Any:
        return super().fit(X, y, public=X)


class Told(ClassifierMixin, PrivatePredictor):  # type: ignore[misc]
    """Answers where a check predicts, so that `answer` is checked too."""

    def predict(self, X: Any) -> Any:  # type: ignore[override]
        return self.answer(X)

    predict_proba = property()  # type: ignore[assignment]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


# The tables of the checks are tiny: a large epsilon, or gamma, leaves something to learn from them.
PRIVATE = {"classes": "labels", "epsilon": 9000.0, "seed": 0}
FACES = [
    PrivatePredictor(**PRIVATE, n_queries=300),
    StableClassifier(classes="labels", gamma=0.4, seed=0),
    LabelPrivate(classes="labels", epsilon=20.0, seed=0),
    Told(**PRIVATE, n_queries=300),
]

REFUSED = "predict is refused, since every answer is drawn anew or paid for"
NEVER_COPIED = "a fitted predictor holds private rows and coins, and is never copied"
OTHER_WORDS = "three classes are refused, but in mapl's words and not in scikit-learn's"
PREDICTING = (
    "check_n_features_in_after_fitting",
    "check_estimators_dtypes",
    "check_dtype_object",
    "check_estimator_sparse_array",
    "check_estimator_sparse_matrix",
    "check_f_contiguous_array_estimator",
    "check_methods_sample_order_invariance",
    "check_methods_subset_invariance",
    "check_dict_unchanged",
    "check_fit_idempotent",
    "check_fit2d_predict1d",
)
EXPECTED: dict[type, dict[str, str]] = {
    PrivatePredictor: {**dict.fromkeys(PREDICTING, REFUSED), "check_estimators_pickle": NEVER_COPIED},
    StableClassifier: {**dict.fromkeys(PREDICTING, REFUSED), "check_estimators_pickle": NEVER_COPIED},
    LabelPrivate: {"check_classifier_not_supporting_multiclass": OTHER_WORDS},
    Told: {
        "check_estimators_pickle": NEVER_COPIED,
        "check_classifier_not_supporting_multiclass": OTHER_WORDS,
        "check_dtype_object": "a private cell that is no number is missing, and never refused",
    },
}


def expected(estimator: Any) -> dict[str, str]:
    return EXPECTED[type(estimator)]


@parametrize_with_checks(FACES, expected_failed_checks=expected)
def test_all_other_checks_pass(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)


@pytest.mark.parametrize("face", FACES, ids=lambda face: type(face).__name__)
def test_every_exception_is_a_check(face: Any) -> None:
    names = {check.func.__name__ for _, check in estimator_checks_generator(face)}
    assert names >= set(expected(face))
