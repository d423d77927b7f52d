"""Refuse students whose numbers no honest one has: what is no number, what is infinite, what nothing fits.

Such a file predicts, and what it says means nothing: where a weight is no number no score is one, and the first
class wins. The compiled code of vector machines goes further and reads as many numbers as other numbers say.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from mapl.errors import InvalidData
from mapl.students.file.tree_bounds import parts_of

BROKEN = (
    "The student file holds weights that are no finite numbers, or more or fewer of them than its classes and "
    "columns need; it is damaged or forged. Do not use it."
)

WEIGHTS = {"coef_", "intercept_", "coefs_", "intercepts_", "support_vectors_", "theta_", "var_", "class_prior_"}
WEIGHTS |= {"dual_coef_", "_dual_coef_", "_intercept_", "_gamma", "_probA", "_probB", "_baseline_prediction"}
LOGARITHMS = {"feature_log_prob_", "class_log_prior_"}
"""What scikit-learn's models predict by, and where a chance of 0 is honest. Scores that they keep beside it may be
nothing for honest reasons. Of mapl's own parts every number counts."""

NUMBERS = "fcmM"
"""What computes like a number but is no whole one: real ones are meant, no complex ones and no times."""

BY_CLASS = {"feature_log_prob_": 0, "class_log_prior_": 0, "theta_": 0, "var_": 0}
BY_CLASS |= {"dual_": 1, "shares_": 0, "weights": 1}
"""Arrays with a place for every class -> the axis of these places."""


def refuse_unsound_weights(model: Any) -> None:
    """Look at all numbers that a loaded model predicts by, before it does so for the first time."""
    for _, part in parts_of(model):
        if isinstance(part, np.ndarray) and part.size and not part.itemsize:  # as long as it likes, of no bytes
            raise InvalidData(BROKEN)
        if isinstance(part, type) or not hasattr(part, "__dict__"):
            continue
        found = vars(part)
        own = type(part).__module__.startswith("mapl.")
        finite = all(_finite(value) for name, value in found.items() if own or name in WEIGHTS)
        if not (finite and all(_no_more(found[name]) for name in LOGARITHMS & found.keys()) and _fit(part, found)):
            raise InvalidData(BROKEN)
        if "tree_" in found and not np.isfinite(found["tree_"].value).all():
            raise InvalidData(BROKEN)
        if hasattr(part, "raw_left_cat_bitsets") and not np.isfinite(found["nodes"]["value"]).all():
            raise InvalidData(BROKEN)


def _finite(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return all(map(_finite, value))
    if isinstance(value, Mapping):
        return all(map(_finite, value.values()))
    if sp.issparse(value):
        value = value.data
    numbers = np.asarray(value) if isinstance(value, (float, np.floating)) else value
    if not isinstance(numbers, np.ndarray) or numbers.dtype.kind not in NUMBERS:
        return True
    return numbers.dtype.kind == "f" and bool(np.isfinite(numbers).all())


def _no_more(logarithms: Any) -> bool:
    """Say whether these are logarithms of numbers; of zero too."""
    return not isinstance(logarithms, np.ndarray) or bool((logarithms < np.inf).all())


def _fit(part: Any, found: Mapping[str, Any]) -> bool:
    """Say whether arrays fit classes, columns and each other as far as computing with them would not show it."""
    if "maps" in found:
        return _maps_fit(found)
    classes = getattr(part, "classes_", None)
    if not isinstance(classes, np.ndarray) or classes.ndim != 1:
        return "level" not in found or found["weights"].shape[1:] == (1,)  # a model of numbers
    n = len(classes)
    if "_n_support" in found:
        return _vectors_fit(found, n)
    arrays = [(found[name], axis) for name, axis in BY_CLASS.items() if isinstance(found.get(name), np.ndarray)]
    if not all(array.ndim > axis and array.shape[axis] == n for array, axis in arrays):
        return False
    n_scores = 1 if n == 2 and type(part).__name__ != "SoftMultinomial" else n
    if isinstance(found.get("coef_"), np.ndarray):
        rows = np.atleast_2d(found["coef_"])
        return len(rows) == n_scores and np.size(found.get("intercept_", 0.0)) in (1, n_scores)
    if isinstance(found.get("coefs_"), list):
        return bool(found["coefs_"][-1].shape[1] == n_scores)
    return True


def _vectors_fit(found: Mapping[str, Any], n: int) -> bool:
    """Compare the arrays of a vector machine with each other: compiled code reads them by their counts."""
    n_vectors, pairs = int(np.sum(found["_n_support"])), n * (n - 1) // 2
    return bool(
        found["_n_support"].shape == (n,)
        and (found["_n_support"] >= 0).all()
        and found["support_"].shape == (n_vectors,)
        and found["support_vectors_"].shape == (n_vectors, found["n_features_in_"])
        and all(found[name].shape == (n - 1, n_vectors) for name in ("dual_coef_", "_dual_coef_"))
        and all(found[name].shape == (pairs,) for name in ("intercept_", "_intercept_"))
        and all(found[name].shape in ((0,), (pairs,)) for name in ("_probA", "_probB"))
    )


def _maps_fit(found: Mapping[str, Any]) -> bool:
    """Compare the maps of a `PublicEncoder` with each other."""
    maps = found["maps"]
    n_landmarks, dim = len(maps["landmarks"]), len(maps["pace"])
    return bool(
        maps["mean"].shape == maps["axes"].shape[:1]
        and maps["radii"].shape == (n_landmarks,)
        and maps["walk"].shape == (n_landmarks, dim)
        and found["n_spectral"] <= dim
        and found["n_principal"] <= maps["axes"].shape[1]
    )
