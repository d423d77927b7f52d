"""A fitted model as steps: from an encoded row to a number per class that the model knows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapl.data.moments.feature_map import UNIT
from mapl.data.tables.classes import Classes
from mapl.data.tables.number_range import NumberRange
from mapl.errors import InvalidParameter
from mapl.students.exports import steps
from mapl.students.exports.steps import ModelStep, Steps
from mapl.students.exports.trees import averaged_trees, boosted_trees
from mapl.teachers.learners.spelling import codes_of
from mapl.types import Floats


def steps_of_model(model: Any, classes: Classes) -> Steps:
    """Return the steps from encoded rows to a probability per declared class, or refuse the model in words."""
    writer = WRITERS.get(type(model).__name__)
    if writer is None or type(model).__module__.partition(".")[0] not in ("sklearn", "mapl"):
        raise InvalidParameter(
            f"The student's model is a {type(model).__name__}, which exports do not hold; they hold "
            f"{', '.join(sorted(WRITERS))}. Keep it as student.skops, or learn again from the released labels, "
            "which is free, with a preset such as logistic, hgb or forest as the student."
        )
    own = tuple(writer(model))
    known = codes_of(model.classes_, classes, len(model.classes_))
    if len(known) == len(classes):
        last = len(own) - 1 - (own[-1].name == steps.SOFTMAX)
        return (*own[:last], _in_order(own[last], np.argsort(known)), *own[last + 1 :])
    return (*own, steps.linear(np.eye(len(classes))[known], np.zeros(len(classes))))


def _in_order(step: ModelStep, order: NDArray[np.int64]) -> ModelStep:
    """Return a step with its columns, one per class, in another order."""
    by_class = {name: step.values[name][..., order] for name in BY_CLASS if name in step.values}
    return ModelStep(step.name, step.values | by_class)


BY_CLASS = ("weights", "offsets", "dual", "value", "base")
"""Arrays whose last axis goes over the classes."""


def constant_steps(model: Any, classes: Classes, width: int) -> Steps:
    """Return the steps of a model that knows one class only."""
    (code,) = codes_of(model.classes_, classes, 1)
    return (steps.linear(np.zeros((width, len(classes))), np.eye(len(classes))[code]),)


def steps_of_regressor(model: Any) -> Steps:
    """Return the steps from encoded rows to a number, for a model that predicts numbers."""
    name = type(model).__name__
    if name == "LinearNumbers":
        known = NumberRange(model.low, model.high)
        return (
            steps.map_features(model.turn),
            steps.linear(_column(model.weights) / UNIT, [model.level]),
            steps.cut(-1.0, 1.0),
            steps.linear([[known.half]], [known.middle]),
            steps.cut(known.low, known.high),
        )
    if name == "HistGradientBoostingRegressor" and getattr(model, "loss", "") == "squared_error":
        return (boosted_trees(model),)
    if name in ("RandomForestRegressor", "ExtraTreesRegressor"):
        return (averaged_trees(list(model.estimators_)),)
    if name == "DecisionTreeRegressor":
        return (averaged_trees([model]),)
    coefficients = np.ravel(getattr(model, "coef_", ()))
    if type(model).__module__.startswith("sklearn.linear_model") and coefficients.size:
        return (steps.linear(_column(coefficients), np.ravel(model.intercept_)),)
    raise InvalidParameter(
        f"The student's regressor is a {name}, which exports do not hold; keep it as student.skops, or learn again "
        "from the released values, which is free, with the student logistic."
    )


def _logistic(model: Any) -> Iterator[ModelStep]:
    yield _linear_scores(model.coef_, model.intercept_, mirrored=False)
    yield steps.softmax()


def _by_scores(model: Any) -> Iterator[ModelStep]:
    """Models with scores only: their softmax, as if they were logarithms; of two, by how much the second leads."""
    yield _linear_scores(model.coef_, model.intercept_, mirrored=True)
    yield steps.softmax()


def _linear_scores(coefficients: Any, offsets: Any, *, mirrored: bool) -> ModelStep:
    weights, told = np.atleast_2d(coefficients).T, np.ravel(offsets)
    told = np.full(weights.shape[1], told[0]) if len(told) == 1 else told
    if weights.shape[1] == 1:
        first = -1.0 if mirrored else 0.0
        weights = np.hstack([first * weights, weights]) + 0.0
        told = np.array([first * told[0], told[0]]) + 0.0
    return steps.linear(weights, told)


def _soft_logistic(model: Any) -> Iterator[ModelStep]:
    slope, offset = model.slope, model.offset
    yield _linear_scores(slope * model.coef_, [offset + slope * model.intercept_], mirrored=False)
    yield steps.softmax()


def _soft_multinomial(model: Any) -> Iterator[ModelStep]:
    yield _linear_scores(model.slope * model.coef_, model.slope * model.intercept_, mirrored=False)
    yield steps.softmax()


def _soft_regressor(model: Any) -> Iterator[ModelStep]:
    yield from steps_of_regressor(model.regressor_)
    yield steps.cut(0.0, 1.0)
    yield steps.linear([[-1.0, 1.0]], [1.0, 0.0])


def _moments(model: Any) -> Iterator[ModelStep]:
    yield steps.map_features(model.turn)
    yield steps.linear(np.asarray(model.weights) / UNIT, np.zeros(model.weights.shape[1]))
    yield steps.softmax()


def _boosting(model: Any) -> Iterator[ModelStep]:
    trees = boosted_trees(model)
    yield trees
    if len(trees.values["base"]) == 1:
        yield steps.linear([[0.0, 1.0]], [0.0, 0.0])
    yield steps.softmax()


def _forest(model: Any) -> Iterator[ModelStep]:
    yield averaged_trees(list(model.estimators_))


def _tree(model: Any) -> Iterator[ModelStep]:
    yield averaged_trees([model])


def _naive_bayes(model: Any) -> Iterator[ModelStep]:
    """Bernoulli's: what a feature above the threshold says for a class, and what its absence says."""
    if model.binarize is not None:
        yield steps.above(model.binarize)
    absent = np.log(1 - np.exp(model.feature_log_prob_))
    yield steps.linear((model.feature_log_prob_ - absent).T, model.class_log_prior_ + absent.sum(axis=1))
    yield steps.softmax()


def _network(model: Any) -> Iterator[ModelStep]:
    if model.activation != "relu":
        raise InvalidParameter(f"The student's network has the activation {model.activation}; exports hold relu.")
    *inner, last = zip(model.coefs_, model.intercepts_, strict=True)
    for weights, offsets in inner:
        yield steps.linear(weights, offsets)
        yield steps.relu()
    yield _linear_scores(np.asarray(last[0]).T, last[1], mirrored=False)
    yield steps.softmax()


def _support_vectors(model: Any) -> Iterator[ModelStep]:
    if len(model.classes_) > 2 or model.kernel != "rbf" or hasattr(model.support_vectors_, "toarray"):
        raise InvalidParameter(
            "The student's support vectors are of more than two classes, of another kernel than the Gaussian, or "
            "of text; exports do not hold these. Learn again from the released labels, which is free, with the "
            "student logistic."
        )
    dual = np.asarray(model.dual_coef_).T
    both = np.hstack([-dual, dual])
    yield steps.kernel(model.support_vectors_, both, model._gamma, np.array([-1.0, 1.0]) * model.intercept_[0])
    yield steps.softmax()


def _on_cleaned_labels(model: Any) -> Iterator[ModelStep]:
    yield steps.kernel(model.anchors_, _led(model.dual_), model.rate_, _led(model.shares_))
    yield steps.softmax()


def _led(scores: Any) -> Floats:
    """Of two classes, by how much the second leads and the first lags, which is what softmax is taken of."""
    found = steps.doubles(scores)
    if found.shape[-1] != 2:
        return found
    lead = found[..., 1] - found[..., 0]
    return np.stack([-lead, lead], axis=-1)


def _column(numbers: Any) -> Floats:
    return steps.doubles(numbers).reshape(-1, 1)


WRITERS: dict[str, Callable[[Any], Iterator[ModelStep]]] = {
    "BernoulliNB": _naive_bayes,
    "DecisionTreeClassifier": _tree,
    "ExtraTreesClassifier": _forest,
    "HistGradientBoostingClassifier": _boosting,
    "KernelStudent": _on_cleaned_labels,
    "LinearSVC": _by_scores,
    "LinearStudent": _moments,
    "LogisticRegression": _logistic,
    "MLPClassifier": _network,
    "RandomForestClassifier": _forest,
    "RidgeClassifier": _by_scores,
    "RidgeClassifierCV": _by_scores,
    "SVC": _support_vectors,
    "SoftLogistic": _soft_logistic,
    "SoftMultinomial": _soft_multinomial,
    "SoftRegressor": _soft_regressor,
}
"""Models by the names of their types."""
