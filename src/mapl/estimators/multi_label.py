"""The classifier for several labels at once: one set of teachers, one budget, one student per label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from mapl.errors import InvalidData
from mapl.estimators.teaching_estimator import TeachingEstimator
from mapl.estimators.wording import in_python_words
from mapl.pipeline.methods.multi_label import MultiLabelMethod


@dataclass(eq=False, repr=False)
class PrivateMultiLabelClassifier(TeachingEstimator):
    """Learn several labels of the same rows from private ones, so that all of it may be published.

    Every teacher is trained once, on its shard and all its labels. The votes on each label are released in a stage
    of their own; the stages share the budget and are priced together, which leaves each of q labels nearly
    epsilon / sqrt(q) instead of epsilon / q.

    Parameters
    ----------
    classes
        The declared classes, which all labels have in common.
    label_values
        What labels mean that are no names of classes, as in `PrivateClassifier`.
    labels
        The names of the labels; None for those of y's columns, or label 0, label 1, ...
    weights
        How much of the budget each label gets, relative to the others; alike if None. Public.
    learner, epsilon, delta, n_teachers, n_rows, adjacency, mechanism, settings, may_abstain, agreement, n_queries
        As in `PrivateClassifier`; all labels have the same mechanism.
    student, strategy, time_limit, n_jobs, engine, schema, ledger, earlier, seed
        As in `PrivateClassifier`; every label has a student of its own.

    Attributes
    ----------
    classes_, labels_
        The declared classes in ascending order, and the names of the labels.
    statement_, plan_
        What may be printed about the fit, all labels together; the plan, with a stage for every label.
    released_
        For every question and label the place of its released class in `classes_`, -1 for none.
    students_
        The published models, one for every label; None for one of which no label was released.

    Notes
    -----
    *Guarantee.* (epsilon, delta)-differential privacy of all labels together, for the adjacency and unit in
    ``statement_``. Proof: docs/proofs/multi-label.md.

    Examples
    --------
    >>> import numpy as np
    >>> from mapl import PrivateMultiLabelClassifier
    >>> world = np.random.default_rng(0)
    >>> X, public = world.normal(size=(6000, 3)), world.normal(size=(200, 3))
    >>> clf = PrivateMultiLabelClassifier(epsilon=4.0, n_teachers=100, mechanism="link", n_jobs=1)
    >>> clf = clf.set_params(student="logistic").fit(X, (X > 0).astype(int), public=public)
    >>> bool((clf.predict(public) == (public > 0)).mean() > 0.8)
    True
    >>> clf.statement_.guaranteed_epsilon <= 4.0
    True
    """

    learner: Any = "ridge"
    _: KW_ONLY
    classes: Any = (0, 1)
    labels: Sequence[str] | None = None
    weights: Sequence[float] | None = None
    may_abstain: bool = False
    agreement: Any = None
    student: Any = None
    strategy: Any = "auto"
    earlier: Any = None

    @in_python_words()
    def fit(self, X: Any, y: Any, *, public: Any = None, groups: Any = None) -> Self:
        """Train teachers on private rows, release labels for public ones, train a student for each label.

        Parameters
        ----------
        X, public, groups
            As in `PrivateClassifier.fit`.
        y
            One row per row of X, one column per label.
        """
        matrix, names = _columns(y, self.labels)
        given = self._given(X, matrix[:, 0], public, groups, several=matrix)
        weights = self.weights
        learned = self._learn(
            given, self.strategy, lambda learners: MultiLabelMethod(learners, names, weights), labels_=names
        )
        students = (learned.student, *learned.further_students)
        self.students_ = students if len(students) == len(names) else (None,) * len(names)
        return self

    @in_python_words()
    def predict(self, X: Any) -> NDArray[Any]:
        """Return the predicted class of every row and label. Free: it follows from what was released."""
        check_is_fitted(self, "students_")
        mute = [name for name, one in zip(self.labels_, self.students_, strict=True) if one is None]
        if mute:
            raise InvalidData(
                f"No label of {mute[0]!r} was released, so it has no student; take those of the others from "
                "students_."
            )
        rows = self._rows(X, reset=False)
        return np.stack(
            [self.classes_[one.predict_codes(rows)] for one in self.students_ if one is not None], axis=1
        )


def _columns(y: Any, names: Sequence[str] | None) -> tuple[NDArray[Any], tuple[str, ...]]:
    """Return labels as a matrix, and what its columns are called."""
    found = getattr(y, "columns", None) if names is None else names
    try:
        cells = np.asarray(y)
    except ValueError:  # lists of different lengths
        cells = np.empty(0)
    if cells.ndim != 2 or not cells.shape[1]:
        raise InvalidData("y is no table of labels; give one row per row of X and one column per label.")
    listed = [f"label {j}" for j in range(cells.shape[1])] if found is None else [str(name) for name in found]
    if len(listed) != cells.shape[1]:
        raise InvalidData(f"y has {cells.shape[1]} columns and {len(listed)} labels are named; name every column.")
    return cells, tuple(listed)
