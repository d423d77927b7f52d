"""A student made of scikit-learn alone: a file that skops opens where mapl is not installed."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

import numpy as np

from mapl.errors import InvalidParameter
from mapl.students.exports import steps
from mapl.students.exports.plain_student import PlainStudent, about, plain_student
from mapl.students.exports.sklearn_encoder import sklearn_encoder
from mapl.students.exports.steps import Steps
from mapl.students.file.canonical_archive import extend, model_archive
from mapl.students.fitting import encoder_of
from mapl.students.student import Student
from mapl.types import Floats

ABOUT = "mapl.json"
"""The member that says what is promised; skops leaves it alone."""


def write_sklearn(student: Student) -> bytes:
    """Return a file for ``skops.io.load``: a fitted Pipeline, and what it promises beside it."""
    told = {"format": "mapl student, scikit-learn", "format_version": 1, **about(student)}
    content = json.dumps(told, indent=2, ensure_ascii=False).encode()
    return extend(model_archive(sklearn_pipeline(student)), [(ABOUT, content)])


def sklearn_pipeline(student: Student) -> Any:
    """Return a fitted Pipeline without any part of mapl, or refuse in words."""
    if _is_foreign(student.model) and student.scale is None and student.class_weights is None:
        return student.model  # an estimator of the user's own choice, which mapl only trained
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import FunctionTransformer

    plain = plain_student(student)
    encode = ("encode", sklearn_encoder(plain))
    single = ("single", FunctionTransformer(np.float32))
    return Pipeline([encode, single, *_last_steps(student, plain)])


def _last_steps(student: Student, plain: PlainStudent) -> list[tuple[str, Any]]:
    names = [step.name for step in plain.steps]
    before: list[tuple[str, Any]] = []
    own = plain.steps[1:] if names[0] == steps.SINGLE else plain.steps
    if own[0].name == steps.FEATURE_MAP:
        before, own = _feature_map(own[0].values), own[1:]
        # The map of mapl has whole numbers up to its unit where scikit-learn has a norm of 1.
        own = (steps.linear(own[0].values["weights"] * 2.0**18, own[0].values["offsets"]), *own[1:])
    kinds = [step.name for step in own]
    if plain.class_weights is None and kinds in (
        [steps.LINEAR, steps.SOFTMAX],
        [steps.LINEAR, steps.SOFTMAX, steps.SCALE],
    ):
        return [*before, ("model", _logistic(own, plain))]
    if kinds == [steps.LINEAR, steps.CUT, steps.LINEAR, steps.CUT]:
        return [*before, ("model", _cut_linear(own))]
    last = student.model.steps[-1][1] if encoder_of(student.model) is not None else student.model
    if _is_foreign(last) and student.scale is None and plain.class_weights is None and steps.PROJECT not in names:
        return [("model", deepcopy(last))]
    raise InvalidParameter(
        f"The student ({student.learner}) does something that no estimator of scikit-learn does by itself"
        f"{_what(student, plain)}. Export it to onnx or json, or keep it as student.skops."
    )


def _what(student: Student, plain: PlainStudent) -> str:
    if plain.class_weights is not None:
        return ": its probabilities are weighed before the largest one decides"
    if student.scale is not None:
        return ": its probabilities are mended by what was released"
    return ""


def _feature_map(values: dict[str, Any]) -> list[tuple[str, Any]]:
    """A constant beside the row, a product, a norm of 1; rounding aside, which is below 2^-17 of the norm."""
    from sklearn.decomposition import TruncatedSVD
    from sklearn.preprocessing import Normalizer, PolynomialFeatures

    turn = values["turn"]
    width = len(turn) - 1
    constant = PolynomialFeatures(degree=1).fit(np.zeros((1, width)))
    product = TruncatedSVD(n_components=turn.shape[1])
    product.components_ = np.ascontiguousarray(np.vstack([turn[-1:], turn[:-1]]).T)
    product.n_features_in_ = width + 1
    return [("constant", constant), ("turn", product), ("norm", Normalizer())]


def _logistic(own: Steps, plain: PlainStudent) -> Any:
    """Softmax of linear scores; a scale of these is linear again."""
    from sklearn.linear_model import LogisticRegression

    weights, offsets = own[0].values["weights"], own[0].values["offsets"]
    if len(own) == 3:
        slope = own[2].values["slope"]
        weights, offsets = slope * weights, slope * offsets + own[2].values["offsets"]
    if weights.shape[1] == 2:
        weights, offsets = weights[:, 1:] - weights[:, :1], offsets[1:] - offsets[:1]
    model = LogisticRegression()
    # As scikit-learn itself has it: the order of classes is that of their names.
    names = np.array(plain.labels)
    order = np.argsort(names)
    coefficients = weights.T.copy()
    if len(coefficients) > 1:
        coefficients, offsets = coefficients[order], offsets[order]
    elif order[0] == 1:
        coefficients, offsets = -coefficients, -offsets
    model.classes_, model.coef_, model.intercept_ = names[order], coefficients, offsets
    model.n_features_in_, model.n_iter_ = len(weights), np.zeros(1, dtype=np.int32)
    return model


def _cut_linear(own: Steps) -> Any:
    """A linear model whose numbers are cut off: low + relu(x - low) - relu(x - high), a network of two."""
    from sklearn.neural_network import MLPRegressor

    first, _, second, ends = (step.values for step in own)
    half, middle = float(second["weights"][0, 0]), float(second["offsets"][0])
    weights: Floats = half * first["weights"]
    offset = half * float(first["offsets"][0]) + middle
    model = MLPRegressor(hidden_layer_sizes=(2,), activation="relu")
    model.coefs_ = [np.hstack([weights, weights]), np.array([[1.0], [-1.0]])]
    model.intercepts_ = [np.array([offset - ends["low"], offset - ends["high"]]), np.array([ends["low"]])]
    model.n_layers_, model.n_outputs_, model.out_activation_ = 3, 1, "identity"
    model.n_features_in_ = len(weights)
    return model


def _is_foreign(model: Any) -> bool:
    """Say whether no part of a model is mapl's."""
    from mapl.students.file.tree_bounds import parts_of

    return not any(type(part).__module__.startswith("mapl.") for _, part in parts_of(model))
