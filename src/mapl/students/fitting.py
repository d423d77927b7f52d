"""Fitting one model on released labels, and reading what it predicts."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mapl.data.tables.classes import Classes
from mapl.data.tables.rows import Rows, for_learner, n_rows
from mapl.errors import InvalidParameter
from mapl.students.lesson import Lesson
from mapl.teachers.learners.estimator import fresh
from mapl.teachers.learners.spelling import codes_of, natural

if TYPE_CHECKING:
    from mapl.students.strategies.cross_checked import CrossCheck


@dataclass(frozen=True, slots=True)
class Learning:
    """A learner for students.

    Parameters
    ----------
    estimator
        It has fit and predict, and is not fitted.
    codes_only
        Whether it takes nothing but the codes 0, 1, ...
    cross_check
        How labels are made better before it sees them.
    """

    name: str
    estimator: Any
    codes_only: bool = False
    cross_check: CrossCheck | None = None

    @property
    def encoder(self) -> Any:
        """mapl's own encoder, where the learner begins with one or labels are mended by one, None otherwise."""
        return encoder_of(self.estimator) if self.cross_check is None else self.cross_check.encoder


class Coded:
    """A model that was fitted on contiguous codes and answers with class names."""

    def __init__(self, model: Any, names: NDArray[Any]) -> None:
        self.model = model
        self.classes_ = names

    def predict(self, rows: Rows) -> NDArray[Any]:
        return np.asarray(self.classes_[np.asarray(self.model.predict(rows)).astype(np.int64)])

    def predict_proba(self, rows: Rows) -> NDArray[Any]:
        return np.asarray(self.model.predict_proba(rows))


def fit_model(learning: Learning, lesson: Lesson) -> Any:
    """Fit on the rows that have a label; a single class needs no learner and becomes a constant.

    Everything here is public, so a failure is told in the learner's own words.
    """
    known = lesson if lesson.answered.all() else lesson.part(np.flatnonzero(lesson.answered))
    known = known if learning.cross_check is None else learning.cross_check(known)
    names = natural(known.classes)
    present, places = np.unique(known.codes, return_inverse=True)
    if len(present) == 1:
        return _constant(names[known.codes])
    model = fresh(learning.estimator, known.seed)
    targets = places if learning.codes_only else names[known.codes]
    try:
        with quietly(), weights_by_name():
            model.fit(hand_over(model, known.rows), targets, **_weights(model, known))
    except InvalidParameter:
        raise
    except Exception as failure:
        raise InvalidParameter(
            f"The student {learning.name} cannot be fitted on the released labels: {type(failure).__name__}: "
            f"{failure}. Choose another learner; the released labels can be used again for free."
        ) from failure
    return Coded(model, names[present]) if learning.codes_only else model


def predict_codes(model: Any, rows: Rows, classes: Classes) -> NDArray[np.int64]:
    """Return the class number that a model predicts for each row, UNKNOWN where it names no class."""
    return codes_of(model.predict(hand_over(model, rows)), classes, n_rows(rows))


def hand_over(model: Any, rows: Rows) -> Rows:
    """Return rows as a model takes them: mapl's own parts take any kind, other learners a frame or a matrix."""
    own = getattr(model, "takes_any_rows", False) or encoder_of(model) is not None
    return rows if own else for_learner(rows)


def encoder_of(model: Any) -> Any | None:
    """Return mapl's own encoder at the beginning of a Pipeline, None where there is none."""
    from sklearn.pipeline import Pipeline

    from mapl.data.encoding.encoder import Encoder

    first = model.steps[0][1] if isinstance(model, Pipeline) else None
    return first if isinstance(first, Encoder) else None


@contextmanager
def quietly() -> Iterator[None]:
    """Keep back a learner's complaints about its convergence; on noisy labels nothing can be done about it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # ConvergenceWarning is one
        yield


@contextmanager
def weights_by_name() -> Iterator[None]:
    """Hand weights to the step that they are named after, also where a user routes metadata of models of their own.

    With scikit-learn's metadata routing switched on a Pipeline takes no weights that its steps did not ask for, and
    a fit that came so far has spent its budget.
    """
    from sklearn import config_context

    with config_context(enable_metadata_routing=False):
        yield


def _constant(names: NDArray[Any]) -> Any:
    from sklearn.dummy import DummyClassifier

    # Its rows are never looked at, so any will do.
    return DummyClassifier(strategy="constant", constant=names[0]).fit(np.zeros((1, 1)), names[:1])


def _weights(model: Any, lesson: Lesson) -> dict[str, Any]:
    """Return the weights of the rows under the name by which the model takes them."""
    if lesson.weights is None:
        return {}
    from sklearn.pipeline import Pipeline
    from sklearn.utils.validation import has_fit_parameter

    name, last = ("", model)
    while isinstance(last, Pipeline):
        step, last = last.steps[-1]
        name += f"{step}__"
    if not has_fit_parameter(last, "sample_weight"):
        raise InvalidParameter(
            f"{type(last).__name__} takes no weights; give a student whose fit takes sample_weight, or no weights."
        )
    return {f"{name}sample_weight": lesson.weights}
