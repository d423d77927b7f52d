"""Which learners have teachers that can be trained together: known estimators with settings that are known too.

A class of somebody's own is never taken for scikit-learn's, and a setting that is not understood leaves the learner
to the ordinary way. No private row has a say in it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mapl.data.tables.classes import Classes
from mapl.data.tables.rows import Rows, is_sparse
from mapl.teachers.learners.estimator import EstimatorLearner
from mapl.teachers.panel.keeping import Keeping, as_weights
from mapl.teachers.together.centroids import Centroids
from mapl.teachers.together.family import TeacherFamily
from mapl.teachers.together.logistic import Logistic
from mapl.teachers.together.naive_bayes import BernoulliBayes, GaussianBayes
from mapl.teachers.together.networks import Networks
from mapl.teachers.together.ridge import Ridge
from mapl.teachers.together.scaling import Scaling

LARGEST = 1e8
"""Rows with numbers beyond this, or with none at all, are left to scikit-learn itself."""

LEAST_ALPHA = 1e-6

EXACT_SOLVERS = ("lbfgs", "newton-cg", "newton-cholesky")
"""Solvers of one problem, which differ in where they stop; liblinear penalises the constant, others draw lots."""

ENOUGH_ITERATIONS = 100
"""Whoever allows fewer may want to stop before the solution."""


@dataclass(frozen=True, slots=True)
class Syllabus:
    """How all teachers are trained together: what rows go through, and the family that learns from them."""

    classes: Classes
    encoder: Any | None
    scaling: Scaling | None
    family: TeacherFamily | Networks


def syllabus_to_keep(learner: Any) -> Syllabus | None:
    """Return how teachers whose weights are kept are trained together; None where something else is kept."""
    if type(learner) is not Keeping or learner.keep is not as_weights:
        return None
    syllabus = syllabus_of(learner.learner)
    return None if syllabus is None or isinstance(syllabus.family, Networks) else syllabus


def syllabus_of(learner: Any, questions: Rows | None = None) -> Syllabus | None:
    """Return how the teachers of a learner are trained together; None where they are trained one by one.

    Parameters
    ----------
    questions
        The prepared questions, which are public: whether numbers are missing in them, say, counts too. None where
        they come later.
    """
    if type(learner) is not EstimatorLearner or learner.codes_only:
        return None
    if questions is not None and not _plain(questions):
        return None
    steps = _steps(learner.estimator)
    if learner.encoder is not None:
        steps = steps[1:]
    scaling = _scaling(steps[0]) if len(steps) == 2 else None
    if len(steps) != (1 if scaling is None else 2):
        return None
    family = family_of(steps[-1])
    if isinstance(family, Networks) and scaling is not None:
        return Syllabus(
            learner.classes,
            learner.encoder,
            None,
            replace(family, scales=(scaling.with_mean, scaling.with_std)),
        )
    if family is None or (scaling is not None and not family.scalable):
        return None
    return Syllabus(learner.classes, learner.encoder, scaling, family)


def family_of(model: Any) -> TeacherFamily | Networks | None:
    """Return the family of a model of scikit-learn, None if it has none."""
    make = _MAKERS.get(type(model).__name__)
    return make(model) if make is not None and _is_original(type(model)) else None


def sound(numbers: Any) -> bool:
    """Say whether all numbers are there and of a usual size."""
    return bool((np.abs(numbers) <= LARGEST).all())


def _plain(rows: Rows) -> bool:
    """Say whether rows are a dense matrix of numbers that are all there and of a usual size."""
    return isinstance(rows, np.ndarray) and not is_sparse(rows) and rows.dtype.kind in "biuf" and sound(rows)


def _steps(estimator: Any) -> list[Any]:
    from sklearn.pipeline import Pipeline

    if type(estimator) is not Pipeline:
        return [estimator]
    return [step for _, step in estimator.steps if step is not None and step != "passthrough"]


def _is_original(kind: type) -> bool:
    """Say whether a class is the one that scikit-learn exports by this name."""
    import sklearn.linear_model
    import sklearn.naive_bayes
    import sklearn.neighbors
    import sklearn.neural_network
    import sklearn.preprocessing

    rooms = (
        sklearn.linear_model,
        sklearn.naive_bayes,
        sklearn.neighbors,
        sklearn.neural_network,
        sklearn.preprocessing,
    )
    return any(getattr(room, kind.__name__, None) is kind for room in rooms)


def _scaling(step: Any) -> Scaling | None:
    if type(step).__name__ != "StandardScaler" or not _is_original(type(step)):
        return None
    return Scaling(bool(step.with_mean), bool(step.with_std))


def _positive(number: Any) -> bool:
    return isinstance(number, (int, float, np.integer, np.floating)) and 0 < float(number) < math.inf


def _ridge(model: Any) -> Ridge | None:
    known = model.solver in ("auto", "cholesky") and not model.positive and _positive(model.alpha)
    if not known or not (model.class_weight is None or model.class_weight == "balanced"):
        return None
    return Ridge(float(model.alpha), bool(model.fit_intercept), model.class_weight == "balanced")


def _logistic(model: Any) -> Logistic | None:
    settings = model.get_params(deep=False)
    # What is called deprecated was left as it was; "ovr" and other ways to part classes are other problems.
    known = settings.get("penalty", "l2") in ("l2", "deprecated") and settings.get("l1_ratio") in (None, 0)
    known = known and settings.get("multi_class", "auto") in ("auto", "deprecated")
    known = known and model.solver in EXACT_SOLVERS and model.max_iter >= ENOUGH_ITERATIONS and not model.dual
    known = known and _positive(model.C) and (model.class_weight is None or model.class_weight == "balanced")
    return Logistic(float(model.C), bool(model.fit_intercept), model.class_weight == "balanced") if known else None


def _gaussian(model: Any) -> GaussianBayes | None:
    known = model.priors is None and _positive(model.var_smoothing)
    return GaussianBayes(float(model.var_smoothing)) if known else None


def _bernoulli(model: Any) -> BernoulliBayes | None:
    known = _positive(model.alpha) and model.alpha >= LEAST_ALPHA and model.class_prior is None
    if not known or model.binarize is None or not math.isfinite(model.binarize):
        return None
    return BernoulliBayes(float(model.alpha), float(model.binarize), bool(model.fit_prior))


def _centroids(model: Any) -> Centroids | None:
    known = model.metric == "euclidean" and not model.shrink_threshold
    return Centroids() if known and getattr(model, "priors", "uniform") == "uniform" else None


def _networks(model: Any) -> Networks | None:
    seed, hidden = model.random_state, np.atleast_1d(np.asarray(model.hidden_layer_sizes))
    known = model.solver == "adam" and model.activation == "relu" and not model.early_stopping
    known = known and not model.warm_start and not model.verbose and hidden.ndim == 1 and hidden.dtype.kind in "iu"
    known = known and hidden.size > 0 and (seed is None or type(seed) is int)
    known = known and all(_positive(each) for each in (*hidden.tolist(), model.max_iter, model.epsilon))
    known = known and (model.batch_size == "auto" or _positive(model.batch_size))
    if not known:
        return None
    return Networks(
        hidden=tuple(hidden.tolist()),
        alpha=float(model.alpha),
        batch_size=None if model.batch_size == "auto" else int(model.batch_size),
        rate=float(model.learning_rate_init),
        max_iter=int(model.max_iter),
        shuffle=bool(model.shuffle),
        seed=seed,
        tol=float(model.tol),
        beta_1=float(model.beta_1),
        beta_2=float(model.beta_2),
        epsilon=float(model.epsilon),
        patience=float(model.n_iter_no_change),
    )


_MAKERS: dict[str, Callable[[Any], TeacherFamily | Networks | None]] = {
    "RidgeClassifier": _ridge,
    "LogisticRegression": _logistic,
    "GaussianNB": _gaussian,
    "BernoulliNB": _bernoulli,
    "NearestCentroid": _centroids,
    "MLPClassifier": _networks,
}
