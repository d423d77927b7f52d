"""scikit-learn's own checks of the soft classifier, with a seed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sklearn.utils.estimator_checks import parametrize_with_checks

from mapl import PrivateSoftClassifier

# Only labels are private, so that fit(X, y) needs no public rows; the tables of the checks are tiny.
CHECKED = PrivateSoftClassifier(
    "ridge", adjacency="labels", classes="labels", epsilon=20.0, delta=1e-3, n_teachers=8, n_jobs=1, seed=0
)


@parametrize_with_checks([CHECKED])
def test_with_a_seed_every_check_passes(estimator: PrivateSoftClassifier, check: Callable[[Any], None]) -> None:
    check(estimator)
